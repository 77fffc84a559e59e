//! What people of a simulation use to get what they want.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::app_context::AppContext;
use dcm_core::name::ContextId;
use dcm_core::port::clock::{Clock, Random};
use dcm_core::port::store::Store;
use dcm_core::port::synchronizer::{Error, Removal, STOP_LIMIT, Synchronizer as _};

use super::wish::{Variant, Wish, context_id};
use super::world::World;
use crate::contexts::Contexts;

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
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The person's randomness.
    pub random: Arc<dyn Random>,
    /// How many clusters there are.
    pub clusters: usize,
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
        let contexts = Contexts::new(ports.store, ports.clock);
        Arc::new(ContextClient { contexts, clusters: ports.clusters })
    }

    fn wanted(&self, world: &World<'_>, number: usize, variant: Variant) -> Result<AppContext, String> {
        Ok(variant.of(number, world.fleet().ids().count()))
    }
}

struct ContextClient {
    contexts: Contexts,
    clusters: usize,
}

#[async_trait]
impl Client for ContextClient {
    async fn ask(&self, number: usize, wish: Wish) -> Result<(), Refused> {
        let (contexts, id) = (&self.contexts, context_id(number));
        match wish {
            Wish::Apply(variant) => drop(contexts.apply(&variant.of(number, self.clusters)).await?),
            Wish::Remove { delete_contents, deadline } => {
                let removal = Removal { delete_contents, deadline_seconds: deadline, objects: None };
                contexts.remove(&id, removal).await?;
            }
            Wish::Stop => contexts.stop(&id, STOP_LIMIT).await?,
            Wish::Resume => contexts.resume(&id).await?,
            Wish::Forget => contexts.forget(&id).await?,
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
