//! What an apply would do: asked of the engine's own planner before anything is written, on all clusters at once.
//!
//! ```
//! use dcm_core::app_context::AppContext;
//! use dcm_core::port::synchronizer::{Condition, Error, Synchronizer as _};
//! use dcm_sync::engine::Engine;
//! use dcm_sync::planning::{Planned, Rehearsing};
//!
//! /// Applies an app context where somebody agrees to what that would do, and only as long as that is so.
//! async fn apply(
//!     engine: &Engine,
//!     wanted: AppContext,
//!     agrees: impl Fn(&Planned) -> bool,
//! ) -> Result<(), Error> {
//!     let planned = engine.planner().plan_one(wanted, Rehearsing::Writes).await?;
//!     if agrees(&planned) {
//!         let condition = Condition::AsPlanned(planned.state());
//!         engine.contexts().apply_on(&planned.context, &condition).await?;
//!     }
//!     Ok(())
//! }
//! ```

mod compare;
mod live;
mod outline;
mod rehearsal;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::app_context::{AppContext, Generation};
use dcm_core::name::{ClusterId, OwnerId};
use dcm_core::port::cluster::{Call, Clusters, Fence};
use dcm_core::port::synchronizer::{Error, PlannedState};
use futures::StreamExt as _;

use crate::contexts::{Contexts, Prospect};
pub use live::{LivePlan, PlanError, WITHOUT_EFFECT_MAX};
use live::{Place, live_plan};
pub use rehearsal::Rehearsing;

/// How many clusters one plan looks at in one moment: as many connections as a process may open anywhere (1,024 files is the
/// lowest common limit), with room for what each of them takes.
pub const LOOKS_AT_ONCE_MAX: usize = 128;

/// Decides when a cluster may be looked at, for all who share it; see [`Planner::in_turn`].
#[async_trait]
pub trait Turns: Send + Sync + 'static {
    /// Waits until somebody may look at the cluster. What is given is held until that is done.
    async fn begin(&self, cluster: &ClusterId) -> Box<dyn Send>;
}

/// What an apply of an app context would do, on each cluster that it concerns.
#[derive(Debug, Clone)]
pub struct Planned {
    /// What is wanted.
    pub context: AppContext,
    /// As which generation of it.
    pub generation: Generation,
    /// By cluster, what would be done; or why that is not known.
    pub clusters: BTreeMap<ClusterId, Result<LivePlan, PlanError>>,
}

impl Planned {
    /// What an apply is bound to that is to do this, and nothing else.
    #[must_use]
    pub fn state(&self) -> PlannedState {
        let looked = self.clusters.iter();
        let observed = looked
            .filter_map(|(cluster, found)| Some((cluster.clone(), found.as_ref().ok()?.observed.state())));
        let wanted = self.context.hash_as_planned();
        PlannedState { generation: self.generation, wanted, observed: observed.collect() }
    }
}

/// Plans over the records of a store and what clusters show. Cheap to clone.
#[derive(Clone)]
pub struct Planner {
    contexts: Contexts,
    clusters: Arc<dyn Clusters>,
    turns: Option<Arc<dyn Turns>>,
    call: Call,
}

impl Planner {
    /// A planner for what the engines of an installation would do, where none runs in this process; see
    /// [`Engine::planner`](crate::engine::Engine::planner).
    #[must_use]
    pub fn new(contexts: Contexts, clusters: Arc<dyn Clusters>, owner: OwnerId) -> Self {
        let call = Call { owner, context: None, generation: Generation::default(), fence: Fence::default() };
        Self { contexts, clusters, turns: None, call }
    }

    /// The same, which waits for its turn before each look at a cluster. Without, a plan looks at [`LOOKS_AT_ONCE_MAX`] at once, whatever
    /// others do.
    #[must_use]
    pub fn in_turn(self, turns: Arc<dyn Turns>) -> Self {
        Self { turns: Some(turns), ..self }
    }

    /// Plans what an apply of these app contexts would do, on all clusters that are to hold them or may hold something of
    /// them, and gives the plans in the order of the contexts. All clusters of all of them are looked at at once, so
    /// one that hangs is waited for once. Writes nothing, neither to the store nor to a cluster.
    ///
    /// # Errors
    /// [`Error::Store`]. A cluster that can't be looked at is part of the plan.
    pub async fn plan(
        &self,
        contexts: Vec<AppContext>,
        rehearsing: Rehearsing,
    ) -> Result<Vec<Planned>, Error> {
        let mut prospects = Vec::with_capacity(contexts.len());
        for context in &contexts {
            prospects.push(self.contexts.prospect(context).await?);
        }
        let mut looks = self.look_at_all(contexts.iter().zip(&prospects), rehearsing).await;
        let planned = contexts.into_iter().zip(prospects).enumerate();
        Ok(planned.map(|(number, (context, prospect))| looks.planned(number, context, prospect)).collect())
    }

    /// The same of one app context.
    ///
    /// # Errors
    /// As above.
    pub async fn plan_one(&self, context: AppContext, rehearsing: Rehearsing) -> Result<Planned, Error> {
        let prospect = self.contexts.prospect(&context).await?;
        let mut looks = self.look_at_all([(&context, &prospect)], rehearsing).await;
        Ok(looks.planned(0, context, prospect))
    }

    /// Looks at all clusters of all app contexts, as many at once as may be.
    async fn look_at_all<'a>(
        &self,
        contexts: impl IntoIterator<Item = (&'a AppContext, &'a Prospect)>,
        rehearsing: Rehearsing,
    ) -> Looks {
        let looks = contexts.into_iter().enumerate().flat_map(|(number, (context, prospect))| {
            let place = move |(cluster, recorded)| {
                let (generation, proofs) = (prospect.generation, prospect.proofs.as_ref());
                (number, Place { context, cluster, generation, recorded, proofs })
            };
            prospect.clusters.iter().map(place)
        });
        let looks = looks.map(|(number, place)| async move {
            ((number, place.cluster.clone()), self.look(&place, rehearsing).await)
        });
        // Made before they are begun: one that borrows while it is made can't be sent to another thread.
        let looks: Vec<_> = looks.collect();
        Looks(futures::stream::iter(looks).buffer_unordered(LOOKS_AT_ONCE_MAX).collect().await)
    }

    async fn look(&self, place: &Place<'_>, rehearsing: Rehearsing) -> Result<LivePlan, PlanError> {
        let _turn = match &self.turns {
            Some(turns) => Some(turns.begin(place.cluster).await),
            None => None,
        };
        let cluster = self.clusters.connect(place.cluster).await?;
        live_plan(&*cluster, &self.call, place, rehearsing).await
    }
}

/// What was seen of clusters, by the number of the app context.
struct Looks(BTreeMap<(usize, ClusterId), Result<LivePlan, PlanError>>);

impl Looks {
    /// Takes out the plan of the app context with a number.
    fn planned(&mut self, number: usize, context: AppContext, prospect: Prospect) -> Planned {
        let seen =
            prospect.clusters.into_keys().filter_map(|cluster| self.0.remove_entry(&(number, cluster)));
        let clusters = seen.map(|((_, cluster), live)| (cluster, live)).collect();
        Planned { context, generation: prospect.generation, clusters }
    }
}
