//! What people of a simulation use to get what they want.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::app_context::AppContext;
use dcm_core::name::ContextId;
use dcm_core::plan::Observed;
use dcm_core::port::clock::{Clock, Random};
use dcm_core::port::cluster::Clusters;
use dcm_core::port::store::Store;
use dcm_core::port::synchronizer::{Condition, Error, Removal, STOP_LIMIT, Synchronizer as _};
use futures::future::{Either, select};

use super::engine::options;
use super::wish::{Variant, Wish, context_id};
use super::world::World;
use crate::contexts::Contexts;
use crate::planning::{Planner, Rehearsing};

/// How long somebody waits for what clusters show, when he plans something.
const PLANNED_WITHIN: Duration = Duration::from_secs(30);

/// Longest time for which somebody thinks about a plan, in milliseconds.
const THOUGHT_MAX_MS: u64 = 20_000;

/// What people use: app contexts by themselves ([`AppContexts`]), or services over them.
pub trait Api: Send + Sync {
    /// For one person, who may die.
    fn client(&self, ports: ClientPorts) -> Arc<dyn Client>;

    /// What stands for the thing of a number that is to be there in this variant, when nothing goes wrong any more.
    ///
    /// # Errors
    /// Why nothing does.
    fn wanted(&self, world: &World<'_>, number: usize, variant: Variant) -> Result<AppContext, String>;

    /// What else is not as it was wanted in the end: of those numbers something is to be there.
    fn differences(&self, _world: &World<'_>, _there: &BTreeSet<usize>) -> Vec<String> {
        Vec::new()
    }
}

/// What somebody reaches the outside through.
pub struct ClientPorts {
    /// The store, which others share.
    pub store: Arc<dyn Store>,
    /// The clusters.
    pub clusters: Arc<dyn Clusters>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The person's randomness.
    pub random: Arc<dyn Random>,
    /// How many clusters there are.
    pub cluster_count: usize,
    /// Is to be told what an apply is bound to, of each cluster.
    pub looked: Box<dyn Fn(Observed) + Send + Sync>,
}

/// What somebody asks with.
#[async_trait]
pub trait Client: Send + Sync {
    /// Asks for something of the thing of a number.
    async fn ask(&self, number: usize, wish: Wish) -> Result<(), Refused>;

    /// Says that the store is right about it, whatever clusters hold.
    async fn reconcile(&self, number: usize) -> Result<(), Refused>;

    /// The app context that stands for it; none when there is none.
    async fn context(&self, number: usize) -> Result<Option<ContextId>, Refused>;
}

/// Somebody did not get what he asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// The same may succeed later, without anybody changing anything.
    pub is_retryable: bool,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self { is_retryable: error.is_retryable() }
    }
}

/// App contexts by themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct AppContexts;

impl Api for AppContexts {
    fn client(&self, ports: ClientPorts) -> Arc<dyn Client> {
        let contexts = Contexts::new(ports.store.clone(), ports.clock.clone());
        let planner = Planner::new(contexts.clone(), ports.clusters.clone(), options().owner);
        Arc::new(ContextClient { contexts, planner, ports })
    }

    fn wanted(&self, world: &World<'_>, number: usize, variant: Variant) -> Result<AppContext, String> {
        Ok(variant.of(number, world.fleet().ids().count()))
    }
}

struct ContextClient {
    contexts: Contexts,
    planner: Planner,
    ports: ClientPorts,
}

impl ContextClient {
    fn wanted(&self, number: usize, variant: Variant) -> AppContext {
        variant.of(number, self.ports.cluster_count)
    }

    /// Looks at all clusters, thinks about it, and applies that and nothing else. Where somebody else was quicker, he may look
    /// again.
    async fn apply_as_planned(&self, wanted: AppContext) -> Result<(), Refused> {
        let looking = self.planner.plan_one(wanted, Rehearsing::Nothing);
        let planned = match select(pin!(looking), self.ports.clock.sleep(PLANNED_WITHIN)).await {
            Either::Left((planned, _)) => planned?,
            Either::Right(_) => return Err(Refused { is_retryable: true }),
        };
        self.ports.clock.sleep(Duration::from_millis(self.ports.random.next() % THOUGHT_MAX_MS)).await;
        planned.observed().into_values().flatten().for_each(&self.ports.looked);
        let condition = Condition::AsPlanned(planned.state());
        match self.contexts.apply_on(&planned.context, &condition).await {
            Err(Error::Stale { .. }) => Err(Refused { is_retryable: true }),
            applied => {
                applied?;
                Ok(())
            }
        }
    }
}

#[async_trait]
impl Client for ContextClient {
    async fn ask(&self, number: usize, wish: Wish) -> Result<(), Refused> {
        let (contexts, id) = (&self.contexts, context_id(number));
        match wish {
            Wish::Apply(variant) => drop(contexts.apply(&self.wanted(number, variant)).await?),
            Wish::ApplyAsPlanned(variant) => self.apply_as_planned(self.wanted(number, variant)).await?,
            Wish::Remove { delete_contents, deadline } => {
                let removal = Removal { delete_contents, deadline_seconds: deadline, ..Removal::default() };
                contexts.remove(&id, removal).await?;
            }
            Wish::Stop => contexts.stop(&id, STOP_LIMIT).await?,
            Wish::Resume => contexts.resume(&id).await?,
            Wish::Forget => contexts.forget(&id).await?,
            Wish::Withdraw(variant) => {
                let wanted = self.wanted(number, variant.withdrawn());
                contexts.apply_on(&wanted, &Condition::Withdraw).await?;
            }
        }
        Ok(())
    }

    async fn reconcile(&self, number: usize) -> Result<(), Refused> {
        Ok(self.contexts.reconcile(&context_id(number)).await.map(drop)?)
    }

    async fn context(&self, number: usize) -> Result<Option<ContextId>, Refused> {
        Ok(Some(context_id(number)))
    }
}
