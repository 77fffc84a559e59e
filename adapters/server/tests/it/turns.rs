//! All that looks at clusters for somebody who asks takes turns: one cluster has a share of them.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::sync::Arc;

use crate::common::slow::Slow;
use crate::common::{World, everything, kubeconfig, spec};
use dcm_core::logical_cloud::{Draft, Level};
use dcm_core::port::synchronizer::Disposal;
use dcm_core::preflight::Needs;
use dcm_core::secret::Secret;
use dcm_core::service::{Lapsed, Registration};
use dcm_server::Installation as _;
use dcm_sync::planning::Rehearsing;
use dcm_sync::sim::cluster_id;
use futures::future::{BoxFuture, FutureExt as _, join, join_all};
use serde_json::json;
use tokio::time::{Duration, Instant};

/// How many look at one cluster in one moment.
const OF_EACH_MAX: usize = 8;

/// How often each is asked for.
const ASKED: usize = 20;

#[tokio::test(start_paused = true)]
async fn whatever_looks_at_one_cluster_waits_for_its_turn_and_holds_up_no_other() {
    let mut slow = None;
    let world = World::with(2, |fleet| slow.insert(Arc::new(Slow::new(fleet))).clone()).await;
    let (slow, deployment) = (slow.unwrap(), &world.deployment);
    let (first, second) = (cluster_id(1), cluster_id(2));
    let spec = spec(&everything());
    let draft: &Draft = &serde_json::from_value(json!({"metadata": {"name": "c"}, "spec": spec})).unwrap();
    let registration = &Registration::new(first.clone(), Secret::new(kubeconfig(&json!({}))));
    let (needs, context) = (&Needs::of_level(Level::default()), &"unknown".parse().unwrap());
    let lapsed = &Lapsed {
        names: Vec::new(),
        namespaces: ["c".parse().unwrap()].into(),
        clusters: [first.clone()].into(),
        ended: None,
    };
    let (caller, project) = (&world.caller, &world.project);
    let rehearsing = Rehearsing::Writes;
    let asked = || -> [BoxFuture<'_, bool>; 6] {
        [
            deployment.plan_draft(caller, project, draft, rehearsing).map(|plan| plan.is_ok()).boxed(),
            deployment.inspect(registration, needs).map(|found| found.is_ok()).boxed(),
            deployment.identify(registration).map(|found| found.is_ok()).boxed(),
            deployment.other_bindings(lapsed).map(|found| found[&first].is_ok()).boxed(),
            deployment.orphans(&first).map(|found| found.is_ok()).boxed(),
            deployment
                .clear_orphans(caller, &first, context, Disposal::Delete)
                .map(|cleared| cleared.is_ok())
                .boxed(),
        ]
    };
    let all = join_all((0..ASKED).flat_map(|_| asked())).await;
    assert_eq!((all.len(), all.iter().all(|done| *done)), (6 * ASKED, true));
    assert_eq!(slow.opening_max(), OF_EACH_MAX);

    let began = Instant::now();
    let other = async {
        deployment.orphans(&second).await.unwrap();
        began.elapsed()
    };
    let (_, took) = join(join_all((0..ASKED).flat_map(|_| asked())), other).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
}
