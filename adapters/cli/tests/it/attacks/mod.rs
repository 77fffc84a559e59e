//! Attacks on real API servers: what others can write on a cluster, in a store or in a registration is never proof.
//!
//! Each attacker has the least rights with which its attack can be tried.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod accounts;
mod attacker;
mod bindings;
mod copies;
mod copycat;
mod drift;
mod elsewhere;
mod generations;
mod heavy;
mod held;
mod kept;
mod marks;
mod next_account;
mod ownership;
mod registrars;
mod removed;
mod requests;
mod signers;
mod stolen;
mod store;
mod twins;
mod unserved;
mod victims;

use dcm_testenv::Environment;

/// The one API server that all these tests share, but for those that replace its keys.
async fn environment() -> Environment {
    Environment::group("attacks", 1).await.unwrap()
}
