//! The mesh of a logical cloud: one root, and on each cluster an authority of its own below it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::app_context::{Action, Generation};
use dcm_core::authority::Authority;
use dcm_core::causes;
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::port::store::{Path, Store as _, StoreExt as _, Write};
use dcm_core::port::synchronizer::PlannedState;
use dcm_core::secret::Secret;
use dcm_core::service::{Agenda, AgendaEvent, ApplyOutcome, Error, News};
use serde_json::{Value, json};

use crate::service::editing::refusals;
use crate::service::support::{World, cluster, draft, name};

fn with_mesh(mesh: Value) -> Value {
    let mut draft = draft();
    draft["spec"]["serviceMesh"] = mesh;
    draft
}

/// The steps of the mesh on a cluster, in their order.
fn steps(world: &World, name: &str) -> Vec<Action> {
    let bundle = world.engine.only().context.placements[&cluster(name)].clone();
    let of_mesh = bundle.steps().iter().filter(|step| step.app.as_str() == "service-mesh");
    of_mesh.map(|step| step.action.clone()).collect()
}

/// The objects of the mesh that a cluster is to hold, in their order.
fn objects(world: &World, name: &str) -> Vec<Value> {
    let object = |action| match action {
        Action::Apply { manifest, .. } => Some(manifest.body().clone()),
        Action::Edit { .. } | Action::Request { .. } => None,
    };
    steps(world, name).into_iter().filter_map(object).collect()
}

/// The one object of a kind.
fn object(world: &World, name: &str, kind: &str) -> Value {
    objects(world, name).into_iter().find(|object| object["kind"] == kind).unwrap()
}

/// The files of the secret `cacerts` of a cluster.
fn files(world: &World, name: &str) -> BTreeMap<String, String> {
    let secret = object(world, name, "Secret");
    assert_eq!(secret["metadata"], json!({"name": "cacerts", "namespace": "istio-shop"}));
    let text = |value: &Value| String::from_utf8(STANDARD.decode(value.as_str().unwrap()).unwrap()).unwrap();
    secret["data"].as_object().unwrap().iter().map(|(name, value)| (name.clone(), text(value))).collect()
}

fn authority(files: &BTreeMap<String, String>) -> Authority {
    Authority::new(&files["cert-chain.pem"], &Secret::new(&*files["ca-key.pem"])).unwrap()
}

#[tokio::test]
async fn each_cluster_gets_a_namespace_and_an_authority_of_its_own_below_one_root() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    let kinds: Vec<_> = objects(&world, "one").iter().map(|object| object["kind"].clone()).collect();
    assert_eq!(kinds, ["Namespace", "Secret", "ServiceAccount", "ConfigMap", "Service", "Deployment"]);
    let labels = json!({"topology.istio.io/network": "sim.one"});
    assert_eq!(objects(&world, "one")[0]["metadata"], json!({"name": "istio-shop", "labels": labels}));
    let (one, two) = (files(&world, "one"), files(&world, "two"));
    assert_eq!(
        one.keys().collect::<Vec<_>>(),
        ["ca-cert.pem", "ca-key.pem", "cert-chain.pem", "root-cert.pem"]
    );
    assert_eq!(one["root-cert.pem"], two["root-cert.pem"]);
    assert_ne!(one["ca-key.pem"], two["ca-key.pem"]);
    let [one, two] = [authority(&one), authority(&two)];
    assert_eq!(one.root_facts(), two.root_facts());
    assert_eq!(one.facts().path_length, Some(0));
    assert_eq!(one.facts().trust_domain.as_ref().unwrap().as_str(), "shop.retail");
    assert_eq!(one.facts().subject, "O=dcm:retail:shop, CN=dcm:retail:shop:0000000000000001:sim/one");
}

#[tokio::test]
async fn what_all_clusters_have_of_a_mesh_is_rendered_once() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    let context = world.engine.only().context;
    let bodies = |name: &str| -> Vec<&Value> {
        let steps = context.placements[&cluster(name)].steps().iter();
        let bodies = steps.filter_map(|step| match &step.action {
            Action::Apply { manifest, .. } if step.app.as_str() == "service-mesh" => Some(manifest.body()),
            _ => None,
        });
        bodies.collect()
    };
    let (one, two) = (bodies("one"), bodies("two"));
    let shared = one.iter().zip(&two).filter(|(one, two)| std::ptr::eq(**one, **two));
    let kinds: Vec<&Value> = shared.map(|(one, _)| &one["kind"]).collect();
    assert_eq!(kinds, ["ServiceAccount", "ConfigMap", "Service", "Deployment"]);
}

#[tokio::test]
async fn names_of_load_balancers_are_served_and_the_zone_is_forwarded_from_the_corefile_of_each_cluster() {
    let world = World::new(true).await;
    let mut draft = with_mesh(json!({}));
    draft["spec"]["clusters"][0]["loadBalancer"] = "192.0.2.7".into();
    world.put(draft.clone()).await.unwrap();
    world.apply("shop").await.unwrap();
    let map = object(&world, "two", "ConfigMap");
    let reference = draft["spec"]["clusters"][0]["name"].as_str().unwrap();
    let zone_file = map["data"]["zone"].as_str().unwrap();
    assert!(zone_file.ends_with(&format!("\ngateway.{reference} IN A 192.0.2.7\n")), "{zone_file}");
    let template = object(&world, "two", "Deployment")["spec"]["template"].clone();
    let Some(Action::Edit { edit }) = steps(&world, "two").pop() else { panic!() };
    assert_eq!(edit.target.key().to_string(), "ConfigMap kube-system/coredns");
    draft["spec"]["serviceMesh"]["dns"] = json!({"zone": "shop.example"});
    world.put(draft.clone()).await.unwrap();
    let zone = |cloud: &LogicalCloud| cloud.service_mesh().unwrap().dns().map(|dns| dns.zone().to_string());
    let stored = async || zone(&world.clouds.get(&world.project, &name("shop")).await.unwrap().cloud);
    assert_eq!(stored().await.as_deref(), Some("shop.example"));
    world.apply("shop").await.unwrap();
    assert_ne!(object(&world, "two", "Deployment")["spec"]["template"], template, "the pods are replaced");
    // What a later document does not name stays.
    draft["spec"]["serviceMesh"] = json!({});
    world.put(draft.clone()).await.unwrap();
    assert_eq!(stored().await.as_deref(), Some("shop.example"));
    draft["spec"]["serviceMesh"]["dns"] = json!({"enabled": false});
    world.put(draft).await.unwrap();
    assert_eq!(stored().await, None);
    world.apply("shop").await.unwrap();
    assert_eq!(objects(&world, "two").len(), 2);
}

#[tokio::test]
async fn zones_that_are_reserved_or_no_zones_are_refused_with_their_field_and_rule() {
    let world = World::new(true).await;
    for (dns, path) in [
        (json!({"zone": "svc"}), "spec.serviceMesh.dns.zone"),
        (json!({"zone": "a.local"}), "spec.serviceMesh.dns.zone"),
        (json!({"zone": "Shop"}), "spec.serviceMesh.dns.zone"),
        (json!({"image": "two words"}), "spec.serviceMesh.dns.image"),
        (json!({"enabled": false, "zone": "shop"}), "spec.serviceMesh.dns.zone"),
    ] {
        let refusals = refusals(world.put(with_mesh(json!({"dns": dns}))).await.unwrap_err());
        let paths: Vec<_> = refusals.into_iter().map(|refusal| refusal.path).collect();
        assert_eq!(paths, [path]);
    }
}

#[tokio::test]
async fn an_unchanged_apply_makes_no_authority_and_a_new_cluster_gets_one_of_the_same_root() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    let (before, documents) = (files(&world, "one"), world.documents().await);
    assert_eq!(world.apply("shop").await.unwrap().outcome, ApplyOutcome::Unchanged);
    assert_eq!(world.documents().await, documents);
    let mut more = with_mesh(json!({}));
    more["spec"]["clusters"].as_array_mut().unwrap().push(json!({"provider": "sim", "cluster": "three"}));
    world.put(more).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_eq!(files(&world, "one"), before);
    assert_eq!(authority(&files(&world, "three")).root_facts(), authority(&before).root_facts());
    // A cluster that leaves takes its authority with it.
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    let left = world.paths(&["root-authorities", "cluster-authorities"]).await;
    let of = |cluster: &str| format!("cluster-authorities/retail/shop/0000000000000001/sim/{cluster}");
    assert_eq!(left, [of("one"), of("two"), "root-authorities/retail/shop/0000000000000001".to_owned()]);
}

#[tokio::test]
async fn an_authority_is_made_anew_at_two_thirds_of_its_life_and_for_another_type_of_key() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    let first = authority(&files(&world, "one"));
    world.wait(365 * 24 * 3600 * 3 / 5);
    world.apply("shop").await.unwrap();
    assert_eq!(authority(&files(&world, "one")), first);
    world.wait(365 * 24 * 3600 / 10);
    assert_eq!(world.apply("shop").await.unwrap().snapshot, 2);
    let second = authority(&files(&world, "one"));
    assert_ne!(second, first);
    assert_eq!(second.root_facts(), first.root_facts());
    world.put(with_mesh(json!({"key": "rsa-2048"}))).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_ne!(authority(&files(&world, "one")), second);
}

#[tokio::test]
async fn a_round_renews_what_is_due_of_clouds_whose_users_need_nothing() {
    let world = World::new(true).await;
    let mut draft = with_mesh(json!({}));
    for list in ["users", "permissions"] {
        draft["spec"].as_object_mut().unwrap().remove(list);
    }
    world.put(draft).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    let (first, mut agenda) = (files(&world, "one"), Agenda::default());
    let mut round = async || world.clouds.tend(&world.caller, &mut agenda).await.unwrap().events;
    assert_eq!(round().await.len(), 0);
    world.wait(365 * 24 * 3600 * 7 / 10);
    let events = round().await;
    let [AgendaEvent { what: News::Renewed(renewed), .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((renewed.users.len(), &renewed.authorities), (0, &["one", "two"].map(cluster).into()));
    let second = files(&world, "one");
    assert_ne!(authority(&second), authority(&first));
    assert_eq!(second["root-cert.pem"], first["root-cert.pem"]);
    assert_eq!(round().await.len(), 0);
}

#[tokio::test]
async fn an_authority_that_is_stored_and_was_brought_nowhere_is_due() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    let before = files(&world, "one");
    world.wait(365 * 24 * 3600 * 7 / 10);
    world.engine.conditions();
    let wanted = world.engine.only().context.hash_as_planned();
    let stale = PlannedState { generation: Generation(7), wanted, observed: BTreeMap::new() };
    let applied = world.clouds.apply_as_planned(&world.caller, &world.project, &name("shop"), &stale).await;
    assert!(matches!(applied, Err(Error::Stale { .. })), "{applied:?}");
    assert_eq!(files(&world, "one"), before);
    let stored = world.clouds.service_mesh(&world.project, &name("shop")).await.unwrap();
    assert_ne!(stored.clusters[&cluster("one")].certificate, before["ca-cert.pem"]);
    let renewed = world.clouds.renew(&world.caller, &world.project, &name("shop"), None).await.unwrap();
    assert_eq!(renewed.authorities, ["one", "two"].map(cluster).into());
    assert_eq!(files(&world, "one")["ca-cert.pem"], stored.clusters[&cluster("one")].certificate);
}

#[tokio::test]
async fn a_plan_shows_each_authority_that_an_apply_would_make_anew() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    let foresee = async |mesh: Value| {
        let draft = serde_json::from_value(with_mesh(mesh)).unwrap();
        world.clouds.foresee(&world.caller, &world.project, draft).await.unwrap().context
    };
    let applied = world.engine.only().context;
    assert_eq!(foresee(json!({})).await, applied);
    let other = foresee(json!({"key": "rsa-2048"})).await;
    assert_ne!(other, applied);
    assert_eq!(other.hash_as_planned(), applied.hash_as_planned());
    world.wait(365 * 24 * 3600 * 7 / 10);
    assert_ne!(foresee(json!({})).await, applied);
}

#[tokio::test]
async fn a_clock_that_is_wrong_replaces_no_root() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    let root = || async { world.documents().await["root-authorities/retail/shop/0000000000000001"].clone() };
    let before = root().await;
    for (seconds, expected) in
        [(-24 * 3600, "it is valid from"), (12 * 365 * 24 * 3600, "it was valid until")]
    {
        world.wait(seconds);
        let error = world.apply("shop").await.unwrap_err();
        assert!(matches!(error, Error::Authority { cluster: None, .. }), "{error:?}");
        let message = causes::told(&error);
        assert!(message.contains(expected), "{message}");
        assert_eq!(root().await, before);
    }
}

#[tokio::test]
async fn a_revocation_makes_an_authority_that_is_missing() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    let path = Path::new("cluster-authorities/retail/shop/0000000000000001/sim/one").unwrap();
    let version = world.memory.get(&path).await.unwrap().unwrap().version;
    world.memory.write_one(Write::Delete { path, version }).await.unwrap();
    world.clouds.revoke(&world.caller, &world.project, &name("shop"), &name("ann")).await.unwrap();
    authority(&files(&world, "one"));
}

#[tokio::test]
async fn a_revocation_brings_the_authorities_that_there_are() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    let before = files(&world, "one");
    world.clouds.revoke(&world.caller, &world.project, &name("shop"), &name("ann")).await.unwrap();
    assert_eq!(files(&world, "one"), before);
}

#[tokio::test]
async fn a_cloud_whose_mesh_is_taken_away_keeps_no_authority() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_eq!(objects(&world, "one"), Vec::<Value>::new());
    assert_eq!(world.paths(&["root-authorities", "cluster-authorities"]).await, Vec::<String>::new());
}

#[tokio::test]
async fn the_document_of_a_mesh_has_its_certificates_and_no_key() {
    let world = World::new(true).await;
    let read = async || world.clouds.service_mesh(&world.project, &name("shop")).await;
    world.put(draft()).await.unwrap();
    assert_eq!(read().await.unwrap_err().to_string(), "there is no service mesh of logical cloud shop");
    world.put(with_mesh(json!({}))).await.unwrap();
    let before = read().await.unwrap();
    assert_eq!((before.namespace.as_str(), before.trust_domain.as_str()), ("istio-shop", "shop.retail"));
    assert_eq!((before.root, before.clusters.len()), (None, 0));
    world.apply("shop").await.unwrap();
    let (mesh, one) = (read().await.unwrap(), files(&world, "one"));
    let shown = &mesh.clusters[&cluster("one")];
    assert_eq!(
        (&shown.certificate, &mesh.root.as_ref().unwrap().certificate),
        (&one["ca-cert.pem"], &one["root-cert.pem"])
    );
    assert_eq!(shown.renewal, Some(authority(&one).facts().renewal()));
    assert!(!serde_json::to_string(&mesh).unwrap().contains("PRIVATE KEY"));
}

#[tokio::test]
async fn keys_of_authorities_are_secrets_of_their_documents_and_nothing_else_has_them() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    let (documents, one) = (world.documents().await, files(&world, "one"));
    let document = &documents["cluster-authorities/retail/shop/0000000000000001/sim/one"];
    assert_eq!(document["authority"]["key"], json!({"$secret": one["ca-key.pem"]}));
    let facts = authority(&one).facts().clone();
    assert_eq!(document["facts"], serde_json::to_value(&facts).unwrap());
    let key = serde_json::to_string(&one["ca-key.pem"]).unwrap();
    let with_key = documents.iter().filter(|(_, document)| document.to_string().contains(&key));
    assert_eq!(with_key.count(), 1);
    let shown = format!("{:?}", world.engine.only().context);
    assert!(!shown.contains("PRIVATE KEY"), "{shown}");
}

#[tokio::test]
async fn what_is_planned_is_what_is_applied_though_the_keys_are_made_in_between() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    let draft = serde_json::from_value(with_mesh(json!({}))).unwrap();
    let before = world.documents().await;
    let foreseen = world.clouds.foresee(&world.caller, &world.project, draft).await.unwrap();
    assert_eq!(world.documents().await, before);
    world.apply("shop").await.unwrap();
    let applied = world.engine.only().context;
    assert_ne!(foreseen.context, applied);
    assert_eq!(foreseen.context.hash_as_planned(), applied.hash_as_planned());
}

#[tokio::test]
async fn a_deleted_cloud_leaves_no_authority() {
    let world = World::new(true).await;
    world.put(with_mesh(json!({}))).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    world.terminate("shop").await.unwrap();
    world.engine.finish();
    world.delete("shop").await.unwrap();
    assert_eq!(world.paths(&["root-authorities", "cluster-authorities"]).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_mesh_with_a_wrong_key_or_namespace_is_refused_with_its_field_and_rule() {
    let world = World::new(true).await;
    let refused = async |draft: Value| {
        let refusals = refusals(world.put(draft).await.unwrap_err()).into_iter();
        refusals.map(|refusal| format!("{}: {}", refusal.path, refusal.rule)).collect::<Vec<_>>()
    };
    let key = refused(with_mesh(json!({"key": "dsa"}))).await;
    assert_eq!(key, ["spec.serviceMesh.key: must be ecdsa-p256, rsa-2048, rsa-3072 or rsa-4096"]);
    let mut same = with_mesh(json!({}));
    same["spec"]["namespace"] = "istio-shop".into();
    let rule =
        "the namespace of the mesh must differ from that of the logical cloud; give the cloud another one";
    assert_eq!(refused(same).await, [format!("spec.serviceMesh: {rule}")]);
    let mut long = with_mesh(json!({}));
    long["metadata"]["name"] = "c".repeat(60).into();
    let long = refused(long).await;
    assert!(
        long[0].starts_with("spec.serviceMesh: the namespace of the mesh must be a legal one ("),
        "{long:?}"
    );
}
