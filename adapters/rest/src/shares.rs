//! What all callers take of together: how much of it is taken, in all and by each of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::access::Asker;

/// What there is for all callers. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Shares {
    taken: Arc<Mutex<Taken>>,
    max: usize,
    per_caller_max: usize,
}

/// How much of it is taken.
#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_caller: BTreeMap<String, usize>,
}

/// Why nobody may take more now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooMuch {
    /// There is no more.
    InAll,
    /// The caller has as much as they may have.
    OfCaller,
}

impl Shares {
    /// Nobody has taken anything. Callers who prove who they are may take so much each.
    pub(crate) fn new(max: usize, per_caller_max: usize) -> Self {
        Self { taken: Arc::default(), max, per_caller_max }
    }

    /// What a caller takes for a request: nothing yet. Callers who prove nothing are not told from each other: only all of them have a limit.
    pub(crate) fn of(&self, asker: &Asker) -> Share {
        Share { shares: self.clone(), caller: asker.proved_name().map(str::to_owned), has: 0 }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a request has of it; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    shares: Shares,
    caller: Option<String>,
    has: usize,
}

impl Share {
    /// Takes more.
    pub(crate) fn take(&mut self, more: usize) -> Result<(), TooMuch> {
        let mut taken = self.shares.taken();
        let of_caller = self.caller.as_ref().and_then(|caller| taken.by_caller.get(caller));
        let has = of_caller.copied().unwrap_or_default();
        if self.caller.is_some() && has.saturating_add(more) > self.shares.per_caller_max {
            return Err(TooMuch::OfCaller);
        }
        if taken.all.saturating_add(more) > self.shares.max {
            return Err(TooMuch::InAll);
        }
        taken.all += more;
        if let Some(caller) = self.caller.clone() {
            taken.by_caller.insert(caller, has + more);
        }
        self.has += more;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.taken();
        taken.all = taken.all.saturating_sub(self.has);
        let Some(caller) = &self.caller else { return };
        let left = taken.by_caller.get(caller).map_or(0, |has| has.saturating_sub(self.has));
        match left {
            0 => drop(taken.by_caller.remove(caller)),
            left => drop(taken.by_caller.insert(caller.clone(), left)),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn what_is_taken_is_limited_for_each_caller_and_in_all_and_is_given_back() {
        let shares = Shares::new(6, 4);
        let named =
            |name: &str| Asker { name: name.to_owned(), until: Some(Timestamp::MAX), ..Asker::anybody() };
        let (ann, bob) = (named("ann"), named("bob"));
        let (mut first, mut second) = (shares.of(&ann), shares.of(&ann));
        assert_eq!((first.take(1), first.take(1), second.take(2)), (Ok(()), Ok(()), Ok(())));
        assert_eq!((first.take(1), second.take(1)), (Err(TooMuch::OfCaller), Err(TooMuch::OfCaller)));
        let mut other = shares.of(&bob);
        assert_eq!((other.take(2), other.take(1)), (Ok(()), Err(TooMuch::InAll)));
        drop((first, other));
        let mut unnamed = shares.of(&Asker::anybody());
        assert_eq!((unnamed.take(4), unnamed.take(1)), (Ok(()), Err(TooMuch::InAll)));
        assert_eq!(shares.taken().by_caller, BTreeMap::from([("ann".to_owned(), 2)]));
        drop((second, unnamed));
        assert!(shares.taken().by_caller.is_empty() && shares.taken().all == 0);
    }
}
