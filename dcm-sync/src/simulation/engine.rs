//! The engine as a program under simulation.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::name::ContextId;
use dcm_core::port::store;
use dcm_core::port::trial::PrivateKeys;
use dcm_core::secret::Secret;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::world::Ports;
use crate::engine::{Acquire, Engine, Options};

/// Has a key for each request: simulated clusters look at certificates alone.
struct AnyKey;

#[async_trait]
impl PrivateKeys for AnyKey {
    async fn private_key(&self, _: &ContextId, _: &str) -> Result<Option<Secret>, store::Error> {
        Ok(Some(Secret::new("simulated")))
    }
}

/// How often credentials are tried again: often enough to be done before the end.
const TRIAL_INTERVAL: Duration = Duration::from_secs(60);

/// Values that are compared in the loop of an engine that compares most objects beside it.
const COMPARED_VALUES_MAX: usize = 40;

/// Settings of simulated engines: budgets so small that they are met.
#[must_use]
pub fn options() -> Options {
    Options { writes_per_second: 4, writes_burst: 8, trial_interval: TRIAL_INTERVAL, ..Options::default() }
}

/// Runs an engine until it is asked to stop.
#[must_use]
pub fn engine(ports: Ports) -> BoxFuture<'static, ()> {
    run(ports, options())
}

/// Runs an engine that compares most objects beside its loop, as if they were large.
#[must_use]
pub fn engine_comparing_apart(ports: Ports) -> BoxFuture<'static, ()> {
    run(ports, Options { compared_values_max: COMPARED_VALUES_MAX, ..options() })
}

/// Runs an engine that lacks a safeguard.
#[cfg(feature = "planted-faults")]
#[must_use]
pub fn engine_without(ports: Ports, safeguard: crate::engine::Safeguard) -> BoxFuture<'static, ()> {
    run(ports, Options { without: Some(safeguard), ..options() })
}

fn run(ports: Ports, options: Options) -> BoxFuture<'static, ()> {
    let Ports { store, clusters, clock, random, stop, only } = ports;
    async move {
        let acquire = match only {
            Some(only) => Acquire::PendingOf(only.await),
            None => Acquire::All,
        };
        let options = Options { acquire, ..options };
        let builder = Engine::builder(store, clusters).options(options).private_keys(Arc::new(AnyKey));
        let (engine, run) = builder.build(clock, &*random);
        let stopping = async move {
            stop.await;
            engine.shutdown().await;
        };
        futures::join!(run, stopping);
    }
    .boxed()
}
