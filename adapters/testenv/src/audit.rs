//! What an API server was asked: its audit log, read back as typed events.
//!
//! The log has the metadata of every request (policy level `Metadata`), or with it what the request carries
//! ([`Builder::audit_bodies`](crate::Builder::audit_bodies)). The server writes an event before it finishes the answer, so
//! whoever has the whole answer finds the request in the log.
//! A request has an event for each stage that it reaches: [`Stage::RequestReceived`] when it arrives,
//! [`Stage::ResponseStarted`] for watches, and [`Stage::ResponseComplete`] at its end. To count requests, pick a stage.

mod event;
mod filter;

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

pub use self::event::{AuditEvent, Stage};
pub use self::filter::AuditFilter;

/// How much of a log is read at a time to find the end of its last whole line.
const CHUNK: u64 = 64 * 1024;

/// Everything is logged; a test picks what it wants. Answers never are: some are tokens.
pub(crate) fn policy(bodies: bool) -> String {
    let level = if bodies { "Request" } else { "Metadata" };
    format!("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: {level}\n")
}

/// Why an audit log could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be read.
    #[error("could not read the audit log {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line is no audit event.
    #[error("a line of the audit log {} is no audit event", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
    },
}

impl Error {
    /// Whether the same call can succeed later: reading may, a line stays as it is.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Read { .. })
    }
}

/// A place in an audit log, from [`AuditLog::position`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u64);

/// The audit log of one API server.
#[derive(Debug, Clone)]
pub struct AuditLog {
    path: PathBuf,
}

impl AuditLog {
    /// The log in a file, also of a server that is not ours. The file need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The file: one JSON document a line.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The present end of the log, for a later [`AuditLog::events_since`]. An event that is being written comes after it.
    ///
    /// # Errors
    /// When the file can't be read. A file that does not exist is an empty log.
    pub fn position(&self) -> Result<Position, Error> {
        match File::open(&self.path).and_then(|mut file| end_of_lines(&mut file)) {
            Ok(end) => Ok(Position(end)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Position(0)),
            Err(source) => Err(self.unreadable(source)),
        }
    }

    /// All events so far, in the order in which they were written.
    ///
    /// # Errors
    /// When the file can't be read, or a complete line is no audit event.
    pub fn events(&self) -> Result<Vec<AuditEvent>, Error> {
        self.events_since(Position(0))
    }

    /// The events that were written after a position.
    ///
    /// # Errors
    /// When the file can't be read, or a complete line is no audit event.
    pub fn events_since(&self, position: Position) -> Result<Vec<AuditEvent>, Error> {
        let mut events = Vec::new();
        let Some(mut reader) = self.open_at(position)? else {
            return Ok(events);
        };
        let mut line = Vec::new();
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(|source| self.unreadable(source))?;
            // A line without its end is still being written.
            if line.pop() != Some(b'\n') {
                return Ok(events);
            }
            let event = serde_json::from_slice(&line)
                .map_err(|source| Error::Parse { path: self.path.clone(), source })?;
            events.push(event);
        }
    }

    /// The events so far that a filter picks, in the order in which their requests arrived: the server may write the end
    /// of an earlier request after that of a later one.
    ///
    /// # Errors
    /// When the file can't be read, or a complete line is no audit event.
    pub fn matching(&self, filter: &AuditFilter) -> Result<Vec<AuditEvent>, Error> {
        let mut events = self.events()?;
        events.retain(|event| filter.matches(event));
        events.sort_by_key(|event| event.request_received);
        Ok(events)
    }

    /// Takes away the line that a killed server did not finish, so that its successor starts with a new one.
    pub(crate) fn drop_unfinished_line(&self) -> Result<(), Error> {
        let cut = || -> io::Result<()> {
            let mut file = OpenOptions::new().read(true).write(true).open(&self.path)?;
            let end = end_of_lines(&mut file)?;
            file.set_len(end)
        };
        match cut() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.unreadable(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn open_at(&self, position: Position) -> Result<Option<BufReader<File>>, Error> {
        let open = || -> io::Result<File> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(position.0))?;
            Ok(file)
        };
        match open() {
            Ok(file) => Ok(Some(BufReader::new(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.unreadable(source)),
        }
    }

    fn unreadable(&self, source: io::Error) -> Error {
        Error::Read { path: self.path.clone(), source }
    }
}

/// Where the last whole line of a file ends.
fn end_of_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut bytes = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        file.seek(SeekFrom::Start(start))?;
        bytes.clear();
        file.take(end - start).read_to_end(&mut bytes)?;
        if let Some(place) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + place as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"1","stage":"ResponseComplete","requestURI":"/api/v1/namespaces?dryRun=All","verb":"create","user":{"username":"alice","groups":["builders"]},"sourceIPs":["127.0.0.1"],"userAgent":"tester/1","objectRef":{"resource":"namespaces","name":"a","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201},"requestReceivedTimestamp":"2026-01-02T03:04:05.000006Z","stageTimestamp":"2026-01-02T03:04:06.000000Z"}"#;

    fn log(content: &str) -> (tempfile::TempDir, AuditLog) {
        let folder = tempfile::tempdir().unwrap();
        let log = AuditLog::new(folder.path().join("audit.jsonl"));
        std::fs::write(log.path(), content).unwrap();
        (folder, log)
    }

    #[test]
    fn a_line_that_is_still_being_written_is_left_out_and_dropped_before_a_restart() {
        let (_folder, log) = log(&format!("{LINE}\n{}", &LINE[..50]));
        assert_eq!(log.events().unwrap().len(), 1);
        log.drop_unfinished_line().unwrap();
        assert_eq!(std::fs::read_to_string(log.path()).unwrap(), format!("{LINE}\n"));
    }

    #[test]
    fn events_since_a_position_are_the_later_ones() {
        let (_folder, log) = log(&format!("{LINE}\n"));
        let position = log.position().unwrap();
        assert_eq!(log.events_since(position).unwrap(), []);
        std::fs::write(log.path(), format!("{LINE}\n{LINE}\n")).unwrap();
        assert_eq!(log.events_since(position).unwrap().len(), 1);
    }

    #[test]
    fn an_event_that_is_being_written_comes_after_the_position() {
        let long = LINE.replace("tester", &"t".repeat(100_000));
        let (_folder, log) = log(&format!("{LINE}\n{}", &long[..90_000]));
        let position = log.position().unwrap();
        assert_eq!(log.events_since(position).unwrap(), []);
        std::fs::write(log.path(), format!("{LINE}\n{long}\n")).unwrap();
        assert_eq!(log.events_since(position).unwrap().len(), 1);
        std::fs::write(log.path(), &long).unwrap();
        assert_eq!(log.position().unwrap(), Position(0));
    }

    #[test]
    fn a_log_that_does_not_exist_yet_is_empty_and_a_complete_line_that_is_no_event_is_an_error() {
        let missing = AuditLog::new("/nonexistent/audit.jsonl");
        assert_eq!(missing.events().unwrap(), []);
        let (_folder, log) = log("{}\n");
        assert!(matches!(log.events(), Err(Error::Parse { .. })));
    }

    #[test]
    fn an_event_has_what_the_server_wrote() {
        let (_folder, log) = log(&format!("{LINE}\n"));
        let event = log.events().unwrap().remove(0);
        assert_eq!((event.user.as_str(), event.user_agent.as_str()), ("alice", "tester/1"));
        assert_eq!((event.resource.as_deref(), event.name.as_deref()), (Some("namespaces"), Some("a")));
        assert_eq!((event.code, event.stage, event.dry_run), (Some(201), Stage::ResponseComplete, true));
        assert_eq!(event.groups, ["builders"]);
        assert!(event.stage_timestamp > event.request_received);
    }

    #[test]
    fn a_filter_picks_events_that_have_every_wanted_property() {
        let (_folder, log) = log(&format!("{LINE}\n"));
        let filter = AuditFilter::new()
            .user("alice")
            .user_agent_prefix("tester/")
            .verb("create")
            .resource("namespaces");
        assert_eq!(log.matching(&filter).unwrap().len(), 1);
        assert_eq!(log.matching(&filter.clone().stage(Stage::RequestReceived)).unwrap(), []);
        assert_eq!(log.matching(&filter.clone().dry_run(false)).unwrap(), []);
        assert_eq!(log.matching(&filter.name("b")).unwrap(), []);
    }

    #[test]
    fn what_a_filter_picks_is_in_the_order_in_which_the_requests_arrived() {
        let earlier = LINE.replace("05.000006Z", "05.000005Z").replace("alice", "bob");
        let (_folder, log) = log(&format!("{LINE}\n{earlier}\n"));
        let picked = log.matching(&AuditFilter::new()).unwrap();
        assert_eq!(picked.iter().map(|event| &*event.user).collect::<Vec<_>>(), ["bob", "alice"]);
    }
}
