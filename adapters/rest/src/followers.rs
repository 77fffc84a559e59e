//! Those who follow events: how many there may be, and what they share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::access::Asker;
use crate::documented::Broadcasts;
use crate::limits::Limits;

/// All who follow events at a listener. Cheap to clone.
#[derive(Clone)]
pub struct Followers {
    counts: Arc<Mutex<Counts>>,
    max: usize,
    per_caller_max: usize,
    pub(crate) broadcasts: Arc<Broadcasts>,
}

/// How many there are.
#[derive(Debug, Default)]
struct Counts {
    all: usize,
    by_caller: BTreeMap<String, usize>,
}

/// Why nobody may follow now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// There are as many as there may be.
    InAll,
    /// The caller does it as often as they may.
    OfCaller,
}

impl Followers {
    /// Nobody yet, and at most so many.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            counts: Arc::default(),
            max: limits.followers_max,
            per_caller_max: limits.followers_per_caller_max,
            broadcasts: Arc::default(),
        }
    }

    /// A place for another one. Callers who prove nothing are not told from each other: only all of them have a limit.
    pub(crate) fn place(&self, asker: &Asker) -> Result<Place, TooMany> {
        let caller = asker.proved_name().map(str::to_owned);
        let mut counts = self.counts();
        let of_caller = caller.as_ref().and_then(|caller| counts.by_caller.get(caller));
        if of_caller.is_some_and(|count| *count >= self.per_caller_max) {
            return Err(TooMany::OfCaller);
        }
        if counts.all >= self.max {
            return Err(TooMany::InAll);
        }
        counts.all += 1;
        if let Some(caller) = caller.clone() {
            *counts.by_caller.entry(caller).or_default() += 1;
        }
        Ok(Place { followers: self.clone(), caller })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one who follows; given back when it is dropped.
pub(crate) struct Place {
    followers: Followers,
    caller: Option<String>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.followers.counts();
        counts.all = counts.all.saturating_sub(1);
        let Some(caller) = &self.caller else { return };
        let left = counts.by_caller.get(caller).map_or(0, |count| count.saturating_sub(1));
        match left {
            0 => drop(counts.by_caller.remove(caller)),
            left => drop(counts.by_caller.insert(caller.clone(), left)),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn places_are_limited_for_each_caller_and_in_all_and_are_given_back() {
        let limits = Limits { followers_max: 3, followers_per_caller_max: 2, ..Limits::default() };
        let followers = Followers::new(&limits);
        let named =
            |name: &str| Asker { name: name.to_owned(), until: Some(Timestamp::MAX), ..Asker::anybody() };
        let (ann, bob) = (named("ann"), named("bob"));
        let first = [(); 2].map(|()| followers.place(&ann).ok().unwrap());
        assert_eq!(followers.place(&ann).err(), Some(TooMany::OfCaller));
        let other = followers.place(&bob).ok().unwrap();
        assert_eq!(followers.place(&bob).err(), Some(TooMany::InAll));
        drop((first, other));
        let unnamed = [(); 3].map(|()| followers.place(&Asker::anybody()).ok().unwrap());
        assert_eq!(followers.place(&Asker::anybody()).err(), Some(TooMany::InAll));
        drop(unnamed);
        assert!(followers.counts().by_caller.is_empty() && followers.counts().all == 0);
    }
}
