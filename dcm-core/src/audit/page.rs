//! Reading the audit log, page by page.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::Deserialize;

use crate::port::audit::Decision;
use crate::port::schema::Broken;
use crate::port::store::{self, Entry, PageRequest, Path};

use super::{ASKED, ENDED, Recorded, StoredAudit, all, half, half_of, moment, path};

/// How many documents are looked through for one page: a page is not kept waiting for what is rarely wanted.
pub const LOOKED_THROUGH_MAX: usize = 10_000;

/// How many hexadecimal digits tell entries of one moment apart.
const RANDOM_DIGITS: usize = 16;

/// Names an entry. Names sort by the time of the asking; their text form is `TIME-RANDOM`, with the time in nanoseconds. A
/// time alone comes before all entries of that moment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct EntryName(String);

text_form!(EntryName, "^[0-9]{8}T[0-9]{6}\\.[0-9]{9}Z(-[0-9a-f]{16})?$");

/// A text that names no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the name of an entry, such as 20260301T080000.000000000Z-0123456789abcdef")]
pub struct InvalidEntryName;

/// Some entries of the audit log, the oldest first.
#[derive(Debug, Default)]
pub struct Entries {
    /// The entries.
    pub entries: Vec<Recorded>,
    /// Halves of entries that can't be read; the others are shown all the same.
    pub broken: Vec<Broken>,
    /// The entry behind which to go on; none at the end.
    pub next: Option<EntryName>,
}

impl EntryName {
    /// What comes before all entries that were asked for at a time or later.
    #[must_use]
    pub fn before(time: Timestamp) -> Self {
        Self(moment(time))
    }

    /// The name of a new entry.
    pub(super) fn new(time: Timestamp, random: u64) -> Self {
        Self(format!("{}-{random:016x}", moment(time)))
    }

    /// Where its halves lie.
    pub(super) fn path(&self) -> Path {
        let digits = |from: usize, to: usize| self.0.get(from..to).unwrap_or_default();
        let day = format!("{}-{}-{}", digits(0, 4), digits(4, 6), digits(6, 8));
        path(&format!("{day}/{}", self.0))
    }
}

impl EntryName {
    /// The last path that comes before what comes behind it: that of the later half of an entry.
    fn last_path(&self) -> Path {
        if self.0.contains('-') { half(&self.path(), ENDED) } else { self.path() }
    }
}

impl fmt::Display for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for EntryName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for EntryName {
    type Error = InvalidEntryName;

    fn try_from(text: String) -> Result<Self, InvalidEntryName> {
        text.parse()
    }
}

impl FromStr for EntryName {
    type Err = InvalidEntryName;

    fn from_str(text: &str) -> Result<Self, InvalidEntryName> {
        let (time, random) = match text.split_once('-') {
            Some((time, random)) => (time, Some(random)),
            None => (text, None),
        };
        let is_hex = |digits: &str| digits.len() == RANDOM_DIGITS && u64::from_str_radix(digits, 16).is_ok();
        let is_moment = time.parse::<Timestamp>().is_ok_and(|parsed| moment(parsed) == time);
        (is_moment && random.is_none_or(is_hex)).then(|| Self(text.to_owned())).ok_or(InvalidEntryName)
    }
}

impl StoredAudit {
    /// At most `limit` entries that `wanted` wants, behind one, or from the beginning. There may be fewer, even none, and
    /// more behind them.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn page(
        &self,
        after: Option<&EntryName>,
        limit: usize,
        wanted: impl Fn(&Decision) -> bool + Send + Sync,
    ) -> Result<Entries, store::Error> {
        let mut reading = Reading {
            limit,
            looked_through: 0,
            id: String::new(),
            is_open: false,
            found: Entries::default(),
        };
        let mut request = PageRequest { after: after.map(EntryName::last_path), limit: None };
        loop {
            let page = self.store.list(&all(), &request).await?;
            for entry in &page.entries {
                if reading.is_full_before(entry) {
                    return Ok(reading.found);
                }
                reading.take(entry, &wanted);
            }
            match page.next {
                Some(next) => request.after = Some(next),
                None => return Ok(Entries { next: None, ..reading.found }),
            }
        }
    }

    /// All entries that were asked for at a time or later and that `wanted` wants.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn read(
        &self,
        since: Option<Timestamp>,
        wanted: impl Fn(&Decision) -> bool + Send + Sync,
    ) -> Result<Entries, store::Error> {
        let mut read = Entries { next: since.map(EntryName::before), ..Entries::default() };
        loop {
            let page = self.page(read.next.as_ref(), usize::MAX, &wanted).await?;
            read.entries.extend(page.entries);
            read.broken.extend(page.broken);
            read.next = page.next;
            if read.next.is_none() {
                return Ok(read);
            }
        }
    }
}

/// A page that is being read.
struct Reading {
    limit: usize,
    looked_through: usize,
    /// The entry whose halves are read.
    id: String,
    /// It is wanted: its other half belongs to the last one that was found.
    is_open: bool,
    /// What is found; `next` is the entry that was read last.
    found: Entries,
}

impl Reading {
    /// True when the page is full, and this document belongs to another entry than the last one.
    fn is_full_before(&self, entry: &Entry) -> bool {
        let is_full = self.found.entries.len() >= self.limit || self.looked_through >= LOOKED_THROUGH_MAX;
        is_full && parts(entry).is_some_and(|(id, _)| id != self.id)
    }

    fn take(&mut self, entry: &Entry, wanted: impl Fn(&Decision) -> bool) {
        self.looked_through += 1;
        let Some((id, half)) = parts(entry) else { return };
        if id != self.id {
            id.clone_into(&mut self.id);
            self.is_open = false;
            let name = id.rsplit('/').next().and_then(|name| name.parse().ok());
            self.found.next = name.or(self.found.next.take());
        }
        let read = match half {
            ASKED => half_of(entry).map(|asked| {
                self.is_open = wanted(&asked);
                self.found.entries.extend(self.is_open.then_some(Recorded { asked, ended: None }));
            }),
            ENDED if self.is_open => half_of(entry).map(|ended| {
                if let Some(last) = self.found.entries.last_mut() {
                    last.ended = Some(ended);
                }
            }),
            _ => Ok(()),
        };
        self.found.broken.extend(read.err().map(|error| Broken::new(&entry.path, &error)));
    }
}

/// Which entry a document belongs to, and which half it is.
fn parts(entry: &Entry) -> Option<(&str, &str)> {
    entry.path.as_str().rsplit_once('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let time: Timestamp = "2026-03-01T08:00:00.000000001Z".parse().unwrap();
        let name = EntryName::new(time, 0xab);
        assert_eq!(name.to_string(), "20260301T080000.000000001Z-00000000000000ab");
        assert_eq!(name.path().as_str(), "audit/2026-03-01/20260301T080000.000000001Z-00000000000000ab");
        for name in [name, EntryName::before(time)] {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        for text in
            ["", "2026-03-01", "20260301T080000Z-00000000000000ab", "20260301T080000.000000001Z-x", "../x"]
        {
            assert_eq!(text.parse::<EntryName>(), Err(InvalidEntryName), "{text}");
        }
    }
}
