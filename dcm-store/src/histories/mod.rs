//! Random histories of a store, ours or yours, checked against the contract: what the [conformance suite](mod@crate::conformance) holds
//! of a store at rest, this holds of one that many use at once and whose server dies meanwhile.
//!
//! Clients read, list, create, compare and swap, delete and write batches, over a handful of paths so that they meet; followers
//! watch. What each of them asks follows from a seed and from what it was answered. Every document says which write it comes from,
//! so that each read tells which write it saw. All calls are recorded with the moments of their beginning and end, and [`check`] looks
//! whether the contract allows what was seen ([`Rule`]). A call that failed with `Unavailable`, or whose caller died,
//! may have happened, at any time after its beginning, or never.
//!
//! ```
//! # use std::sync::Arc;
//! # use async_trait::async_trait;
//! # use dcm_core::port::store::Store;
//! # use tokio::sync::OnceCell;
//! # static STORE: OnceCell<Arc<dyn Store>> = OnceCell::const_new();
//! # async fn connect(url: &str) -> Arc<dyn Store> {
//! #     STORE.get_or_init(async || dcm_store::open("memory:").await.unwrap()).await.clone()
//! # }
//! use dcm_store::histories::{Backend, Play, Progress, Seeded, seeds};
//!
//! struct MyServer {
//!     url: String,
//! }
//!
//! #[async_trait]
//! impl Backend for MyServer {
//!     async fn open(&self) -> Arc<dyn Store> {
//!         connect(&self.url).await
//!     }
//!
//!     async fn disturb(&self, mut progress: Progress, _seeded: Seeded) {
//!         progress.reach(50).await;
//!         // Kill the server here, and start it again.
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! # let url = String::new();
//! let server = Arc::new(MyServer { url });
//! for seed in seeds(20) {
//!     // A failure says the seed, the rule, and the calls that break it.
//!     Play::of(seed).run(server.clone()).await.unwrap_or_else(|failure| panic!("{failure}"));
//! }
//! # }
//! ```
//!
//! Other seeds: `FIRST_SEED=1000 cargo test --release …`. Any number of them for the stores of this crate:
//!
//! ```sh
//! DCM_PROVE_HISTORIES=500 cargo test --release -p dcm-store --all-features --test it histories::etcd
//! ```
//!
//! (or `histories::memory`, `histories::sqlite` and so on; all of them by `histories::`).
//!
//! A seed repeats what clients ask as long as they are answered alike; how their calls meet is up to the machine.

mod check;
mod content;
mod facts;
mod follower;
mod history;
mod moments;
mod play;
mod recorder;
mod search;
mod seeded;
mod shapes;
mod show;
mod versions;
mod watches;
mod workload;

#[cfg(test)]
mod tests;

use std::ops::Range;

pub use check::{Rule, Violation, check};
pub use content::WriteId;
pub use history::{
    Call, CallId, Client, Event, History, Moment, Outcome, Piece, Request, Session, Sighting, Told,
};
pub use play::{Backend, Cast, Failure, Followers, Play, Progress};
pub use recorder::{Recorder, Tape};
pub use seeded::Seeded;

/// This many seeds, from 1 or the number in the variable `FIRST_SEED` on.
///
/// # Panics
/// When the variable is set and not a number.
#[must_use]
pub fn seeds(number: u64) -> Range<u64> {
    let text = std::env::var("FIRST_SEED").ok();
    let first = text.map_or(1, |text| {
        text.parse().unwrap_or_else(|_| panic!("FIRST_SEED is {text:?}; a number is expected"))
    });
    first..first + number
}
