//! Where workflows are made: the services, over a store and a synchronizer that fail when they are to.

use std::sync::Arc;

use dcm_core::port::clock::Clock as _;
use dcm_core::port::store::{Prefix, Store as _, StoreExt as _, Write};
use dcm_core::port::synchronizer::Synchronizer;
use dcm_store::MemoryStore;
use dcm_sync::Contexts;

use super::Trouble;
use crate::service::support::{Dying, Engine, Failing, FixedClock, World};

pub(super) struct Stage {
    pub(super) world: World,
    synchronizer: Arc<Failing>,
    engine: Behind,
}

/// What is behind the synchronizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// An engine in memory, which does its work when it is told to.
    Fake,
    /// The records of the real one, in the same store, and no worker: their writes fail too.
    Records,
}

impl Stage {
    pub(super) fn new(engine: Behind) -> Self {
        Self::over(MemoryStore::builder().atomic_batches(false).build(), Engine::new(), engine)
    }

    fn over(memory: MemoryStore, fake: Engine, engine: Behind) -> Self {
        let store = Arc::new(Dying::new(Arc::new(memory)));
        let fake = Arc::new(fake);
        let behind: Arc<dyn Synchronizer> = match engine {
            Behind::Fake => fake.clone(),
            Behind::Records => Arc::new(Contexts::new(store.clone(), Arc::new(FixedClock::new()))),
        };
        let synchronizer = Arc::new(Failing::new(behind));
        let world = World::with(store, fake, synchronizer.clone());
        world.random.freeze();
        Self { world, synchronizer, engine }
    }

    /// Another one with the same on it.
    pub(super) async fn copy(&self, atomic_batches: bool) -> Self {
        let memory = MemoryStore::builder().atomic_batches(atomic_batches).build();
        for entry in self.world.memory.list_all(&Prefix::everything()).await.unwrap() {
            let (path, document) = (entry.path, entry.document);
            memory.write(&[Write::Create { path, document }]).await.unwrap();
        }
        let copy = Self::over(memory, self.world.engine.copy(), self.engine);
        copy.world.at(&self.world.clock.now().to_string());
        copy
    }

    pub(super) fn fail_after(&self, after: usize, trouble: Trouble) {
        match trouble {
            Trouble::Write { fault, dies, .. } => self.world.store.fail_after(after, fault, dies),
            Trouble::Call(fault) => self.synchronizer.fail_after(after, fault),
        }
    }

    /// True where what a cut-off call of the synchronizer left over goes with the next change, or with the cloud.
    pub(super) fn tidies_late(&self) -> bool {
        self.engine == Behind::Records
    }

    /// How many writes or calls have failed.
    pub(super) fn failed(&self, trouble: Trouble) -> usize {
        match trouble {
            Trouble::Write { .. } => self.world.store.failed(),
            Trouble::Call(_) => usize::from(!self.synchronizer.fault_is_pending()),
        }
    }
}

impl Trouble {
    /// True when the process dies of it.
    pub(super) fn cuts_off(self) -> bool {
        matches!(self, Self::Write { dies: true, .. })
    }

    pub(super) fn has_atomic_batches(self) -> bool {
        matches!(self, Self::Write { atomic_batches: true, .. })
    }
}
