//! The suite on the simulated clusters: in virtual time, far away, and in real time.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::app_context::Generation;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::{ContextId, OwnerId};
use dcm_core::port::cluster::{Call, Fence};
use serde_json::Value;

use super::subject::{key, kind};
use super::{OTHER_MANAGER, Other, OtherError, Subject};
use crate::sim::test_clock::TestClock;
use crate::sim::{Fleet, FleetBuilder, Latency, Settings, SimCluster, cluster_id};

struct Somebody(SimCluster);

#[async_trait]
impl Other for Somebody {
    async fn create(&self, body: &Value) -> Result<(), OtherError> {
        self.0.server(|server| server.create_as(OTHER_MANAGER, &kind(body), &key(body), body))?;
        Ok(())
    }

    async fn edit(&self, kind: &GroupVersionKind, key: &ObjectKey, patch: &Value) -> Result<(), OtherError> {
        self.0.server(|server| server.edit_as(OTHER_MANAGER, kind, key, patch))?;
        Ok(())
    }
}

fn subject(build: impl FnOnce(FleetBuilder) -> FleetBuilder) -> Subject {
    let clock = TestClock::new();
    let fleet = build(Fleet::builder(clock.clone()).clusters(1)).build();
    let cluster = fleet.cluster(&cluster_id(1)).unwrap().clone();
    Subject {
        cluster: Arc::new(cluster.clone()),
        other: Arc::new(Somebody(cluster)),
        clock,
        call: Call {
            owner: OwnerId::new("contract").unwrap(),
            context: Some(ContextId::new("contract").unwrap()),
            generation: Generation(1),
            fence: Fence(1),
        },
        prefix: "contract".into(),
        patience: Duration::from_secs(60),
    }
}

mod in_virtual_time {
    async fn subject() -> super::Subject {
        super::subject(|fleet| fleet)
    }

    crate::contract_tests!(subject, #[tokio::test(start_paused = true)]);
}

mod far_away {
    use super::{Duration, Latency};

    async fn subject() -> super::Subject {
        let latency = Latency { min: Duration::from_millis(50), max: Duration::from_millis(300) };
        super::subject(|fleet| fleet.seed(7).latency(latency))
    }

    crate::contract_tests!(subject, #[tokio::test(start_paused = true)]);
}

mod in_real_time {
    use super::{Duration, Settings};

    async fn subject() -> super::Subject {
        // Nobody wants to wait 5 s for each namespace.
        let settings = Settings { namespace_deletion: Duration::from_millis(100), ..Settings::default() };
        super::subject(|fleet| fleet.settings(settings))
    }

    crate::contract_tests!(subject);
}

#[test]
fn every_promise_is_in_the_macro() {
    let files = [
        include_str!("certificates.rs"),
        include_str!("cluster.rs"),
        include_str!("creation.rs"),
        include_str!("deletion.rs"),
        include_str!("namespaces.rs"),
        include_str!("release.rs"),
        include_str!("update.rs"),
        include_str!("watching.rs"),
    ];
    let listed = include_str!("mod.rs");
    let promises =
        files.iter().flat_map(|file| file.lines()).filter_map(|line| line.strip_prefix("pub async fn "));
    for promise in promises {
        let name = promise.split('(').next().unwrap();
        assert!(listed.contains(&format!("{name},\n")), "{name} is not in `contract_tests!`");
    }
}
