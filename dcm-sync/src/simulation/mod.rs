//! The whole engine in virtual time, from one seed (feature `sim`).
//!
//! A [`Scenario`] says what happens: who wants what, what breaks when, who dies at which call. [`run`] plays it: simulated
//! clusters ([`crate::sim`]) and a simulated store, workers that run the production engine, and people who know nothing
//! of it. After each event the [`INVARIANTS`] are looked at: safety comes first, under all faults. Then the faults stop,
//! and within a bounded time everything has to be as it was wanted last, and nobody writes any more.
//!
//! One seed decides all of it, the order in which processes go on included, so what was found is found again.
//!
//! Whoever links the engine in and does more beside it runs all of that: a [`Program`] is a function of [`Ports`]. And who has
//! services over app contexts lets people use those: an [`Api`] is what they ask with ([`run_through`]).
//!
//! A controller that is no engine of ours has rules of its own. It runs in the same [`World`], with the same faults, and is judged
//! by what it looks at in the [`Event`]s:
//!
//! ```
//! use std::time::Duration;
//! use dcm_core::app_context::Generation;
//! use dcm_core::manifest::Manifest;
//! use dcm_core::name::{ContextId, OwnerId};
//! use dcm_core::port::cluster::{Call, Fence, Marks, Origin, Stamped};
//! use dcm_sync::sim::{Faults, cluster_id};
//! use dcm_sync::simulation::{Death, Deed, Event, Ports, Scenario, Skew, World};
//! use futures::FutureExt as _;
//! use futures::future::BoxFuture;
//! use serde_json::json;
//!
//! /// Sees to it that each of two clusters has a namespace.
//! fn controller(ports: Ports) -> BoxFuture<'static, ()> {
//!     let (owner, context) = (OwnerId::new("me").unwrap(), ContextId::new("one").unwrap());
//!     let (generation, fence) = (Generation(1), Fence(1));
//!     let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}});
//!     let manifest = Manifest::new(body).unwrap();
//!     let hash = Some(manifest.hash());
//!     let call = Call { owner: owner.clone(), context: Some(context.clone()), generation, fence };
//!     let marks = Marks { owner, context, generation, manifest: hash, origin: Origin::Created };
//!     let object = Stamped { manifest, marks, labels: Default::default(), proof: None };
//!     async move {
//!         loop {
//!             for number in 1..=2 {
//!                 if let Ok(cluster) = ports.clusters.connect(&cluster_id(number)).await {
//!                     // Whatever becomes of it, the next round looks again.
//!                     let _ = cluster.create(&call, &object).await;
//!                 }
//!             }
//!             ports.clock.sleep(Duration::from_secs(5)).await;
//!         }
//!     }
//!     .boxed()
//! }
//!
//! let scenario = Scenario { clusters: 2, ..Scenario::of(7) };
//! let mut world = World::new(&scenario, &controller);
//! for number in 1..=2 {
//!     world.cluster(number).set_faults(Faults { lost_request: 500, lost_reply: 200, ..Faults::NONE });
//! }
//! world.start_worker(Skew::default());
//! world.kill_worker(0, Death { calls: 2, is_after: true });
//! let (mut made, until) = (0, world.now() + Duration::from_secs(60));
//! while world.step(until) {
//!     made += world.take_events().iter().filter(|event| matches!(event,
//!         Event::Handled(handled) if matches!(handled.deed, Deed::Created(_)))).count();
//! }
//! assert!(made <= 2, "it makes nothing twice");
//!
//! // Nothing goes wrong any more: another worker ends what the dead one began.
//! world.heal();
//! world.start_worker(Skew::default());
//! let until = world.now() + Duration::from_secs(60);
//! while world.step(until) {}
//! for number in 1..=2 {
//!     let namespaces = world.cluster(number).server(|server| {
//!         server.objects().filter(|object| &*object.key.name == "mine").count()
//!     });
//!     assert_eq!(namespaces, 1);
//! }
//! ```

mod api;
mod commands;
mod engine;
mod events;
mod executor;
mod fate;
mod judge;
mod meddling;
mod people;
mod revocation;
mod run;
mod scenario;
mod shrink;
mod store;
mod sweep;
mod time;
mod wish;
mod world;

pub use api::{Api, AppContexts, Client, ClientPorts, Refused};
#[cfg(feature = "planted-faults")]
pub use engine::engine_without;
pub use engine::{engine, engine_comparing_apart, options};
pub use events::{Asked, Deed, Event, Halt, Handled, Sent, Told, Written};
pub use executor::{Executor, ProcessId, Step};
pub use fate::Death;
pub use judge::{INVARIANTS, Invariant, Scene, Violation};
pub use revocation::{HinderedKind, Revocation};
pub use run::{Summary, run, run_telling, run_through};
pub use scenario::{Act, Meddling, Scenario};
pub use shrink::shrink;
pub use store::{SimStore, StoreFaults, StoreSettings, StoreWitness};
pub use sweep::{Found, Sweep, play_catching};
pub use time::{Skew, VirtualClock};
pub use wish::{REVOKED, STATES, Variant, Wish, context_id, namespace, twin_id};
pub use world::{Ports, Program, World};
