//! What keeps the engine safe, by name: each is taken away in a test, to see that the simulation finds what happens then.

/// A safeguard of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "planted-faults", derive(clap::ValueEnum))]
#[cfg_attr(not(feature = "planted-faults"), allow(unreachable_pub, reason = "for tests alone"))]
pub enum Safeguard {
    /// An object is ours by its recorded UID; labels alone prove nothing where one is recorded.
    UidProof,
    /// Marks without a proof count for nothing.
    MarksProved,
    /// An object that was adopted is never deleted.
    AdoptedStays,
    /// What is in a namespace is counted before it is deleted.
    ContentsCounted,
    /// The record names the kinds before the first object is made.
    KindsNamed,
    /// Nothing is done while a record could not be stored.
    StoredFirst,
    /// After a take-over records are read again.
    RecordsReadAgain,
    /// What is there is recorded when a lane is done.
    StockTaken,
    /// Nothing is taken from an owner whose session is only unknown.
    OwnerLookedUp,
    /// Writes to a cluster keep to their budget.
    Budget,
    /// A removal waits for requests that are under way, and until a lost one can take effect no more.
    RequestsAwaited,
    /// What was abandoned is remembered, and cleared when its cluster returns.
    TombstoneKept,
    /// Work on a paused app context stands still.
    PauseKept,
    /// Nothing is sent once the session has ended, and somebody else may have taken the cluster.
    SessionKept,
    /// An object is written and deleted in the state that was seen when that was chosen: in no other one.
    #[cfg(feature = "planted-faults")]
    StateObserved,
    /// What a request without an answer may still change is written once more.
    DoubtSettled,
    /// What is bound to a plan is not done on a cluster that is not as it was planned on.
    PlanCompared,
    /// Nor is an object written that has changed since then.
    PlanHeld,
    /// What controllers put into every namespace does not count as contents.
    ControllersIgnored,
    /// Each attempt looks at the cluster again before the lane is done.
    SeenWhenAsked,
    /// What somebody else changes is brought back.
    DriftCorrected,
    /// Only a request for a certificate that asks for what is desired is approved.
    RequestCompared,
    /// A token is good only as long as the account is there that it was issued for.
    AccountCompared,
    /// A credential that its cluster refuses is not issued.
    CredentialTried,
    /// Nor is one that the cluster refuses later.
    CredentialsTriedAgain,
    /// Workers share the clusters evenly.
    SharedEvenly,
    /// A cluster is worked on under one name alone.
    NamesCompared,
    /// What is refused, or changed by others, again and again holds up no withdrawal of rights.
    RightsWithdrawn,
}

#[cfg(feature = "planted-faults")]
impl super::Options {
    /// True when the engine has this safeguard.
    pub(crate) fn keeps(&self, safeguard: Safeguard) -> bool {
        self.without != Some(safeguard)
    }
}

#[cfg(not(feature = "planted-faults"))]
impl super::Options {
    /// True: the engine has all of them.
    #[allow(clippy::unused_self, reason = "tests can take them away")]
    pub(crate) fn keeps(&self, _: Safeguard) -> bool {
        true
    }
}
