//! The whole engine in virtual time, from one seed (feature `sim`).
//!
//! A [`Scenario`] says what happens: who wants what, what breaks when, who dies at which call. [`run`] plays it: simulated
//! clusters ([`crate::sim`]) and a simulated store, workers that run the production engine, and people who know nothing
//! of it. After each event the [`INVARIANTS`] are looked at: safety comes first, under all faults. Then the faults stop,
//! and within a bounded time everything has to be as it was wanted last, and nobody writes any more.
//!
//! One seed decides all of it, the order in which processes go on included, so what was found is found again.
//!
//! Who has a controller of their own runs it here, too: a [`Program`] is a function of [`Ports`]. And who has services over
//! app contexts lets people use those: an [`Api`] is what they ask with ([`run_through`]).

mod api;
mod engine;
mod events;
mod executor;
mod fate;
mod judge;
mod meddling;
mod people;
mod run;
mod scenario;
mod shrink;
mod store;
mod time;
mod wish;
mod world;

pub use api::{Api, AppContexts, Client, ClientPorts, Refused};
#[cfg(feature = "planted-faults")]
pub use engine::engine_without;
pub use engine::{engine, options};
pub use events::{Deed, Event, Halt, Handled, Sent, Told, Written};
pub use executor::{Executor, ProcessId, Step};
pub use fate::Death;
pub use judge::{INVARIANTS, Invariant, Scene, Violation};
pub use meddling::MEDDLER;
pub use run::{Summary, run, run_telling, run_through};
pub use scenario::{Act, Meddling, Scenario};
pub use shrink::shrink;
pub use store::{SimStore, StoreFaults, StoreSettings, StoreWitness};
pub use time::{Skew, VirtualClock};
pub use wish::{ADOPTED, COMMON, Variant, Wish, context_id, namespace};
pub use world::{Ports, Program, World};
