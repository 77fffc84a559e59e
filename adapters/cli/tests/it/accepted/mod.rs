//! A server ends while 200 changes are under way, by itself or killed: what was answered is there when it is back, as a whole, and nothing
//! is half there. `DCM_PROVE_ACCEPTED=20` ends it so many times in each way; `DCM_SEED=…` at the moments of a run that failed.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod asked;
use crate::common;
mod installation;
mod moments;

use common::User;
use dcm_testenv::Standalone;
use dcm_testenv::effort::{budget, seed};
use installation::{End, Installed};
use moments::Moments;

fn holds_what_was_answered(store: &str) {
    let mut moments = Moments::begin(seed("accepted"));
    let mut installed = Installed::begin(User::new(), store);
    // So many times it ends in each way.
    for _ in 0..budget("accepted", 1, 20) {
        for end in [End::Asked, End::Killed] {
            installed = installed.outlives(end, &mut moments);
        }
    }
}

#[test]
fn what_was_answered_is_in_the_file_when_the_server_is_back() {
    holds_what_was_answered("sqlite:store.db");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_is_in_etcd_when_the_server_is_back() {
    let etcd = Standalone::etcd().await.unwrap();
    holds_what_was_answered(&format!("etcd://{}?timeout=60", etcd.address()));
}
