//! Writing many documents in order, on stores with and without atomic batches.
//!
//! What a change writes may be more than one batch holds, and some of it may be there already. Whoever writes decides
//! about each write that conflicts; the order stays.

use std::collections::VecDeque;

use super::store::{BATCH_BYTES_MAX, BATCH_WRITES_MAX, Error, Store, Version, Write};

/// Writes that are applied in order, in as few batches as the limits allow.
#[derive(Debug)]
pub struct InOrder {
    writes: VecDeque<Write>,
    last: Option<Version>,
}

/// A write that found its document otherwise than it expected. It did not happen, nor did those after it; of those
/// before it some may be still to come.
#[derive(Debug)]
pub struct Conflict {
    /// The write, taken out of the others.
    pub write: Write,
    /// The version that the document has; none when there is no such document.
    pub found: Option<Version>,
    place: usize,
}

impl Conflict {
    /// The error that it is, for whoever can't go on.
    #[must_use]
    pub fn into_error(self) -> Error {
        Error::Conflict { path: self.write.path().clone(), found: self.found }
    }
}

impl InOrder {
    /// These writes, none of them applied yet. No two are of one path.
    #[must_use]
    pub fn new(writes: Vec<Write>) -> Self {
        Self { writes: writes.into(), last: None }
    }

    /// Adds a write behind all others.
    pub fn then(&mut self, write: Write) {
        self.writes.push_back(write);
    }

    /// True when what is left to write fits one batch.
    #[must_use]
    pub fn is_one_batch(&self) -> bool {
        batch_end(&self.writes) >= self.writes.len()
    }

    /// Writes until all is written, which is none, or a write conflicts. Going on then leaves that one out.
    ///
    /// # Errors
    /// [`Error`]; conflicts are none.
    pub async fn go_on(&mut self, store: &dyn Store) -> Result<Option<Conflict>, Error> {
        while !self.writes.is_empty() {
            let end = batch_end(&self.writes);
            let writes = self.writes.make_contiguous();
            let failed = match store.write(&writes[..end]).await {
                Ok(versions) => {
                    self.last = versions.last().copied().or(self.last);
                    self.writes.drain(..end);
                    continue;
                }
                Err(failed) => failed,
            };
            self.writes.drain(..failed.applied);
            let Error::Conflict { path, found } = failed.source else { return Err(failed.source) };
            let place = self.writes.iter().position(|write| *write.path() == path);
            let taken = place.and_then(|place| Some((place, self.writes.remove(place)?)));
            let Some((place, write)) = taken else { return Err(Error::Conflict { path, found }) };
            return Ok(Some(Conflict { write, found, place }));
        }
        Ok(None)
    }

    /// The version of the document that was written last; none before that.
    #[must_use]
    pub fn last_version(&self) -> Option<Version> {
        self.last
    }

    /// Puts another write in the place of the one that conflicted last.
    pub fn instead(&mut self, conflict: &Conflict, write: Write) {
        self.writes.insert(conflict.place.min(self.writes.len()), write);
    }
}

/// How many of the writes fit one batch; at least one. What counts is what is kept: a store may seal secrets.
fn batch_end(writes: &VecDeque<Write>) -> usize {
    let mut bytes = 0;
    let fits = writes.iter().take(BATCH_WRITES_MAX).take_while(|write| {
        bytes += write.sealed_bytes_max();
        bytes <= BATCH_BYTES_MAX
    });
    fits.count().max(1)
}
