//! The engine as a program under simulation.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::world::Ports;
use crate::engine::{Engine, Options};

/// Settings of simulated engines: budgets so small that they are met.
#[must_use]
pub fn options() -> Options {
    Options { writes_per_second: 4, writes_burst: 8, ..Options::default() }
}

/// Runs an engine until it is asked to stop.
#[must_use]
pub fn engine(ports: Ports) -> BoxFuture<'static, ()> {
    run(ports, options())
}

/// Runs an engine that lacks a safeguard.
#[cfg(feature = "planted-faults")]
#[must_use]
pub fn engine_without(ports: Ports, safeguard: crate::engine::Safeguard) -> BoxFuture<'static, ()> {
    run(ports, Options { without: Some(safeguard), ..options() })
}

fn run(ports: Ports, options: Options) -> BoxFuture<'static, ()> {
    let Ports { store, clusters, clock, random, stop } = ports;
    let (engine, run) = Engine::builder(store, clusters).options(options).build(clock, &*random);
    let stopping = async move {
        stop.await;
        engine.shutdown().await;
    };
    async move {
        futures::join!(run, stopping);
    }
    .boxed()
}
