//! A part of an object of other clients is kept as it is wanted, every other byte of it is theirs, and in the end all of it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dcm_core::app_context::{Action, Change, DataMember, Edit, Resolver, Stage, Step};
use dcm_core::causes::Reader;
use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::{AppName, DnsZone};
use dcm_core::plan::{Act, LineChange, Outline, Rehearsal};
use dcm_core::port::cluster::Clusters;
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_core::status::{ContextStatus, Progress, Reason};
use dcm_sync::engine::{Engine, Options, What};
use dcm_sync::planning::Rehearsing;
use dcm_sync::sim::{SimCluster, cluster_id};
use dcm_sync::tap::{ClusterChange, Crossing, PortError, Tap, Tapped};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::fixture::*;

const STOCK: &str = ".:53 {\n    errors\n    kubernetes cluster.local\n    forward . /etc/resolv.conf\n}\n";

fn edit(resolver: Resolver) -> Step {
    let change = Change::StubDomain { zone: DnsZone::new("lc1").unwrap(), resolver };
    let (namespace, name, member) = ("kube-system".into(), "coredns".into(), "Corefile".into());
    let edit = Edit { target: DataMember { namespace, name, member }, change };
    Step { app: AppName::new("app").unwrap(), stage: Stage(1), action: Action::Edit { edit } }
}

fn at(address: &str) -> Step {
    edit(Resolver::Address(address.parse().unwrap()))
}

fn block(address: &str) -> String {
    format!(
        "# dcm begin lc-1\nlc1:53 {{\n    errors\n    cache 30\n    forward . {address}\n}}\n# dcm end lc-1\n"
    )
}

/// What becomes of the answer to an edit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Given,
    Lost,
    Awaited,
}

/// Stands before each edit.
struct Edits<F> {
    meets: F,
    cluster: SimCluster,
}

impl<F: Fn(&SimCluster) -> Answer + Send + Sync + 'static> Tap for Edits<F> {
    async fn pass<T: Send, E: PortError>(
        &self,
        crossing: Crossing<'_>,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        let is_edit = matches!(crossing, Crossing::Change(_, ClusterChange::SetPart(..)));
        let answer = if is_edit { (self.meets)(&self.cluster) } else { Answer::Given };
        let result = call.await;
        match answer {
            Answer::Given => result,
            Answer::Lost => Err(E::lost()),
            Answer::Awaited => std::future::pending().await,
        }
    }
}

fn write(cluster: &SimCluster, text: &str) {
    let (kind, key) = config_map("kube-system", "coredns");
    let patch = json!({"data": {"Corefile": text}});
    cluster.server(|server| server.edit_as("kubectl-edit", &kind, &key, &patch)).unwrap();
}

fn current(cluster: &SimCluster) -> String {
    let (_, key) = config_map("kube-system", "coredns");
    let found = cluster.server(|server| server.objects().find(|object| object.key == key)).unwrap();
    found.body["data"]["Corefile"].as_str().unwrap().to_owned()
}

struct Scene {
    world: World,
    cluster: SimCluster,
    engine: Engine,
}

impl Scene {
    /// A cluster with the Corefile of its distribution.
    fn new() -> Self {
        Self::with(|_| Answer::Given).0
    }

    /// The same with an engine whose edits meet this before they reach the cluster, and the task of the engine.
    fn with(meets: impl Fn(&SimCluster) -> Answer + Send + Sync + 'static) -> (Self, JoinHandle<()>) {
        let world = World::new(1);
        let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
        let (kind, key) = config_map("kube-system", "coredns");
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coredns", "namespace": "kube-system"},
            "data": {"Corefile": STOCK, "NodeHosts": "10.0.0.5 node"}});
        cluster.server(|server| server.create_as("kubeadm", &kind, &key, &body)).unwrap();
        let edits = Edits { meets, cluster: cluster.clone() };
        let clusters = Arc::new(Tapped::new(world.fleet.clone() as Arc<dyn Clusters>, Arc::new(edits)));
        let (engine, task) = world.engine_between(world.store.clone(), clusters, Options::default());
        (Self { world, cluster, engine }, task)
    }

    async fn apply(&self, steps: Vec<Step>) {
        self.engine.contexts().apply(&context(steps, [1])).await.unwrap();
    }

    async fn remove(&self) {
        self.engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
        done(&self.engine, &context_id()).await;
    }

    fn corefile(&self) -> String {
        let (kind, key) = config_map("kube-system", "coredns");
        let body = self.world.body(1, &kind, &key).unwrap();
        assert_eq!(body["data"]["NodeHosts"], "10.0.0.5 node", "what others have beside it stays");
        assert_eq!(body["metadata"]["labels"], json!(null), "it gets no marks of ours");
        body["data"]["Corefile"].as_str().unwrap().to_owned()
    }

    /// Another client writes the Corefile.
    fn write(&self, text: &str) {
        write(&self.cluster, text);
    }

    async fn cause(&self) -> (Progress, Option<Reason>) {
        let status = self.engine.contexts().status(&context_id()).await.unwrap().unwrap();
        (status.progress, status.lanes[&cluster_id(1)].cause.as_ref().map(|cause| cause.reason))
    }

    async fn until_cause(&self, reason: Reason) {
        until(&self.engine, |status| {
            status
                .lanes
                .get(&cluster_id(1))
                .and_then(|lane| lane.cause.as_ref())
                .is_some_and(|cause| cause.reason == reason)
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_stub_domain_is_put_in_followed_to_a_new_address_and_taken_out_to_the_byte() {
    let scene = Scene::new();
    scene.apply(vec![apply(0, namespace_body("team")), at("10.96.0.77:53")]).await;
    done(&scene.engine, &context_id()).await;
    assert_eq!(scene.corefile(), block("10.96.0.77:53") + STOCK);

    assert!(!scene.engine.metrics().await.unwrap().events.contains_key("drifted"), "it was not taken out");

    let writes = scene.world.writes();
    scene.apply(vec![apply(0, namespace_body("team")), at("10.96.0.77:53")]).await;
    done(&scene.engine, &context_id()).await;
    assert_eq!(scene.world.writes(), writes, "what is so already is not written");

    scene.apply(vec![apply(0, namespace_body("team")), at("10.96.0.78:53")]).await;
    done(&scene.engine, &context_id()).await;
    assert_eq!(scene.corefile(), block("10.96.0.78:53") + STOCK);

    // What others add meanwhile is theirs and stays.
    let added = format!("{}# ours\n", scene.corefile());
    scene.write(&added);
    scene.remove().await;
    assert_eq!(scene.corefile(), format!("{STOCK}# ours\n"));
    assert_eq!(scene.world.owned(1), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_plan_shows_the_lines_that_an_edit_would_change() {
    let scene = Scene::new();
    let lines = async |steps: Vec<Step>| {
        let planned =
            scene.engine.planner().plan_one(context(steps, [1]), Rehearsing::Nothing).await.unwrap();
        let Outline::Steps(steps) = planned.outline(Reader::PlatformAdmin).remove(&cluster_id(1)).unwrap()
        else {
            panic!("the cluster is there");
        };
        steps.into_iter().map(|step| (step.action, step.object, step.rehearsal)).collect::<Vec<_>>()
    };
    let expected = |removed: &[&str], line: usize, added: &[&str]| {
        let texts = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let change =
            LineChange { member: "Corefile".to_owned(), line, removed: texts(removed), added: texts(added) };
        [(Act::Edit, "ConfigMap kube-system/coredns".to_owned(), Some(Rehearsal::Lines(change)))]
    };
    let one = block("10.96.0.77:53");
    let block_lines: Vec<&str> = one.lines().collect();
    assert_eq!(lines(vec![at("10.96.0.77:53")]).await, expected(&[], 1, &block_lines));
    assert_eq!(scene.corefile(), STOCK, "a plan changes nothing");
    scene.apply(vec![at("10.96.0.77:53")]).await;
    done(&scene.engine, &context_id()).await;
    assert_eq!(lines(vec![at("10.96.0.77:53")]).await, []);
    let (old, new) = ("    forward . 10.96.0.77:53", "    forward . 10.96.0.78:53");
    assert_eq!(lines(vec![at("10.96.0.78:53")]).await, expected(&[old], 5, &[new]));
    assert_eq!(lines(Vec::new()).await, expected(&block_lines, 1, &[]));
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_is_left_out_of_the_next_state_is_undone() {
    let scene = Scene::new();
    scene.apply(vec![apply(0, namespace_body("team")), at("10.96.0.77:53")]).await;
    done(&scene.engine, &context_id()).await;
    scene.apply(vec![apply(0, namespace_body("team"))]).await;
    done(&scene.engine, &context_id()).await;
    assert_eq!(scene.corefile(), STOCK);
}

#[tokio::test(start_paused = true)]
async fn what_others_take_out_comes_back_though_no_watch_reports_it() {
    let scene = Scene::new();
    scene.apply(vec![at("10.96.0.77:53")]).await;
    done(&scene.engine, &context_id()).await;
    scene.write(STOCK);
    let expected = block("10.96.0.77:53") + STOCK;
    until_so(|| scene.corefile() == expected).await;
    done(&scene.engine, &context_id()).await;
}

#[tokio::test(start_paused = true)]
async fn a_text_that_can_not_be_changed_safely_waits_with_its_cause_and_goes_on_when_it_is_mended() {
    let scene = Scene::new();
    let theirs = format!("{STOCK}lc1:53 {{\n    forward . 192.0.2.1\n}}\n");
    scene.write(&theirs);
    scene.apply(vec![apply(0, namespace_body("team")), at("10.96.0.77:53")]).await;
    scene.until_cause(Reason::LeftAlone).await;
    assert_eq!(scene.corefile(), theirs);
    scene.write(STOCK);
    until(&scene.engine, |status| status.progress == Progress::Done).await;
    assert_eq!(scene.corefile(), block("10.96.0.77:53") + STOCK);
    assert_eq!(scene.cause().await, (Progress::Done, None));
}

#[tokio::test(start_paused = true)]
async fn an_edit_waits_for_the_address_of_a_service_and_follows_it() {
    let scene = Scene::new();
    let resolver = Resolver::Service { namespace: "kube-system".into(), name: "istiocoredns".into() };
    scene.apply(vec![edit(resolver)]).await;
    scene.until_cause(Reason::Waiting).await;
    assert_eq!(scene.corefile(), STOCK);
    let kind = GroupVersionKind::new("", "v1", "Service");
    let key = dcm_core::manifest::ObjectKey::of_kind(&kind, Some("kube-system"), "istiocoredns");
    let body = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "istiocoredns", "namespace": "kube-system"},
        "spec": {"clusterIP": "10.96.0.9"}});
    scene.cluster.server(|server| server.create_as("istio", &kind, &key, &body)).unwrap();
    done(&scene.engine, &context_id()).await;
    assert_eq!(scene.corefile(), block("10.96.0.9:53") + STOCK);
    let moved = json!({"spec": {"clusterIP": "10.96.0.10"}});
    scene.cluster.server(|server| server.edit_as("istio", &kind, &key, &moved)).unwrap();
    until_so(|| scene.corefile() == block("10.96.0.10:53") + STOCK).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_changes_the_text_all_the_time_loses_nothing() {
    const CHANGES: usize = 200;
    const IN_A_ROW: usize = 10;
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    // Of eleven tries, ten meet a change that was made since the text was read.
    let (scene, _) = Scene::with(move |cluster| {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        if number % (IN_A_ROW + 1) < IN_A_ROW && number < CHANGES / IN_A_ROW * (IN_A_ROW + 1) {
            write(cluster, &format!("{}# change {number}\n", current(cluster)));
        }
        Answer::Given
    });
    for round in 0..CHANGES / IN_A_ROW {
        scene.apply(vec![at(&format!("10.96.0.{}:53", 1 + round))]).await;
        done(&scene.engine, &context_id()).await;
        assert_eq!(tries.load(Ordering::Relaxed), (round + 1) * (IN_A_ROW + 1));
    }
    assert!(scene.corefile().starts_with(&block("10.96.0.20:53")));
    scene.remove().await;
    let numbers = (0..).filter(|number| number % (IN_A_ROW + 1) < IN_A_ROW).take(CHANGES);
    let changes: String = numbers.map(|number| format!("# change {number}\n")).collect();
    assert_eq!(scene.corefile(), STOCK.to_owned() + &changes);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_dies_right_after_the_write_leaves_nothing_that_the_next_one_does_not_undo() {
    let (scene, task) = Scene::with(|_| Answer::Awaited);
    scene.apply(vec![at("10.96.0.77:53")]).await;
    until_so(|| scene.corefile() != STOCK).await;
    task.abort();
    let next = scene.world.engine();
    next.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&next, &context_id()).await;
    assert_eq!(scene.corefile(), STOCK);
}

#[tokio::test(start_paused = true)]
async fn a_write_without_an_answer_is_found_and_not_made_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let (scene, _) = Scene::with(move |_| match counted.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::Lost,
        _ => Answer::Given,
    });
    scene.apply(vec![at("10.96.0.77:53")]).await;
    done(&scene.engine, &context_id()).await;
    assert_eq!(scene.corefile(), block("10.96.0.77:53") + STOCK);
    assert_eq!(tries.load(Ordering::Relaxed), 1);
}

fn whole() -> Step {
    apply(
        1,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coredns", "namespace": "kube-system"},
        "data": {"Corefile": "ours"}}),
    )
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_edited_and_then_desired_as_a_whole_is_refused_as_foreign_and_the_other_way_goes_on()
 {
    let scene = Scene::new();
    scene.apply(vec![at("10.96.0.77:53")]).await;
    done(&scene.engine, &context_id()).await;
    scene.apply(vec![whole()]).await;
    scene.until_cause(Reason::Foreign).await;
    scene.apply(vec![at("10.96.0.78:53")]).await;
    until(&scene.engine, |status| status.progress == Progress::Done).await;
    assert_eq!(scene.corefile(), block("10.96.0.78:53") + STOCK);
}

#[tokio::test(start_paused = true)]
async fn lines_that_were_torn_apart_keep_nothing_else_from_being_removed() {
    let scene = Scene::new();
    scene.apply(vec![apply(0, namespace_body("team")), at("10.96.0.77:53")]).await;
    done(&scene.engine, &context_id()).await;
    let torn = scene.corefile().replace("# dcm end lc-1\n", "");
    scene.write(&torn);
    scene.engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    scene.until_cause(Reason::LeftAlone).await;
    until_so(|| scene.world.owned(1).is_empty()).await;
    assert_eq!(scene.corefile(), torn);
    scene.write(STOCK);
    until(&scene.engine, |status| status.progress == Progress::Done).await;
}

#[tokio::test(start_paused = true)]
async fn what_others_take_out_again_and_again_is_let_be_and_its_status_says_so_without_a_write() {
    let scene = Scene::new();
    scene.apply(vec![at("10.96.0.77:53")]).await;
    done(&scene.engine, &context_id()).await;
    let mut events = scene.engine.events();
    for _ in 0..Options::default().corrections_max {
        scene.write(STOCK);
        event(&mut events, |what| matches!(what, What::Edited(_))).await;
        assert_eq!(scene.corefile(), block("10.96.0.77:53") + STOCK);
    }
    scene.write(STOCK);
    let is_drifted = |status: &ContextStatus| {
        let cause = status.lanes[&cluster_id(1)].cause.as_ref().map(|cause| cause.reason);
        (status.progress, cause) == (Progress::Done, Some(Reason::Drifted))
    };
    until(&scene.engine, is_drifted).await;
    let events = scene.engine.metrics().await.unwrap().events;
    let changed = until(&scene.engine, |status| !is_drifted(status));
    assert!(tokio::time::timeout(Duration::from_secs(200), changed).await.is_err(), "it stays so");
    assert_eq!(scene.corefile(), STOCK);
    assert_eq!(scene.engine.metrics().await.unwrap().events, events);
}
