//! Stores that were broken by hand: each rule finds what it is about, and nothing else does.

use dcm_core::check::Rule;
use dcm_core::port::store::{Entry, Prefix, Store as _, StoreExt as _};
use dcm_store::transfer::export;
use futures::TryStreamExt as _;
use serde_json::{Value, json};

use crate::check::store::{Installation, named};

/// The room of a path, and what is wrong there.
type Expected = (&'static str, Rule);

/// What is found, as the rooms of the paths with the rules, is this.
async fn finds(installation: &Installation, expected: &[Expected]) {
    let found = installation.check().await.findings;
    let rooms = found.iter().map(|finding| (crate::check::store::room(&finding.path), finding.rule));
    let rooms: Vec<(String, Rule)> = rooms.collect();
    let expected: Vec<(String, Rule)> =
        expected.iter().map(|(room, rule)| ((*room).to_owned(), *rule)).collect();
    assert_eq!(rooms, expected, "{found:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_path_of_no_room_and_one_that_is_not_as_its_room_says() {
    let store = Installation::at_rest().await;
    store.create("nonsense/x", &json!({})).await;
    store.create("contexts/team/other", &json!({"schema": 1})).await;
    store.create("claims/only", &json!({"schema": 1})).await;
    store.create("snapshots/p/c/none/1", &json!({"schema": 1})).await;
    store.create("audit/2026-01-01/x/neither", &json!({"schema": 1})).await;
    let rooms = ["audit", "claims", "contexts", "nonsense", "snapshots"];
    finds(&store, &rooms.map(|room| (room, Rule::UnknownPath))).await;
}

#[tokio::test(start_paused = true)]
async fn documents_of_a_later_schema() {
    let store = Installation::at_rest().await;
    let rooms = [
        "audit",
        "claims",
        "clusters",
        "context-owners",
        "contexts",
        "credentials",
        "handed-out",
        "lanes",
        "logical-clouds",
        "manifests",
        "parts",
        "projects",
        "results",
        "shards",
        "snapshots",
    ];
    for room in rooms {
        store.edit(&format!("{room}/"), "", |value| value["schema"] = json!(2)).await;
    }
    finds(&store, &rooms.map(|room| (room, Rule::UnknownSchema))).await;
}

#[tokio::test(start_paused = true)]
async fn documents_that_are_none() {
    for text in ["{", "null", r#"{"schema":1}"#, r#"{"schema":1,"$sealed":{"key":"k1"}}"#] {
        let store = Installation::at_rest().await;
        let rooms = ["clusters", "contexts", "credentials", "lanes", "logical-clouds", "shards"];
        for room in rooms {
            let entry = store.entry(&format!("{room}/"), "").await;
            match text.contains("sealed") {
                true => store.forge(&entry, text).await,
                false => store.replace(&entry, text).await,
            }
        }
        let rule = if text.contains("sealed") { Rule::Unopened } else { Rule::Unreadable };
        finds(&store, &rooms.map(|room| (room, rule))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn documents_that_no_key_verifies_name_their_key() {
    let store = Installation::at_rest().await;
    let found = store.check_with("other").await.findings;
    assert_eq!(found.len(), store.kept.list_all(&Prefix::everything()).await.unwrap().len());
    for finding in found {
        assert_eq!(finding.rule, Rule::Unopened);
        assert!(finding.what.contains("there is no key \"k1\""), "{}", finding.what);
    }
}

/// Documents of two rooms that a writer without the keys has swapped, edited or stripped of their MAC are named, and no others.
#[tokio::test(start_paused = true)]
async fn documents_that_a_writer_without_the_keys_has_changed() {
    let store = Installation::at_rest().await;
    let raw = async |entry: &Entry| store.kept.get(&entry.path).await.unwrap().unwrap();
    let [cluster, ann, claim] = [
        raw(&store.entry("clusters/", "").await).await,
        raw(&store.entry("credentials/", "/ann").await).await,
        raw(&store.entry("claims/", "").await).await,
    ];
    store.forge(&cluster, ann.document.as_str()).await;
    store.forge(&ann, &ann.document.as_str().replace("certificate", "token")).await;
    let mut stripped: Value = claim.document.read().unwrap();
    stripped.as_object_mut().unwrap().remove("$mac").unwrap();
    store.forge(&claim, &stripped.to_string()).await;
    finds(&store, &["claims", "clusters", "credentials"].map(|room| (room, Rule::Unopened))).await;
    let found = store.check().await.findings;
    assert!(found[0].what.contains("has no MAC") && found[1].what.contains("does not match"), "{found:#?}");
}

#[tokio::test(start_paused = true)]
async fn documents_that_were_changed_under_the_name_of_their_content() {
    let store = Installation::at_rest().await;
    store.edit("parts/p/c", "", |value| value["name"] = json!("other")).await;
    store.edit("snapshots/", "", |value| value["number"] = json!(7)).await;
    store.edit("manifests/", "", |value| value["manifest"]["metadata"]["labels"] = json!({"a": "b"})).await;
    finds(&store, &["manifests", "parts", "snapshots"].map(|room| (room, Rule::Altered))).await;
}

#[tokio::test(start_paused = true)]
async fn documents_that_say_that_they_are_others() {
    let store = Installation::at_rest().await;
    store.edit("projects/", "", |value| value["metadata"]["name"] = json!("q")).await;
    store.edit("clusters/", "", |value| value["id"] = json!("sim/other")).await;
    store.edit("context-owners/", "", |value| value["cloud"] = json!("other")).await;
    store.edit("credentials/", "/ci", |value| value["user"] = json!("bob")).await;
    store.edit("handed-out/", "", |value| value["user"] = json!("bob")).await;
    store.edit("results/", "", |value| value["name"] = json!("certificate/bob/1/1")).await;
    let rooms = ["clusters", "context-owners", "credentials", "handed-out", "projects", "results"];
    finds(&store, &rooms.map(|room| (room, Rule::Misplaced))).await;
}

#[tokio::test(start_paused = true)]
async fn parts_that_make_no_cloud_and_a_kubeconfig_that_is_none() {
    let store = Installation::at_rest().await;
    let list = json!({"schema": 1, "parts": []});
    let id = named(1, &list);
    let contents = store.entry("parts/p/c/", "").await;
    let folder = contents.path.segments().take(4).collect::<Vec<_>>().join("/");
    store.create(&format!("{folder}/contents/all/{id}"), &list).await;
    store.edit("logical-clouds/", "", |value| value["contents"] = json!(id)).await;
    let secret = json!({"$secret": "hunter2"});
    let cluster = store.entry("clusters/", "").await;
    let mut value: Value = cluster.document.read().unwrap();
    value["kubeconfig"] = secret;
    store.replace(&cluster, &value.to_string()).await;
    finds(&store, &[("clusters", Rule::Invalid), ("logical-clouds", Rule::Invalid)]).await;
    assert!(!format!("{:?}", store.check().await).contains("hunter2"));
}

#[tokio::test(start_paused = true)]
async fn what_is_named_and_not_there() {
    let table: [(&str, &str, &[Expected]); 9] = [
        ("projects/", "", &[("logical-clouds", Rule::Missing)]),
        ("snapshots/", "", &[("logical-clouds", Rule::Missing)]),
        ("context-owners/", "", &[("logical-clouds", Rule::Missing)]),
        ("credentials/", "/ann", &[("snapshots", Rule::Missing)]),
        ("manifests/", "", &[("contexts", Rule::Missing)]),
        ("claims/", "", &[("contexts", Rule::Missing)]),
        ("results/", "", &[("lanes", Rule::Missing)]),
        ("parts/p/c", "", &[("parts", Rule::Missing)]),
        // Also what was on clusters is held against nothing then.
        ("lanes/", "", &[("results", Rule::Unused), ("results", Rule::Unused)]),
    ];
    for (beginning, end, expected) in table {
        let store = Installation::at_rest().await;
        store.delete(beginning, end).await;
        finds(&store, expected).await;
    }
    let store = Installation::at_rest().await;
    store.edit("contexts/", "", |root| root["placements"][0]["differ"] = json!([0])).await;
    let found = store.found().await;
    assert!(found.contains(&("contexts".into(), Rule::Unreadable)), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn an_app_context_that_is_gone_leaves_its_cloud_and_its_records_alone() {
    let store = Installation::at_rest().await;
    store.delete("contexts/", "").await;
    let mut found = store.found().await;
    found.dedup();
    let orphaned = ["claims", "lanes"].map(|room| (room.to_owned(), Rule::Orphaned));
    let behind = ["manifests", "results"].map(|room| (room.to_owned(), Rule::Orphaned));
    let cloud = [("logical-clouds".to_owned(), Rule::Missing)];
    assert_eq!(found, [&orphaned[..], &cloud, &behind].concat());
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_claimed_for_another_app_context() {
    let store = Installation::at_rest().await;
    store.edit("claims/", "", |value| value["context"] = json!("other")).await;
    finds(&store, &[("claims", Rule::Orphaned), ("contexts", Rule::Taken)]).await;
}

#[tokio::test(start_paused = true)]
async fn records_that_are_further_than_what_they_follow_from() {
    let store = Installation::at_rest().await;
    store.edit("contexts/", "", |root| root["generation"] = json!(0)).await;
    finds(&store, &[("lanes", Rule::Ahead), ("logical-clouds", Rule::Ahead)]).await;
}

#[tokio::test(start_paused = true)]
async fn what_belongs_to_a_cloud_that_is_not_there() {
    let store = Installation::at_rest().await;
    let rooms = ["context-owners", "credentials", "handed-out", "parts", "snapshots"];
    store.delete("logical-clouds/", "").await;
    let mut found = store.found().await;
    found.dedup();
    assert_eq!(found, rooms.map(|room| (room.to_owned(), Rule::Orphaned)));
    // Workers clear what belongs to one that was deleted.
    let uid = store.entry("credentials/", "").await.path.segments().nth(3).unwrap().to_owned();
    let deleted =
        json!({"schema": 1, "project": "p", "cloud": "c", "uid": uid, "at": "2026-01-01T00:00:00Z"});
    store.create(&format!("deleted/p/c/{uid}"), &deleted).await;
    finds(&store, &[]).await;
}

#[tokio::test(start_paused = true)]
async fn what_nothing_names_is_told_with_what_clears_it() {
    let store = Installation::at_rest().await;
    let part: Value = store.entry("parts/", "").await.document.read().unwrap();
    let mut other = part.clone();
    other["since"] = json!(9);
    let folder = |path: &str| path.rsplit_once('/').unwrap().0.to_owned();
    store
        .copy("parts/", "", |path| folder(path) + "/" + &named(1, &other), |value| *value = other.clone())
        .await;
    let mut snapshot: Value = store.entry("snapshots/", "").await.document.read().unwrap();
    snapshot["number"] = json!(9);
    let id = named(9, &snapshot);
    store.copy("snapshots/", "", |path| folder(path) + "/" + &id, |value| *value = snapshot.clone()).await;
    store.edit("lanes/", "", |lane| drop(lane.as_object_mut().unwrap().remove("issued"))).await;
    store.copy("claims/", "", |path| folder(path) + "/other", |_| ()).await;
    let manifest =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "c"}});
    let hash = dcm_core::hash::ContentHash::of(&manifest);
    let stored = json!({"schema": 1, "manifest": manifest});
    store.copy("manifests/", "", |path| format!("{}/{hash}", folder(path)), |value| *value = stored).await;
    let rooms = ["claims", "manifests", "parts", "results", "results", "snapshots"];
    finds(&store, &rooms.map(|room| (room, Rule::Unused))).await;
    let report = store.check().await;
    let lasting = report.findings.iter().filter(|finding| finding.cleared_by.is_none());
    assert_eq!(
        lasting.map(|finding| crate::check::store::room(&finding.path)).collect::<Vec<_>>(),
        ["claims"]
    );
    assert!(!report.is_sound());
}

#[tokio::test(start_paused = true)]
async fn what_was_cut_off() {
    let store = Installation::at_rest().await;
    let context = store.context().await;
    store
        .create(&format!("claiming/{context}"), &json!({"schema": 1, "namespaces": {"sim/cluster-1": ["c"]}}))
        .await;
    store.edit("contexts/", "", |root| root["forgetting"] = json!(true)).await;
    let changed = json!({"by": "ann", "at": "2026-01-01T00:00:00Z"});
    let reserved =
        |stage: &str| json!({"schema": 1, "stage": stage, "uid": "0123456789abcdef", "changed": changed});
    store.create("logical-clouds/p/begun", &reserved("reserved")).await;
    store.create("logical-clouds/p/gone", &reserved("deleting")).await;
    let rooms = ["claiming", "contexts", "logical-clouds", "logical-clouds"];
    finds(&store, &rooms.map(|room| (room, Rule::CutOff))).await;
    assert!(store.check().await.is_sound(), "the work that goes on clears it");
}

#[tokio::test(start_paused = true)]
async fn a_check_writes_nothing() {
    let store = Installation::at_rest().await;
    store.delete("results/", "").await;
    let everything = |store: &Installation| {
        let kept = store.kept.clone();
        async move {
            let versions = kept.list_all(&Prefix::everything()).await.unwrap();
            (export(&*kept).try_collect::<Vec<String>>().await.unwrap(), versions)
        }
    };
    let (before, writes) = (everything(&store).await, store.kept.written().len());
    assert!(!store.check().await.findings.is_empty());
    assert_eq!((everything(&store).await, store.kept.written().len()), (before, writes));
}
