//! A `dcm serve` that is asked over HTTP, in literal bytes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use dcm_testenv::Environment;
use dcm_testenv::effort::patience;

use super::User;
use super::installation::{Installation, Worker, until};

/// Headers whose values differ from run to run, or say nothing.
const PASSED_OVER: [&str; 4] = ["content-length", "date", "connection", "x-request-id"];

/// What a server says last before it answers.
const ANSWERS: &str = "; interrupt to stop";

/// A server, and the person who runs it. It is asked where it listens first.
pub(crate) struct Server {
    person: User,
    listeners: Vec<Listener>,
    worker: Worker,
}

/// An address that a server is asked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listener {
    address: SocketAddr,
}

impl Deref for Server {
    type Target = Listener;

    fn deref(&self) -> &Listener {
        &self.listeners[0]
    }
}

/// A server on the API servers of the tests of `rest`, which are registered as `real/cluster-1` and so on.
pub(crate) async fn on_clusters(count: usize, name: &str) -> (Environment, Server) {
    on_clusters_of("rest", count, name).await
}

/// A server on the API servers of a group of tests.
pub(crate) async fn on_clusters_of(group: &str, count: usize, name: &str) -> (Environment, Server) {
    let environment = Environment::group(group, count).await.unwrap();
    let person = Installation::new(&environment, name).person;
    (environment, Server::of(person))
}

impl Server {
    /// On an empty store of its own.
    pub(crate) fn new() -> Self {
        Self::of(User::new())
    }

    pub(crate) fn of(person: User) -> Self {
        Self::logging(person).0
    }

    /// The same, with what it writes to its log: all of it, once it has ended.
    pub(crate) fn logging(person: User) -> (Self, mpsc::Receiver<String>) {
        Self::serving(person, &["--listen", "127.0.0.1:0"])
    }

    /// On an empty store of its own, asked in EMCO's dialect: all services on one port, or one.
    pub(crate) fn of_emco(person: User, address: &str) -> Self {
        Self::serving(person, &["--emco-listen", address]).0
    }

    /// With options of `dcm serve`, one of which at least has it listen.
    pub(crate) fn serving(person: User, options: &[&str]) -> (Self, mpsc::Receiver<String>) {
        let (worker, listeners, log) = begin(&person, options);
        (Self { person, listeners, worker }, log)
    }

    /// All addresses that it is asked at: that of the documented API, then those of EMCO's.
    pub(crate) fn listeners(&self) -> &[Listener] {
        &self.listeners
    }

    /// Asks it to end; it must do so well.
    pub(crate) fn stop(self) {
        self.begin_to_stop().end();
    }

    /// Waits for its end, which must be a good one; somebody else has asked for it.
    pub(crate) fn ended(self) -> User {
        self.worker.end();
        self.person
    }

    /// Waits for its end after it was killed.
    pub(crate) fn killed(self) -> User {
        self.worker.killed();
        self.person
    }

    /// Asks it to end.
    pub(crate) fn begin_to_stop(self) -> Stopping {
        self.worker.ask_to_end();
        Stopping(self)
    }

    /// The home of the person who runs it.
    pub(crate) fn home(&self) -> &Path {
        self.person.home()
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.worker.id()
    }
}

/// Begins a `dcm serve` of a person; gives it, where it is asked, and what it writes to its log.
pub(crate) fn begin(person: &User, options: &[&str]) -> (Worker, Vec<Listener>, mpsc::Receiver<String>) {
    let (told, tells) = std::io::pipe().unwrap();
    let mut command: Command = person.command();
    command.arg("serve").args(options).arg("-v").stdout(Stdio::null()).stderr(tells);
    let worker = Worker::begin(&mut command);
    drop(command);
    let mut lines = BufReader::new(told).lines().map_while(Result::ok);
    let address = |line: String| {
        let (_, url) = line.split_once("API")?.1.split_once(" at ")?;
        let (_, address) = url.split_once("://")?;
        Some(Listener { address: address.strip_suffix("/v2")?.parse().ok()? })
    };
    let listeners: Vec<Listener> =
        lines.by_ref().take_while(|line| !line.contains(ANSWERS)).filter_map(address).collect();
    assert!(!listeners.is_empty(), "it is asked nowhere");
    let (written, log) = mpsc::channel();
    // Nobody may want to know.
    std::thread::spawn(move || lines.for_each(|line| drop(written.send(line))));
    (worker, listeners, log)
}

/// True as soon as something of an answer has come, or the connection has ended.
pub(crate) fn has_answer(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let has_answer = stream.peek(&mut [0]).is_ok();
    stream.set_nonblocking(false).unwrap();
    has_answer
}

impl Listener {
    /// Where it is.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends bytes as they are, and gives all that is answered.
    pub(crate) fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect(bytes);
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        // A request that is not read to its end is broken off after its answer.
        assert!(read.is_ok() || !answer.is_empty(), "{read:?}");
        String::from_utf8(answer).unwrap()
    }

    /// Sends bytes as they are; what is answered may be read as it comes.
    pub(crate) fn connect(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(patience())).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    }

    /// Asks for events.
    pub(crate) fn follow(&self, path: &str) -> Events {
        self.follow_as(path, "Accept: */*")
    }

    /// The same with a header, such as one that says who asks.
    pub(crate) fn follow_as(&self, path: &str, header: &str) -> Events {
        let host = self.address;
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{header}\r\n\r\n");
        Events::of(self.connect(head.as_bytes()))
    }

    /// Asks: the first line of a request, then its headers, an empty line and its body. The answer is its status, its headers in
    /// order, an empty line and its body; what differs from run to run is passed over.
    pub(crate) fn ask(&self, request: &str) -> String {
        let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
        let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
        let mut bytes = format!("{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        headers.lines().for_each(|header| bytes.push_str(&format!("{header}\r\n")));
        // Forms have the line ends of mails.
        let is_form = headers.contains("multipart/form-data");
        let body = if is_form { body.replace('\n', "\r\n") } else { body.to_owned() };
        if !body.is_empty() {
            if !headers.contains("Content-Type") {
                bytes.push_str("Content-Type: application/json\r\n");
            }
            bytes.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        shown(&self.send(format!("{bytes}\r\n{body}").as_bytes()))
    }
}

/// Events that a server sends.
pub(crate) struct Events {
    lines: std::io::Lines<BufReader<TcpStream>>,
    /// Its status and its headers, in order, but for those that differ from run to run.
    pub(crate) head: String,
}

impl Events {
    fn of(stream: TcpStream) -> Self {
        let mut lines = BufReader::new(stream).lines();
        let head: Vec<String> =
            lines.by_ref().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
        Self { lines, head: shown(&format!("{}\r\n\r\n", head.join("\r\n"))).trim_end().to_owned() }
    }

    /// The lines of the next event, without what tells how long a piece of the answer is; none at the end.
    pub(crate) fn next(&mut self) -> Option<String> {
        let mut event = String::new();
        for line in self.lines.by_ref().map(Result::unwrap) {
            let is_field =
                line.split_once(": ").is_some_and(|(name, _)| ["event", "data", "id"].contains(&name));
            match (is_field, event.is_empty()) {
                (true, _) => event.push_str(&format!("{line}\n")),
                (false, false) => return Some(event),
                (false, true) => {}
            }
        }
        (!event.is_empty()).then_some(event)
    }
}

/// A server that was asked to end.
pub(crate) struct Stopping(Server);

impl Stopping {
    pub(crate) async fn until_nobody_listens(&self) {
        until("an end of listening", async || TcpStream::connect(self.0.address()).is_err().then_some(()))
            .await;
    }

    /// Waits for its end, which must be a good one.
    pub(crate) fn end(self) -> User {
        self.0.worker.end();
        self.0.person
    }
}

fn shown(answer: &str) -> String {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let (status, headers) = head.split_once("\r\n").unwrap_or((head, ""));
    let is_told = |header: &&str| !PASSED_OVER.contains(&header.split(':').next().unwrap());
    let mut headers: Vec<&str> = headers.lines().filter(is_told).collect();
    headers.sort();
    let status = status.split(' ').nth(1).unwrap();
    let lines: Vec<&str> = std::iter::once(status).chain(headers).collect();
    format!("{}\n\n{body}", lines.join("\n"))
}
