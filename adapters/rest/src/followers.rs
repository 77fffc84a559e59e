//! Those who follow events: how many there may be, and what they share.

use std::sync::Arc;

use crate::access::Asker;
use crate::documented::Broadcasts;
use crate::limits::Limits;
use crate::shares::{Share, Shares, TooMuch};

/// All who follow events at a listener. Cheap to clone.
#[derive(Clone)]
pub struct Followers {
    places: Shares,
    pub(crate) broadcasts: Arc<Broadcasts>,
}

impl Followers {
    /// Nobody yet, and at most so many.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        let places = Shares::new(limits.followers_max, limits.followers_per_caller_max);
        Self { places, broadcasts: Arc::default() }
    }

    /// A place for another one.
    pub(crate) fn place(&self, asker: &Asker) -> Result<Share, TooMuch> {
        let mut place = self.places.of(asker);
        place.take(1)?;
        Ok(place)
    }
}
