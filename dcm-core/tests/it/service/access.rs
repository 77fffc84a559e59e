//! Kubeconfigs.

use dcm_core::kubeconfig::Credential;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::ReferenceName;
use dcm_core::pki::SystemKeys;
use dcm_core::port::key_source::KeySource as _;
use dcm_core::port::store::{Document, Entry, Path, Store as _, StoreExt as _, Write};
use dcm_core::port::synchronizer::Issued;
use dcm_core::secret::Secret;
use dcm_core::service::{Error, Missing, UserAccess};
use dcm_core::status::{Cause, Reason};
use serde_json::{Value, json};

use crate::service::support::{World, admin_kubeconfig, cluster, draft, name, request_of, sign, user};

async fn access(world: &World, user: Option<&str>, reference: Option<&str>) -> Result<UserAccess, Error> {
    let (user, reference) = (user.map(name), reference.map(name));
    world.clouds.kubeconfigs(&world.project, &name("shop"), user.as_ref(), reference.as_ref()).await
}

#[tokio::test]
async fn a_certificate_user_gets_the_certificate_of_each_cluster_with_the_stored_key() {
    let world = World::new(true).await;
    world.instantiated().await;
    let found = access(&world, Some("ann"), None).await.unwrap();
    assert!(found.missing.is_empty());
    assert_eq!(found.access.namespace.as_str(), "shop-ns");
    let key = world.keys.made.lock().unwrap()[0].1.key.clone();
    for (reference, server) in [("r1", "https://one.example:6443"), ("r2", "https://two.example:6443")] {
        let found = &found.access.clusters[&name(reference)];
        assert_eq!(found.cluster.server(), server);
        let Credential::Certificate { certificate, key: given } = &found.credential else {
            panic!("a certificate is expected")
        };
        assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----"));
        assert_eq!(given.as_ref(), Some(&key));
    }
}

#[tokio::test]
async fn a_token_user_gets_the_token_of_one_cluster() {
    let world = World::new(true).await;
    world.instantiated().await;
    let found = access(&world, Some("bot"), Some("r2")).await.unwrap();
    let clusters: Vec<_> = found.access.clusters.into_iter().collect();
    let [(reference, found)] = &clusters[..] else { panic!("one cluster was asked for") };
    assert_eq!(reference.as_str(), "r2");
    let Credential::Token(token) = &found.credential else { panic!("a token is expected") };
    assert_eq!(token.expose(), "token-of-token/bot/1/1");
}

#[tokio::test]
async fn a_user_is_named_where_there_are_several() {
    let world = World::new(true).await;
    world.instantiated().await;
    let error = access(&world, None, None).await.unwrap_err();
    assert_eq!(error.to_string(), "the logical cloud has several users; name one of ann, bot");
    let mut single = draft();
    single["spec"]["users"] = json!([user("ann")]);
    world.put(single).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_eq!(access(&world, None, None).await.unwrap().access.user.as_str(), "ann");
}

#[tokio::test]
async fn a_kubeconfig_for_one_cluster_reads_one_result() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.engine.reads();
    access(&world, Some("ann"), Some("r1")).await.unwrap();
    assert_eq!(world.engine.reads(), ["result"]);
    access(&world, Some("ann"), None).await.unwrap();
    assert_eq!(world.engine.reads(), ["results"]);
}

/// What a plugin says of the user with a certificate.
async fn said(world: &World, reference: &str) -> Result<Secret, Error> {
    world.clouds.exec_credential(&world.project, &name("shop"), &name("ann"), &name(reference)).await
}

/// Makes another registration of a cluster's, or takes it away.
async fn register_otherwise(world: &World, name: &str, other: impl FnOnce(Value) -> Option<Value>) {
    let path = Path::new(format!("clusters/sim/{name}")).unwrap();
    let Entry { version, document, .. } = world.memory.get(&path).await.unwrap().unwrap();
    let write = match other(document.read().unwrap()) {
        Some(other) => Write::Update { path, version, document: Document::from_value(&other).unwrap() },
        None => Write::Delete { path, version },
    };
    world.memory.write_one(write).await.unwrap();
}

fn without_kubeconfig(mut registration: Value) -> Option<Value> {
    registration["kubeconfig"] = json!({"$secret": "{}"});
    Some(registration)
}

#[tokio::test]
async fn a_cluster_that_nobody_knows_the_place_of_is_left_out_alone() {
    type Otherwise = fn(Value) -> Option<Value>;
    type IsIt = fn(&Error) -> bool;
    let cases: [(Otherwise, &str, IsIt); 3] = [
        (|_| None, "there is no cluster sim/one", |error| matches!(error, Error::NotFound { .. })),
        (
            |_| Some(json!({"schema": 1})),
            "clusters/sim/one can't be read",
            |error| matches!(error, Error::Unreadable { .. }),
        ),
        (without_kubeconfig, "the kubeconfig of cluster sim/one can't be used", |error| {
            matches!(error, Error::Kubeconfig { .. })
        }),
    ];
    for (otherwise, reason, is_it) in cases {
        let world = World::new(true).await;
        world.instantiated().await;
        let given = access(&world, Some("ann"), None).await.unwrap().access;
        world.clouds.handed_out(&world.caller, &given).await.unwrap();
        register_otherwise(&world, "one", otherwise).await;
        let found = access(&world, Some("ann"), None).await.unwrap();
        assert_eq!(found.access.clusters.keys().collect::<Vec<_>>(), [&name::<ReferenceName>("r2")]);
        let [left_out] = &found.left_out().collect::<Vec<_>>()[..] else { panic!("one is left out") };
        let text = format!("r1 is left out: it is not known where the cluster is: {reason}");
        assert_eq!(*left_out, text, "what is wrong with it is not for members of the project");
        let error = access(&world, Some("ann"), Some("r1")).await.unwrap_err();
        assert!(is_it(&error), "{error:?}");
        // What was issued there is there all the same, and the status is told.
        assert_eq!(certificates(&world, None).await, ["r1", "r2"]);
        assert_eq!(certificates(&world, Some("r1")).await, ["r1"]);
        assert!(said(&world, "r1").await.unwrap().expose().contains("BEGIN CERTIFICATE"));
        world.clouds.status(&world.project, &name("shop")).await.unwrap();
    }
}

async fn certificates(world: &World, reference: Option<&str>) -> Vec<String> {
    let (shop, ann, reference) = (name("shop"), name("ann"), reference.map(name));
    let found = world.clouds.certificates(&world.project, &shop, &ann, reference.as_ref()).await.unwrap();
    assert!(found.values().all(|pem| pem.starts_with("-----BEGIN CERTIFICATE-----")));
    found.into_keys().map(|name| name.to_string()).collect()
}

#[tokio::test]
async fn certificates_are_those_of_certificate_users_where_they_are_issued() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_eq!(certificates(&world, None).await, Vec::<String>::new());
    world.engine.finish_in(&cluster("one"));
    world.engine.reads();
    assert_eq!(certificates(&world, None).await, ["r1"]);
    assert_eq!(world.engine.reads(), ["results"], "the status is not asked why one is missing");
    assert_eq!(certificates(&world, Some("r1")).await, ["r1"]);
    assert_eq!(world.engine.reads(), ["result"]);
    world.engine.finish();
    let of_bot = world.clouds.certificates(&world.project, &name("shop"), &name("bot"), None).await.unwrap();
    assert!(of_bot.is_empty());
}

#[tokio::test]
async fn kubeconfigs_for_a_thousand_clusters_take_a_few_requests() {
    let world = World::new(true).await;
    let names: Vec<String> = (0..1_000).map(|number| format!("c{number}")).collect();
    for name in &names {
        world.register(name, &[]).await;
    }
    let mut wide = draft();
    let reference = |name: &String| json!({"name": name, "provider": "sim", "cluster": name});
    wide["spec"]["clusters"] = names.iter().map(reference).collect();
    wide["spec"]["users"] = json!([{"name": "bot", "type": "token"}]);
    world.put(wide).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    world.store.reads();
    let found = access(&world, None, None).await.unwrap();
    assert_eq!((found.access.clusters.len(), found.missing.len()), (names.len(), 0));
    let reads = world.store.reads();
    assert!(
        reads <= 12,
        "{reads} requests: a root, a snapshot, a credential, and pages of parts and clusters"
    );
    // One is read by name.
    access(&world, None, Some("c7")).await.unwrap();
    assert!(world.store.reads() <= reads - 2);
}

#[tokio::test]
async fn unknown_users_and_references_and_clouds_that_are_not_applied_are_told_apart() {
    let world = World::new(true).await;
    let message = |error: Error| error.to_string();
    assert_eq!(
        message(access(&world, None, None).await.unwrap_err()),
        "there is no logical cloud shop in project retail"
    );
    world.put(draft()).await.unwrap();
    let not_applied = "logical cloud shop is not applied; apply the logical cloud first";
    assert_eq!(message(access(&world, Some("ann"), None).await.unwrap_err()), not_applied);
    world.apply("shop").await.unwrap();
    world.engine.finish();
    assert_eq!(message(access(&world, Some("eve"), None).await.unwrap_err()), "there is no user eve");
    let error = access(&world, Some("ann"), Some("r9")).await.unwrap_err();
    assert_eq!(message(error), "there is no cluster reference r9");
    let mut more = draft();
    let third = json!({"name": "r3", "provider": "sim", "cluster": "three"});
    more["spec"]["clusters"].as_array_mut().unwrap().push(third);
    world.put(more).await.unwrap();
    let error = access(&world, Some("ann"), Some("r3")).await.unwrap_err();
    assert_eq!(message(error), "cluster reference r3 is not applied; apply the logical cloud first");
    world.terminate("shop").await.unwrap();
    assert_eq!(message(access(&world, Some("ann"), None).await.unwrap_err()), not_applied);
}

#[tokio::test]
async fn what_is_not_issued_yet_says_why_and_when_the_next_try_is() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish_in(&cluster("one"));
    world.engine.hinder(&cluster("two"), Reason::Unreachable, "connection refused");
    let found = access(&world, Some("ann"), None).await.unwrap();
    assert_eq!(found.access.clusters.len(), 1, "the other cluster goes on");
    let Missing::NotIssued { cause: Some(cause) } = &found.missing[&name("r2")] else {
        panic!("a cause is expected")
    };
    assert_eq!(cause.reason, Reason::Unreachable);
    let error = access(&world, Some("ann"), Some("r2")).await.unwrap_err();
    assert!(error.is_retryable());
    let text = "ann has no credential for r2: it is not issued yet (connection refused; next try at \
                2026-06-01T00:00:00Z)";
    assert_eq!(error.to_string(), text);
    assert_eq!(said(&world, "r2").await.unwrap_err().to_string(), text);
}

#[tokio::test]
async fn what_is_not_issued_yet_is_not_explained_by_an_object_of_somebody_else() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    let kind = GroupVersionKind::new("certificates.k8s.io", "v1", "CertificateSigningRequest");
    let cause = Cause {
        object: Some(ObjectKey::of_kind(&kind, None, "that-of-ann")),
        ..Cause::new(Reason::Foreign, "not ours")
    };
    world.engine.blame(&cluster("one"), &cause);
    let error = access(&world, Some("bot"), Some("r1")).await.unwrap_err();
    assert_eq!(error.to_string(), "bot has no credential for r1: it is not issued yet");
}

#[tokio::test]
async fn a_certificate_that_is_not_what_was_asked_for_is_not_handed_out() {
    let world = World::new(true).await;
    world.instantiated().await;
    let (ours, made) = world.keys.made.lock().unwrap()[0].clone();
    let other_key = SystemKeys.issue(&ours).unwrap().request;
    let stranger = request_of(&made.key, "stranger");
    for (request, reason) in [(other_key, "public key"), (stranger, "subject must be exactly")] {
        let pem = sign(&request).into();
        world.engine.issue(
            &cluster("one"),
            "certificate/ann/1/1",
            &Issued::Certificate { pem, received: None, tried: false },
        );
        let error = access(&world, Some("ann"), Some("r1")).await.unwrap_err();
        let Error::Certificate { source, .. } = &error else { panic!("a refusal is expected: {error}") };
        assert!(source.to_string().contains(reason), "{source}");
        let found = access(&world, Some("ann"), None).await.unwrap();
        assert!(matches!(found.missing[&name("r1")], Missing::Refused(_)));
    }
}

#[tokio::test]
async fn what_is_over_is_not_handed_out() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.at("2027-01-02T00:00:00Z");
    assert!(matches!(access(&world, Some("ann"), Some("r1")).await, Err(Error::Certificate { .. })));
    let error = access(&world, Some("bot"), Some("r1")).await.unwrap_err();
    assert!(error.to_string().ends_with("the token ended at 2027-01-01T00:00:00Z"), "{error}");
}

#[tokio::test]
async fn no_secret_is_in_debug_or_errors() {
    let world = World::new(true).await;
    world.instantiated().await;
    let found = access(&world, Some("bot"), None).await.unwrap();
    let expires = "2027-01-01T00:00:00Z".parse().unwrap();
    let token = Issued::Token { token: Secret::new("a"), expires, received: None, tried: true };
    world.engine.issue(&cluster("one"), "certificate/ann/1/1", &token);
    let error = access(&world, Some("ann"), Some("r1")).await.unwrap_err();
    let ann = access(&world, Some("ann"), Some("r2")).await.unwrap();
    let cluster = world.clusters.get(&cluster("one")).await.unwrap();
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    let seen = format!("{found:?} {error:?} {error} {ann:?} {cluster:?} {status:?}")
        + &serde_json::to_string(&status).unwrap();
    let key = world.keys.made.lock().unwrap()[0].1.key.clone();
    let key = key.expose().lines().nth(1).unwrap().to_owned();
    for secret in [key.as_str(), "token-of-token", "admin-token-of-nobody-else"] {
        assert!(!seen.contains(secret), "{secret}");
    }
    assert!(!seen.contains("PRIVATE KEY"));
}

#[tokio::test]
async fn secrets_lie_in_declared_fields_only() {
    let world = World::new(true).await;
    world.instantiated().await;
    let mut documents = world.documents().await;
    documents.values_mut().for_each(hide);
    let key = world.keys.made.lock().unwrap()[0].1.key.clone();
    let key = key.expose().lines().nth(1).unwrap().to_owned();
    let text = serde_json::to_string(&documents).unwrap();
    for secret in [key.as_str(), "PRIVATE KEY", "admin-token-of-nobody-else", "token-of-token"] {
        assert!(!text.contains(secret), "{secret}");
    }
}

fn hide(value: &mut Value) {
    match value {
        Value::Object(members) if members.contains_key("$secret") => members.clear(),
        Value::Object(members) => members.values_mut().for_each(hide),
        Value::Array(items) => items.iter_mut().for_each(hide),
        _ => {}
    }
}

#[tokio::test]
async fn the_status_tells_whose_kubeconfig_has_another_address_or_other_authorities() {
    let world = World::new(true).await;
    world.instantiated().await;
    let outdated = async |user: &str| {
        let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
        status.credentials[&name(user)].outdated.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let give = async |user: &str, reference: Option<&str>| {
        let given = access(&world, Some(user), reference).await.unwrap().access;
        world.clouds.handed_out(&world.caller, &given).await.unwrap();
    };
    give("ann", None).await;
    give("bot", Some("r2")).await;
    assert_eq!((outdated("ann").await, outdated("bot").await), (vec![], vec![]));
    let moved = admin_kubeconfig("elsewhere");
    world.replace_kubeconfig("one", moved).await.unwrap();
    assert_eq!((outdated("ann").await, outdated("bot").await), (vec!["sim/one".to_owned()], vec![]));
    give("ann", Some("r1")).await;
    assert_eq!(outdated("ann").await, Vec::<String>::new());
    world.terminate("shop").await.unwrap();
    world.engine.finish();
    world.delete("shop").await.unwrap();
    assert_eq!(world.paths(&["handed-out"]).await, Vec::<String>::new());
}
