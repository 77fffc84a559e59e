//! Calls and watches in a form that people read.

use std::fmt::{self, Display};

use dcm_core::port::store::{Path, Version};

use super::history::{Call, Outcome, Piece, Request, Session, Sighting, Told};

/// A version, or that there is none.
struct Found(Option<Version>);

impl Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(version) => write!(f, "version {}", version.0),
            None => f.write_str("nothing"),
        }
    }
}

/// Several of something, with something between them.
struct Joined<'a, T>(&'a [T], &'a str);

impl<T: Display> Display for Joined<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, one) in self.0.iter().enumerate() {
            f.write_str(if place == 0 { "" } else { self.1 })?;
            write!(f, "{one}")?;
        }
        Ok(())
    }
}

impl Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, expects, puts } = self;
        match (puts, expects) {
            (Some(write), None) => write!(f, "create {path} {write}"),
            (Some(write), Some(version)) => write!(f, "update {path} {write} over version {}", version.0),
            (None, expects) => write!(f, "delete {path} in {}", Found(*expects)),
        }
    }
}

impl Display for Sighting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.write {
            Some(write) => write!(f, "{} {write} in version {}", self.path, self.version.0),
            None => write!(f, "{} with what nobody wrote, in version {}", self.path, self.version.0),
        }
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Get(path) => write!(f, "get {path}"),
            Self::List { folder, after: Some(after), limit } => {
                write!(f, "list {limit} below {folder} after {after}")
            }
            Self::List { folder, after: None, limit } => write!(f, "list {limit} below {folder}"),
            Self::Write(pieces) if pieces.len() == 1 => write!(f, "{}", Joined(pieces, "")),
            Self::Write(pieces) => write!(f, "batch of ({})", Joined(pieces, "; ")),
            Self::Watch(folder) => write!(f, "watch {folder}"),
        }
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Got(Some(sighting)) => write!(f, "{sighting}"),
            Self::Got(None) => f.write_str("nothing"),
            Self::Listed { entries, next } => {
                write!(f, "[{}]", Joined(entries, "; "))?;
                next.as_ref().map_or(Ok(()), |next| write!(f, " and more after {next}"))
            }
            Self::Written(versions) => {
                let versions: Vec<u64> = versions.iter().map(|version| version.0).collect();
                write!(f, "version {}", Joined(&versions, ", "))
            }
            Self::Conflict { applied, path, found } => {
                write!(f, "conflict after {applied} writes: {path} is in {}", Found(*found))
            }
            Self::Watching => f.write_str("it begins"),
            Self::Unavailable { applied } => write!(f, "unavailable after {applied} writes"),
            Self::Failed(words) => write!(f, "failed: {words}"),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} to ", self.invoked.0)?;
        match &self.answer {
            Some((at, outcome)) => write!(f, "{}] {}: {} -> {outcome}", at.0, self.id.client, self.request),
            None => write!(f, "?] {}: {} -> no answer", self.id.client, self.request),
        }
    }
}

impl Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(sighting) => write!(f, "{sighting}"),
            Self::Deleted(path) => write!(f, "{path} is gone"),
        }
    }
}

impl Session {
    /// What it told of one path.
    pub(super) fn show(&self, path: &Path) -> Vec<String> {
        let Self { invoked, began, folder, id, ended, .. } = self;
        let mut lines = vec![format!("[{} to {}] {}: watch {folder}", invoked.0, began.0, id.client)];
        let told = self.told.iter().filter(|(_, told)| told.path() == path);
        lines.extend(told.map(|(at, told)| format!("[{}] told: {told}", at.0)));
        lines.extend(ended.map(|at| format!("[{}] it ended", at.0)));
        lines
    }
}
