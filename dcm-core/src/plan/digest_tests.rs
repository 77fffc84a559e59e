//! What changes the hash of a plan, and what does not.

use std::sync::Arc;

use super::*;
use crate::app_context::{Action, Bundle, Drift, Existing, Generation, Stage, Step};
use crate::manifest::Manifest;
use crate::name::{AppName, ContextId, OwnerId};
use crate::port::cluster::{Marks, Origin, Stamped};
use crate::port::synchronizer::Removal;

fn manifest(pods: &str) -> Manifest {
    Manifest::new(json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "n"},
        "spec": {"hard": {"pods": pods}},
    }))
    .unwrap()
}

fn cluster(number: usize) -> ClusterId {
    format!("p/c{number:02}").parse().unwrap()
}

/// The same quota on so many clusters.
fn context(pods: &str, clusters: usize) -> AppContext {
    let action =
        Action::Apply { manifest: manifest(pods), existing: Existing::Refuse, drift: Drift::default() };
    let step = Step { app: AppName::new("a").unwrap(), stage: Stage(0), action };
    let bundle = Arc::new(Bundle::new(vec![step]).unwrap());
    AppContext {
        id: ContextId::new("lc-1").unwrap(),
        labels: BTreeMap::from([("project".to_owned(), "p".to_owned())]),
        removal: Removal::default(),
        placements: (0..clusters).map(|number| (cluster(number), bundle.clone())).collect(),
    }
}

/// The quota as the cluster has it after we wrote it.
fn written() -> Value {
    let marks = Marks {
        owner: OwnerId::new("dcm").unwrap(),
        context: ContextId::new("lc-1").unwrap(),
        generation: Generation(1),
        manifest: Some(manifest("5").hash()),
        origin: Origin::Created,
    };
    let labels = Arc::new(context("5", 0).labels);
    let mut body = Stamped { manifest: manifest("5"), marks, labels, proof: None }.body();
    body["metadata"]["resourceVersion"] = "1".into();
    body["metadata"]["managedFields"] = json!([{
        "manager": "dcm", "operation": "Update", "time": "2026-01-01T00:00:00Z",
        "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:dcm.internal/owner": {}}},
                     "f:spec": {"f:hard": {".": {}, "f:pods": {}}}},
    }]);
    body
}

fn object(body: Value, uid: &str) -> Object {
    let (kind, key) = (manifest("5").kind().clone(), manifest("5").key().clone());
    let deleting = body["metadata"]["deletionTimestamp"].is_string().then(Vec::new);
    Object {
        kind,
        key,
        uid: uid.into(),
        resource_version: "1".into(),
        marks: Marks::read(&body),
        deleting,
        body: Arc::new(body),
    }
}

fn seen(found: Option<Object>) -> Observed {
    let wanted = Desired { manifest: manifest("5"), labels: Arc::new(context("5", 0).labels) };
    let mut observed = Observed::new(ClusterUid("u".into()));
    match found {
        Some(found) => observed.present(&found, Some(&wanted)),
        None => observed.absent(wanted.manifest.kind(), wanted.manifest.key()),
    }
    observed
}

/// The hash of a plan for one cluster.
fn hash(context: &AppContext, observed: Option<Observed>) -> PlanHash {
    let clusters = BTreeMap::from([(cluster(0), observed)]);
    PlanHash::of(Part { context, clusters: &clusters })
}

fn edited(edit: impl FnOnce(&mut Value)) -> Object {
    let mut body = written();
    edit(&mut body);
    object(body, "u1")
}

/// A person's entry beside ours, which has lost what they took.
fn taken(body: &mut Value) {
    body["metadata"]["managedFields"] = json!([
        {"manager": "dcm", "operation": "Update", "fieldsV1": {"f:spec": {"f:hard": {".": {}}}}},
        {"manager": "person", "operation": "Update", "fieldsV1": {"f:spec": {"f:hard": {"f:pods": {}}}}},
    ]);
}

#[test]
fn each_change_of_what_is_ours_changes_the_hash() {
    let one = context("5", 1);
    let hashes = [
        hash(&one, Some(seen(Some(edited(|_| {}))))),
        hash(&one, Some(seen(Some(edited(|body| body["spec"]["hard"]["pods"] = "9".into()))))),
        hash(&one, Some(seen(Some(edited(|body| body["spec"] = json!({})))))),
        hash(&one, Some(seen(Some(edited(taken))))),
        hash(&one, Some(seen(Some(edited(|body| body["metadata"]["labels"]["project"] = "x".into()))))),
        hash(&one, Some(seen(Some(edited(|body| body["metadata"]["deletionTimestamp"] = "t".into()))))),
        hash(&one, Some(seen(Some(object(written(), "u2"))))),
        hash(&one, Some(seen(None))),
        hash(&one, None),
        hash(&one, Some(Observed { identity: ClusterUid("other".into()), ..seen(None) })),
        hash(&context("6", 1), Some(seen(None))),
        hash(&context("5", 0), Some(seen(None))),
        hash(
            &AppContext { removal: Removal { delete_contents: true, ..Removal::default() }, ..one.clone() },
            None,
        ),
    ];
    for (index, hash) in hashes.iter().enumerate() {
        let same: Vec<usize> = (0..hashes.len()).filter(|other| hashes[*other] == *hash).collect();
        assert_eq!(same, [index]);
    }
}

#[test]
fn what_changes_by_itself_and_what_others_add_leaves_the_hash_as_it_is() {
    let one = context("5", 1);
    let before = hash(&one, Some(seen(Some(edited(|_| {})))));
    let counted = |body: &mut Value| {
        body["status"] = json!({"hard": {"pods": "5"}, "used": {"pods": "1"}});
        body["metadata"]["resourceVersion"] = "2".into();
        body["metadata"]["generation"] = 3.into();
        body["metadata"]["managedFields"][0]["time"] = "2027-01-01T00:00:00Z".into();
        let entries = body["metadata"]["managedFields"].as_array_mut().unwrap();
        entries.push(
            json!({"manager": "kube-controller-manager", "operation": "Update", "subresource": "status",
                            "fieldsV1": {"f:status": {"f:used": {}}}}),
        );
    };
    assert_eq!(hash(&one, Some(seen(Some(edited(counted))))), before);
    let added = |body: &mut Value| {
        body["spec"]["hard"]["secrets"] = "9".into();
        let entries = body["metadata"]["managedFields"].as_array_mut().unwrap();
        entries.push(json!({"manager": "person", "operation": "Update",
                            "fieldsV1": {"f:spec": {"f:hard": {"f:secrets": {}}}}}));
    };
    assert_eq!(hash(&one, Some(seen(Some(edited(added))))), before);
    let mut asked = seen(Some(edited(|_| {})));
    let kind = GroupVersionKind::new("certificates.k8s.io", "v1", "CertificateSigningRequest");
    asked.absent(&kind, &ObjectKey::of_kind(&kind, None, "r"));
    assert_eq!(hash(&one, Some(asked)), before);
}

#[test]
fn a_stale_hash_tells_which_clusters_changed() {
    let context = context("5", 3);
    let plan = |pods: &str| {
        let of = |number: usize| {
            let changed = edited(|body| body["spec"]["hard"]["pods"] = pods.into());
            (cluster(number), Some(seen(Some(if number == 1 { changed } else { edited(|_| {}) }))))
        };
        (0..3).map(of).collect::<BTreeMap<_, _>>()
    };
    let (before, after) = (plan("5"), plan("6"));
    let of = |clusters| PlanHash::of(Part { context: &context, clusters });
    let (earlier, now) = (of(&before), of(&after));
    let changes = |now: &PlanHash, earlier| now.changes_since(earlier, [after.keys()]);
    let expected = Changes { wanted: false, clusters: vec![(0, after.keys().nth(1).unwrap())] };
    assert_eq!(changes(&now, &earlier), expected);
    assert_eq!(expected.to_string(), "p/c01 is not as it was");
    assert_eq!(changes(&now, &now), Changes::default());
    let fewer = plan("5").into_iter().take(2).collect::<BTreeMap<_, _>>();
    assert!(changes(&now, &of(&fewer)).wanted);
    assert_eq!(now.to_string().parse(), Ok(now));
    // The same of several plans.
    let (one, joined) = (of(&before), |plans: &[PlanHash]| PlanHash::joined(plans));
    assert_eq!(joined(&[one]), one);
    let (earlier, second, first) = (joined(&[one, one]), joined(&[one, now]), joined(&[now, one]));
    let of_two = |now: &PlanHash| now.changes_since(&earlier, [after.keys(), after.keys()]).clusters;
    assert!(of_two(&second).contains(&(1, expected.clusters[0].1)), "{:?}", of_two(&second));
    assert!(of_two(&first).contains(&(0, expected.clusters[0].1)), "{:?}", of_two(&first));
    assert!(first != second && of_two(&earlier).is_empty());
    assert!(joined(&[one, of(&fewer)]).changes_since(&earlier, [after.keys(), after.keys()]).wanted);
}

#[test]
fn what_is_seen_of_a_cloud_without_an_identity_agrees_with_what_is_seen_under_its_own() {
    let kind = GroupVersionKind::new("certificates.k8s.io", "v1", "CertificateSigningRequest");
    let with_request = |request: &str, found: Option<Object>| {
        let mut observed = seen(found);
        observed.absent(&kind, &ObjectKey::of_kind(&kind, None, request));
        observed
    };
    let there = || Some(edited(|_| {}));
    let planned = with_request("cloud-0-developer-1", there());
    let found = with_request("cloud-5e1f-developer-1", there());
    assert!(planned.agrees_with(&found) && found.agrees_with(&planned));
    let changed = edited(|body| body["spec"]["hard"]["pods"] = "6".into());
    for other in [seen(None), seen(Some(changed)), Observed::new(ClusterUid("u".into()))] {
        assert!(!planned.agrees_with(&other) && !other.agrees_with(&planned), "{other:?}");
    }
    let empty = |cluster: &str| Observed::new(ClusterUid(cluster.into()));
    assert!(empty("u").agrees_with(&empty("u")) && !empty("u").agrees_with(&empty("another")));
}
