//! Those who look at clusters: how many requests one caller may have under way that do.

use std::ops::Deref;

use crate::access::Asker;
use crate::installation::Installation;
use crate::services::Services;
use crate::shares::{Share, Shares};

/// How many such requests one caller may have under way who proves who they are: others wait for the same clusters. Of all of them only the
/// looks themselves have a limit, which is the installation's.
const PER_CALLER_MAX: usize = 64;

/// All whose requests look at clusters, at a listener. Cheap to clone.
#[derive(Clone)]
pub struct Lookers(Shares);

impl Default for Lookers {
    fn default() -> Self {
        Self(Shares::new(usize::MAX, PER_CALLER_MAX))
    }
}

/// The caller has as many such requests under way as they may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("you have too many requests under way that look at clusters")]
pub(crate) struct TooManyLooks;

/// An installation, for a request that looks at clusters by it.
pub(crate) struct Look<'a> {
    installation: &'a dyn Installation,
    _place: Option<Share>,
}

impl Services {
    /// The installation, for a request that looks at clusters.
    pub(crate) fn look(&self, asker: &Asker) -> Result<Look<'_>, TooManyLooks> {
        self.look_if(true, asker)
    }

    /// The same for one that may not look at any.
    pub(crate) fn look_if(&self, looks: bool, asker: &Asker) -> Result<Look<'_>, TooManyLooks> {
        let place = looks.then(|| {
            let mut place = self.lookers.0.of(asker);
            place.take(1).map(|()| place).map_err(|_| TooManyLooks)
        });
        Ok(Look { installation: &*self.installation, _place: place.transpose()? })
    }
}

impl Deref for Look<'_> {
    type Target = dyn Installation;

    fn deref(&self) -> &Self::Target {
        self.installation
    }
}
