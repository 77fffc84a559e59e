//! For how long what a user has is to be used: until it ends, or until something newer may be there.

use jiff::{SignedDuration, Timestamp};

use super::issued::Checked;

/// When a newer credential is on its way, it is asked for again so soon.
const ON_ITS_WAY: SignedDuration = SignedDuration::from_secs(15);

/// For how long a credential is to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// It ends.
    pub not_after: Timestamp,
    /// When to ask for a newer one: at the time of its renewal, and before it ends.
    pub until: Timestamp,
}

impl Hold {
    /// `delay` is how far its renewal is put off.
    pub(super) fn of(checked: &Checked, delay: u16, now: Timestamp) -> Self {
        let Checked { validity, newer, .. } = checked;
        let renewal = validity.renewal(delay);
        let soon = now.saturating_add(ON_ITS_WAY).unwrap_or(Timestamp::MAX);
        let until = if newer.is_none() && renewal > soon { renewal } else { soon };
        Self { not_after: validity.not_after, until: until.min(validity.not_after) }
    }
}
