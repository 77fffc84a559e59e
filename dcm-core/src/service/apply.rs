//! Applying a logical cloud: from its documents to an app context.
//!
//! In this order, so that a crash at any point leaves something that the same call finishes:
//! 1. everything is checked, and the app context is built: what is refused changes nothing;
//! 2. credentials are stored, keys included, then the snapshot, then the root says that it is being applied;
//! 3. the app context is handed over;
//! 4. the root says which snapshot was applied, and as which generation;
//! 5. what earlier applies left is cleaned up.

use crate::app_context::{AppContext, Generation};
use crate::logical_cloud::LogicalCloud;
use crate::logical_cloud::life_cycle::{Allowed, Operation, Reason, Refused, Work};
use crate::name::{LogicalCloudName, ProjectName};
use crate::port::audit::Action;
use crate::port::synchronizer::{Condition, PlannedState};
use crate::refusal::Warning;
use crate::status::{ContextStatus, Intent};

use super::audited::about;
use super::authorities::{self, Ensuring, Making, StoredAuthorities};
use super::caller::{Caller, Change};
use super::credentials::{self, StoredCredentials};
use super::documents::{DocumentId, Root, SCHEMA, Snapshot};
use super::error::{Error, Kind, Winner};
use super::freeze::Freezing;
use super::hand_over::app_context;
use super::load::{self, Found, Frozen, Loaded};
use super::logical_clouds::LogicalClouds;
use super::precondition::{EditId, Precondition};
use super::resolve::{Resolved, positions};
use super::{clean, life, requests, writing};

/// An apply that was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The number of the snapshot that is brought to the clusters.
    pub snapshot: u64,
    /// The generation of the cloud's app context.
    pub generation: Generation,
    /// What the call did.
    pub outcome: ApplyOutcome,
    /// What is accepted and perhaps not meant.
    pub warnings: Vec<Warning>,
    /// The logical cloud as its documents were, without the references that its selector adds.
    pub cloud: LogicalCloud,
}

/// What an apply did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// The work began.
    Begun,
    /// The work began, and took the place of what was under way.
    Replaced(Work),
    /// The clusters were to be so already. Where something is stuck, it is tried again.
    Unchanged,
}

/// When an apply begins; otherwise it is refused and changes nothing. By default it begins whenever the life cycle allows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplyCondition {
    /// What the caller knows of the logical cloud: its last edit is one of these. None: whichever it is.
    pub known: Option<Vec<EditId>>,
    /// True when it is not to take the place of other work that is under way or paused.
    pub is_idle: bool,
    /// What it is to do, and nothing else; see [`Condition::AsPlanned`]. None: whatever there is to do.
    pub planned: Option<PlannedState>,
}

/// All that an apply decided, before anything is written.
struct Prepared {
    cloud: LogicalCloud,
    stored: StoredCredentials,
    stored_authorities: StoredAuthorities,
    context: AppContext,
    freezing: Freezing,
    /// The newest snapshot, when it froze the same.
    same: Option<DocumentId>,
    change: Change,
}

impl LogicalClouds {
    /// Brings a logical cloud, as its documents are now, to its clusters. Returns when the synchronizer has taken it;
    /// follow the work with [`LogicalClouds::watch`].
    ///
    /// # Errors
    /// [`Error::WrongState`] where the life cycle does not allow it, among others without any cluster;
    /// [`Error::Refused`] for clusters that are not registered, admin clouds whose clusters disagree about the
    /// namespace, and certificate requests with a wrong subject; [`Error::NamespaceTaken`]; errors of keys, of
    /// rendering, of the store and the synchronizer.
    pub async fn apply(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<Applied, Error> {
        self.apply_if(caller, project, cloud, &ApplyCondition::default()).await
    }

    /// The same under a condition.
    ///
    /// # Errors
    /// The same, and [`Error::PreconditionFailed`]; [`Error::Stale`], then no cluster is written to; [`Error::WrongState`] also
    /// where other work is under way, if that is in its way.
    pub async fn apply_if(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        condition: &ApplyCondition,
    ) -> Result<Applied, Error> {
        let apply = || self.apply_once(caller, project, cloud, condition);
        let applying = load::contending(Kind::LogicalCloud, cloud, apply);
        self.audited(caller, Action::Apply, about(project, cloud), applying).await
    }

    /// As [`apply`](Self::apply), when that is still what was planned; see [`Condition::AsPlanned`].
    ///
    /// # Errors
    /// [`Error::Stale`], then no cluster is written to; those of [`apply`](Self::apply).
    pub async fn apply_as_planned(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        planned: &PlannedState,
    ) -> Result<Applied, Error> {
        let condition = ApplyCondition { planned: Some(planned.clone()), ..ApplyCondition::default() };
        self.apply_if(caller, project, cloud, &condition).await
    }

    async fn apply_once(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        begins: &ApplyCondition,
    ) -> Result<Applied, Error> {
        let (loaded, newest) = load::load_with(&*self.documents, project, cloud, Root::newest).await?;
        let place = &loaded.place;
        let known = Precondition { known: begins.known.clone(), ..Precondition::default() };
        known.check(Kind::LogicalCloud, cloud, Some(&loaded.root.edit_id()))?;
        let status = self.synchronizer.status(&place.context_id()).await.map_err(Error::Synchronizer)?;
        let resolved = self.resolve(&loaded.cloud, &positions(&loaded.cloud.to_draft())).await?;
        let references = resolved.cloud.references().len();
        let life = |edited| life::of(&loaded.root, status.as_ref(), edited, references);
        // Whether it is allowed at all comes before keys are made.
        life(true).allows(Operation::Apply)?;
        let condition = begins.planned.clone().map_or(Condition::Always, Condition::AsPlanned);
        let prepared =
            self.prepare(&loaded, newest.as_ref(), resolved, condition, self.change(caller)).await?;
        let life = life(!is_applied(&loaded.root, status.as_ref(), &prepared));
        let allowed = life.allows(Operation::Apply)?;
        if begins.is_idle && matches!(allowed, Allowed::Replace(_)) {
            let (operation, state, reason) = (Operation::Apply, life.state(), Reason::UnderWay);
            return Err(Refused { operation, state, reason }.into());
        }
        let warnings = loaded.cloud.warnings();
        let id = match &prepared.same {
            Some(id) => id.clone(),
            None => self.reserve(&loaded, &prepared.freezing).await?,
        };
        let handed =
            self.hand_over(place, &id, &prepared.context, &prepared.freezing.snapshot.condition).await;
        let generation = handed.map_err(|error| told_to(caller, project, error))?;
        let generation = self.settle(place, &id, generation).await?;
        if status.is_some_and(|status| status.paused) {
            self.synchronizer.resume(&place.context_id()).await.map_err(Error::Synchronizer)?;
        }
        // The apply is accepted by now. What is not cleaned up is cleaned up by a later one.
        drop(self.tidy(&loaded, &prepared).await);
        let outcome = match allowed {
            Allowed::Begin => ApplyOutcome::Begun,
            Allowed::Replace(work) => ApplyOutcome::Replaced(work),
            Allowed::AlreadySo => ApplyOutcome::Unchanged,
        };
        Ok(Applied { snapshot: id.number(), generation, outcome, warnings, cloud: loaded.cloud })
    }

    /// Decides everything; writes nothing.
    async fn prepare(
        &self,
        loaded: &Loaded,
        newest: Option<&Frozen>,
        resolved: Resolved,
        condition: Condition,
        change: Change,
    ) -> Result<Prepared, Error> {
        let Loaded { place, root, parts, .. } = loaded;
        let incarnation = root.incarnation + u64::from(newest.is_none());
        let since = requests::users_since(parts, &root.contents)?;
        let stored = credentials::list(&*self.documents, place).await?;
        let credentials =
            self.ensure_credentials(place, &resolved.cloud, &stored, &since, incarnation, &change)?;
        let stored_authorities = authorities::list(&*self.documents, place).await?;
        let frozen = newest.map(|newest| &newest.cloud);
        let ensuring = Ensuring { change: &change, frozen, making: Making::Due };
        let authorities =
            self.ensure_authorities(place, &resolved.cloud, &stored_authorities, &ensuring).await?;
        let rendered = credentials.for_rendering(root.accounts);
        let context = app_context(place, &resolved.cloud, &rendered, &authorities.files())?;
        let snapshot = Snapshot {
            schema: SCHEMA,
            number: root.snapshots + 1,
            edit: root.edit,
            contents: root.contents.clone(),
            selected: resolved.selected,
            namespace: resolved.namespace,
            credentials: credentials.ids(),
            authorities: authorities.digest(),
            condition,
            made: change.clone(),
        };
        let is_same = newest.is_some_and(|newest| {
            // One that was not handed over yet may be so by anybody, on its own condition.
            let is_handed_over = root.applying.is_none() || newest.snapshot.condition == snapshot.condition;
            newest.snapshot.wants_the_same(&snapshot) && is_handed_over
        });
        let same = root.newest().filter(|_| is_same).map(|newest| newest.id.clone());
        let keys = credentials.writes.into_iter().chain(authorities.writes).collect();
        let freezing = Freezing { snapshot, incarnation, keys };
        Ok(Prepared { cloud: resolved.cloud, stored, stored_authorities, context, freezing, same, change })
    }

    /// Removes what this apply has replaced.
    async fn tidy(&self, loaded: &Loaded, prepared: &Prepared) -> Result<(), Error> {
        let store = &*self.documents;
        let Loaded { place, parts, .. } = loaded;
        let Found::Standing(found, root, _) = load::find(store, &place.project, &place.cloud).await? else {
            return Ok(());
        };
        let is_newest =
            root.newest().is_some_and(|newest| newest.contents == prepared.freezing.snapshot.contents);
        if found == *place && is_newest {
            credentials::retire(store, place, &prepared.cloud, &prepared.stored, &prepared.change).await?;
            writing::delete(store, prepared.stored_authorities.unused(&prepared.cloud)).await?;
            clean::snapshots(store, place, &root).await?;
            clean::parts(store, parts, &root, &parts.contents(&root.contents)?).await?;
        }
        Ok(())
    }
}

/// A limited caller is not told of another project's logical clouds, nor of app contexts whose they are nobody knows.
fn told_to(caller: &Caller, own: &ProjectName, mut error: Error) -> Error {
    if let Error::NamespaceTaken { winner, .. } = &mut error
        && caller.limits().is_some()
        && !matches!(winner, Winner::LogicalCloud { project, .. } if project == own)
    {
        *winner = Winner::OtherProject;
    }
    error
}

/// True when the synchronizer was given just this, and still wants it.
fn is_applied(root: &Root, context: Option<&ContextStatus>, prepared: &Prepared) -> bool {
    let recorded =
        root.applied.as_ref().filter(|applied| prepared.same.as_ref() == Some(&applied.snapshot.id));
    match (recorded, context) {
        (Some(applied), Some(context)) => {
            context.intent == Intent::Present && context.generation == applied.generation
        }
        _ => false,
    }
}
