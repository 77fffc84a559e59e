//! Every decision is kept, with who made it and why, before it has an effect and after it.

use std::collections::BTreeMap;
use std::sync::Arc;

use dcm_core::audit::{ROOM, Recorded, StoredAudit};
use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::port::audit::{Action, Decision, Outcome};
use dcm_core::port::store::{Document, Entry, StoreExt as _, Write};
use dcm_core::port::synchronizer::STOP_LIMIT;
use dcm_core::secret::Secret;
use dcm_core::service::{Caller, Error, Remains};
use dcm_store::memory::Fault;
use serde_json::{Value, json};

use crate::service::support::{World, cluster, draft, name, registration, user};

/// The same world, whose decisions are kept in its store.
fn audited(world: World) -> (World, StoredAudit) {
    let log = StoredAudit::new(world.store.clone(), world.random.clone());
    let kept = Arc::new(log.clone());
    let world = World {
        clouds: world.clouds.clone().audited_by(kept.clone()),
        clusters: world.clusters.clone().audited_by(kept.clone()),
        projects: world.projects.clone().audited_by(kept.clone()),
        providers: world.providers.clone().audited_by(kept.clone()),
        controllers: world.controllers.clone().audited_by(kept),
        ..world
    };
    (world, log)
}

async fn all(log: &StoredAudit) -> Vec<Recorded> {
    log.read(None, |_| true).await.unwrap().entries
}

/// What was asked for, and what came of it.
fn told(entry: &Recorded) -> (Action, &str) {
    let result = match entry.ended.as_ref().map(|ended| &ended.outcome) {
        None => "open",
        Some(Outcome::Accepted { generation: None }) => "accepted",
        Some(Outcome::Accepted { generation: Some(_) }) => "brought to clusters",
        Some(Outcome::Unchanged) => "unchanged",
        Some(Outcome::Refused { .. }) => "refused",
        Some(Outcome::Failed { .. }) => "failed",
    };
    (entry.asked.action, result)
}

/// All documents but the log's.
async fn others(world: &World) -> BTreeMap<String, Value> {
    let mut documents = world.documents().await;
    documents.retain(|path, _| !path.starts_with("audit/"));
    documents
}

async fn live(world: &World) {
    let (caller, project, shop) = (&world.caller, &world.project, &name("shop"));
    world.put(draft()).await.unwrap();
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    world.clouds.stop(caller, project, shop, STOP_LIMIT).await.unwrap();
    world.clouds.resume(caller, project, shop).await.unwrap();
    world.engine.finish();
    world.delete("shop").await.unwrap_err();
    world.clouds.renew(caller, project, shop, None).await.unwrap();
    world.clouds.renew(caller, project, shop, Some(&name("ann"))).await.unwrap();
    world.clouds.revoke(caller, project, shop, &name("ann")).await.unwrap();
    world.engine.finish();
    world.clouds.reconcile(caller, project, shop).await.unwrap();
    world.terminate("shop").await.unwrap();
    world.engine.finish();
    world.delete("shop").await.unwrap();
    world.clusters.remove(caller, &cluster("one"), Remains::Refuse).await.unwrap();
    world.projects.delete(caller, project).await.unwrap();
}

#[tokio::test]
async fn every_decision_is_kept_with_who_why_and_what_came_of_it() {
    let (world, log) = audited(World::empty(false));
    let project = MetadataDraft { name: "retail".into(), ..MetadataDraft::default() };
    world.projects.create(&world.caller, project).await.unwrap();
    for name in ["one", "two", "three"] {
        world.clusters.add(&world.caller, registration(name, &[])).await.unwrap();
    }
    live(&world).await;
    let entries = all(&log).await;
    use Action::*;
    let expected = [
        (PutProject, "accepted"),
        (RegisterCluster, "accepted"),
        (RegisterCluster, "accepted"),
        (RegisterCluster, "accepted"),
        (Put, "accepted"),
        (Put, "unchanged"),
        (Apply, "brought to clusters"),
        (Stop, "accepted"),
        (Resume, "accepted"),
        (Delete, "refused"),
        // Nobody's credentials were due: nothing was decided.
        (Renew, "brought to clusters"),
        (Revoke, "brought to clusters"),
        (Reconcile, "brought to clusters"),
        (Terminate, "brought to clusters"),
        (Delete, "accepted"),
        (RemoveCluster, "accepted"),
        (DeleteProject, "accepted"),
    ];
    assert_eq!(entries.iter().map(told).collect::<Vec<_>>(), expected);
    for Recorded { asked, .. } in &entries {
        assert_eq!((&*asked.who, &*asked.why, &*asked.request_id), ("tester", "to see", "r-1"));
    }
    let revoked = &entries[11].asked;
    assert_eq!(revoked.about.users, [name("ann")].into());
    assert!(revoked.context.as_ref().is_some_and(|context| context.as_str().contains("shop")));
    // Only the log is left, and the clusters with their provider.
    let is_of_clusters = |path: &str| path.starts_with("clusters/") || path == "cluster-providers/sim";
    assert!(others(&world).await.keys().all(|path| is_of_clusters(path)));
}

#[tokio::test]
async fn each_hand_out_is_an_entry_with_its_user_and_clusters_and_none_is_made_that_the_log_does_not_know_of()
{
    let (world, log) = audited(World::new(false).await);
    world.instantiated().await;
    let (clouds, caller, project, shop) = (&world.clouds, &world.caller, &world.project, &name("shop"));
    let (ann, reference) = (&name("ann"), &name("r1"));
    let before = all(&log).await.len();
    let given = clouds.hand_out(caller, project, shop, Some(ann), None).await.unwrap();
    assert_eq!(given.clusters, [cluster("one"), cluster("two")].into());
    clouds.hand_out(caller, project, shop, Some(ann), Some(reference)).await.unwrap();
    let credential = clouds.hand_out_credential(caller, project, shop, ann, reference).await.unwrap();
    clouds.hand_out(caller, project, shop, Some(&name("zoe")), None).await.unwrap_err();
    let entries = all(&log).await.split_off(before);
    let expected = [
        ("kubeconfig", [cluster("one"), cluster("two")].into()),
        ("kubeconfig", [cluster("one")].into()),
        ("credential", [cluster("one")].into()),
    ];
    assert_eq!(entries.len(), expected.len());
    for (entry, (what, clusters)) in entries.iter().zip(expected) {
        assert_eq!(told(entry), (Action::HandOut, "accepted"));
        let about = &entry.asked.about;
        assert_eq!((&about.project, &about.cloud), (&Some(project.clone()), &Some(shop.clone())));
        assert_eq!((&about.users, &about.clusters, &*about.detail), (&[ann.clone()].into(), &clusters, what));
        assert_eq!((&*entry.asked.who, &*entry.asked.why), ("tester", "to see"));
    }
    let text = serde_json::to_string(&entries).unwrap();
    assert!(credential.expose().contains("PRIVATE KEY") && !text.contains("PRIVATE KEY"), "{text}");

    // What is only read is in no entry.
    clouds.kubeconfigs(project, shop, Some(ann), None).await.unwrap();
    assert_eq!(all(&log).await.len(), before + entries.len());
    world.random.freeze();
    clouds.hand_out(caller, project, shop, Some(ann), None).await.unwrap();
    let refused = clouds.hand_out(caller, project, shop, Some(ann), None).await.unwrap_err();
    assert!(matches!(refused, Error::Audit(_)), "{refused}");
    let refused = clouds.hand_out_credential(caller, project, shop, ann, reference).await.unwrap_err();
    assert!(matches!(refused, Error::Audit(_)), "{refused}");
}

#[tokio::test]
async fn no_entry_holds_a_secret() {
    let (world, log) = audited(World::new(false).await);
    world.replace_kubeconfig("one", Secret::new("no: kubeconfig")).await.unwrap_err();
    live(&world).await;
    let text = serde_json::to_string(&all(&log).await).unwrap();
    assert!(text.contains("kubeconfig") && text.contains("refused"), "{text}");
    for secret in ["admin-token-of-nobody-else", "PRIVATE KEY", "$secret", "no: kubeconfig"] {
        assert!(!text.contains(secret), "{secret}");
    }
}

/// Cuts a call off at each of its writes.
async fn cut_off_at_each_write(fault: Fault) {
    for writes in 0.. {
        let (world, log) = audited(World::new(false).await);
        world.put(draft()).await.unwrap();
        let (before, entries) = (others(&world).await, all(&log).await.len());
        world.store.fail_after(writes, fault, true);
        let applied = world.apply("shop").await;
        world.store.start_again();
        let (after, kept) = (others(&world).await, all(&log).await);
        if !world.store.has_failed() {
            assert!(applied.is_ok() && writes > 5, "{writes}");
            return;
        }
        let is_kept = kept.len() == entries + 1;
        assert!(is_kept || before == after, "write {writes}: something changed, and nobody knows who asked");
        match kept.get(entries) {
            // Where the log could not be told, it says that it does not know.
            Some(entry) if told(entry).1 == "open" => assert_eq!(entry.asked.action, Action::Apply),
            Some(entry) => {
                assert_eq!(told(entry), (Action::Apply, "brought to clusters"), "write {writes}");
                assert!(applied.is_ok(), "write {writes}: {applied:?}");
            }
            None => assert!(matches!(applied, Err(Error::Audit(_))), "write {writes}: {applied:?}"),
        }
        // Whoever asks again gets what was asked for, in an entry of its own.
        world.apply("shop").await.unwrap();
        assert_eq!(all(&log).await.len(), kept.len() + 1);
    }
}

#[tokio::test]
async fn nothing_changes_that_no_entry_asked_for_wherever_a_call_is_cut_off() {
    cut_off_at_each_write(Fault::NotWritten).await;
    cut_off_at_each_write(Fault::Unanswered).await;
}

#[tokio::test]
async fn an_entry_is_never_replaced_also_where_names_collide() {
    let (world, log) = audited(World::new(false).await);
    // At one moment, and with the same random number each time.
    world.random.freeze();
    world.put(draft()).await.unwrap();
    let first = all(&log).await;
    let other = Caller::new("somebody else");
    let refused = world.clouds.apply(&other, &world.project, &name("shop")).await.unwrap_err();
    assert!(matches!(refused, Error::Audit(_)) && refused.to_string().contains("nothing was changed"));
    assert_eq!(all(&log).await, first);
}

#[tokio::test]
async fn entries_are_read_in_the_order_of_their_times_from_a_time_on_and_deleted_by_whole_days() {
    let (world, log) = audited(World::new(false).await);
    let times =
        ["2026-01-30T23:59:59Z", "2026-01-31T08:00:00Z", "2026-01-31T20:00:00Z", "2026-02-01T00:00:00Z"];
    for (index, time) in times.into_iter().enumerate() {
        world.at(time);
        let mut draft = draft();
        draft["spec"]["users"].as_array_mut().unwrap().push(user(&format!("user-{index}")));
        world.put(draft).await.unwrap();
    }
    let times_of = |entries: Vec<Recorded>| -> Vec<String> {
        entries.into_iter().map(|entry| entry.asked.at.to_string()).collect()
    };
    assert_eq!(times_of(all(&log).await), times);
    let since = log.read(Some(times[2].parse().unwrap()), |_| true).await.unwrap();
    assert_eq!(times_of(since.entries), times[2..]);
    // Both halves of each.
    let horizon = StoredAudit::horizon("2026-02-28T12:00:00Z".parse().unwrap(), 28);
    assert_eq!(log.delete_before(horizon).await.unwrap(), 2);
    assert_eq!(times_of(all(&log).await), times[1..]);
    assert_eq!(log.delete_before(horizon).await.unwrap(), 0);
    let shop = log.read(None, |asked| asked.about.cloud == Some(name("other"))).await.unwrap().entries;
    assert_eq!(json!(shop), json!([]));
}

#[tokio::test]
async fn pages_of_the_log_go_on_where_the_one_before_ended() {
    let (world, log) = audited(World::new(true).await);
    for number in 0..5 {
        let draft = json!({"metadata": {"name": format!("cloud-{}", number % 2)}});
        world.put(draft).await.unwrap();
    }
    let pages = async |limit: usize, wanted: fn(&Decision) -> bool| {
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let page = log.page(after.as_ref(), limit, wanted).await.unwrap();
            assert!(page.entries.len() <= limit && page.broken.is_empty());
            pages.push(page.entries);
            after = page.next;
            if after.is_none() {
                return pages;
            }
        }
    };
    let everything = all(&log).await;
    assert!(everything.iter().all(|entry| entry.ended.is_some()));
    let sizes: Vec<usize> = pages(2, |_| true).await.iter().map(Vec::len).collect();
    assert_eq!(sizes, [2, 2, 1]);
    assert_eq!(pages(2, |_| true).await.concat(), everything);
    let first = |asked: &Decision| asked.about.cloud == Some(name("cloud-0"));
    assert_eq!(pages(1, first).await.concat().len(), 3);
}

#[tokio::test]
async fn an_entry_that_can_not_be_read_is_told_beside_the_others() {
    let (world, log) = audited(World::new(true).await);
    for name in ["a", "b"] {
        world.put(json!({"metadata": {"name": name}})).await.unwrap();
    }
    let halves = world.store.list_all(&ROOM.below(&[])).await.unwrap();
    let document = Document::from_value(&json!({"schema": 1})).unwrap();
    let Entry { path, version, .. } = halves[0].clone();
    world.store.write_one(Write::Update { path: path.clone(), version, document }).await.unwrap();
    let read = log.read(None, |_| true).await.unwrap();
    assert_eq!(read.entries.len(), 1);
    assert_eq!(read.broken.iter().map(|one| &one.path).collect::<Vec<_>>(), [&path]);
    assert!(read.broken[0].reason.starts_with(&format!("{path} can't be read: ")), "{:?}", read.broken);
}
