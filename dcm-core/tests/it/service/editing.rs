//! Putting whole clouds, and single parts of them.

use dcm_core::logical_cloud::{Draft, Level, PermissionDraft, QuotaDraft, SpecDraft, UserDraft};
use dcm_core::refusal::Refusals;
use dcm_core::service::{Caller, EditOutcome, Edited, Error, Kind, PartDraft, PartName, Precondition};
use serde_json::{Value, json};

use crate::service::support::{World, draft, name, permission, user};

pub(crate) fn refusals(error: Error) -> Refusals {
    match error {
        Error::Refused(refusals) => refusals,
        other => panic!("refusals are expected, not {other}"),
    }
}

fn paths(error: Error) -> Vec<String> {
    refusals(error).into_iter().map(|refusal| refusal.path).collect()
}

async fn put_part(world: &World, part: PartDraft) -> Result<Edited, Error> {
    world.clouds.put_part(&world.caller, &world.project, &name("shop"), part, &Precondition::default()).await
}

async fn delete_part(world: &World, part: PartName) -> Result<Edited, Error> {
    world
        .clouds
        .delete_part(&world.caller, &world.project, &name("shop"), &part, &Precondition::default())
        .await
}

fn users(edited: &Edited) -> Vec<&str> {
    edited.cloud.users().iter().map(|user| user.metadata.name.as_str()).collect()
}

#[tokio::test]
async fn a_cloud_is_created_changed_and_left_alone_and_keeps_its_uid() {
    let world = World::new(true).await;
    let created = world.put(draft()).await.unwrap();
    assert_eq!((created.outcome, created.edit), (EditOutcome::Created, 1));

    let again = world.put(draft()).await.unwrap();
    assert_eq!((again.outcome, again.edit), (EditOutcome::Unchanged, 1));
    assert_eq!(again.cloud, created.cloud);

    let mut other = draft();
    other["spec"]["users"] = json!([user("zoe")]);
    let changed = world.put(other).await.unwrap();
    assert_eq!((changed.outcome, changed.edit), (EditOutcome::Changed, 2));
    assert_eq!(changed.cloud.uid(), created.cloud.uid());
    assert_eq!(users(&changed), ["zoe"]);

    let read = world.clouds.get(&world.project, &name("shop")).await.unwrap();
    assert_eq!((read.cloud, read.edit), (changed.cloud, 2));
    assert!(read.warnings.is_empty());
}

#[tokio::test]
async fn warnings_come_with_what_is_accepted() {
    let world = World::new(true).await;
    let bare = json!({"metadata": {"name": "bare"}});
    let edited = world.put(bare).await.unwrap();
    let warned: Vec<&str> = edited.warnings.iter().map(|warning| warning.path.as_str()).collect();
    assert_eq!(warned, ["spec.clusters", "spec.users", "spec.quotas"]);
}

#[tokio::test]
async fn a_check_refuses_what_a_put_and_an_apply_would_and_writes_nothing() {
    let world = World::new(true).await;
    let check = async |draft: &Value| {
        let draft = serde_json::from_value(draft.clone()).unwrap();
        world.clouds.foresee(&world.caller, &world.project, draft).await
    };
    let with = |pointer: &str, value: Value| {
        let mut draft = draft();
        *draft.pointer_mut(pointer).unwrap() = value;
        draft
    };
    let empty = world.documents().await;
    check(&draft()).await.unwrap();
    assert_eq!(world.documents().await, empty);

    world.instantiated().await;
    let before = world.documents().await;
    check(&draft()).await.unwrap();
    // A checked cloud has its references in the order of their names: here the other way round.
    let unknown =
        json!([{"name": "z", "provider": "sim", "cluster": "nowhere"}, draft()["spec"]["clusters"][0]]);
    let request = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----";
    for (draft, path) in [
        (with("/spec/namespace", json!("elsewhere")), "spec.namespace"),
        (with("/spec/clusters", unknown), "spec.clusters[0].cluster"),
        (with("/spec/users/0", json!({"name": "ann", "csr": request})), "spec.users[0].csr"),
        (with("/metadata/name", json!("a/b")), "metadata.name"),
    ] {
        assert_eq!(paths(check(&draft).await.unwrap_err()), [path]);
    }
    assert_eq!(world.documents().await, before);
}

#[tokio::test]
async fn a_check_refuses_what_only_the_apply_would() {
    let world = World::new(true).await;
    let check = async |draft: &Value| {
        let draft = serde_json::from_value(draft.clone()).unwrap();
        world.clouds.foresee(&world.caller, &world.project, draft).await
    };
    let mut bare = draft();
    bare["spec"]["clusters"] = json!([]);
    let twice = |level: &str| {
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "read"}, "rules": []});
        let mut draft = draft();
        draft["spec"]["level"] = level.into();
        draft["spec"]["manifests"] = json!([role]);
        draft
    };
    for _ in ["a new cloud", "one that is there"] {
        let error = check(&bare).await.unwrap_err();
        assert!(error.to_string().contains("it has no cluster reference"), "{error}");
        let error = check(&twice("privileged")).await.unwrap_err();
        assert!(matches!(error, Error::Render(_)), "{error}");
        world.put(draft()).await.unwrap();
    }
    world.apply("shop").await.unwrap();
    world.engine.finish();
    check(&bare).await.unwrap();
    world.terminate("shop").await.unwrap();
    let error = check(&draft()).await.unwrap_err();
    assert!(error.to_string().contains("it is being terminated"), "{error}");
    assert!(world.keys.made.lock().unwrap().len() == 1, "a check makes no key");
}

#[tokio::test]
async fn editing_touches_no_cluster() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.engine.calls();
    let mut other = draft();
    other["metadata"]["description"] = "another text".into();
    world.put(other).await.unwrap();
    put_part(&world, PartDraft::User(UserDraft { name: "eve".into(), ..UserDraft::default() }))
        .await
        .unwrap();
    delete_part(&world, PartName::User(name("eve"))).await.unwrap();
    world.clouds.subject(&world.project, &name("shop"), &name("eve")).await.unwrap();
    world.clouds.list(&world.project, None, None).await.unwrap();
    assert_eq!(world.engine.calls(), Vec::<String>::new());
}

#[tokio::test]
async fn each_part_is_a_document_of_its_own() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let uid = "0000000000000001";
    let folder = format!("parts/retail/shop/{uid}/");
    let kinds: Vec<String> = world
        .paths(&["parts"])
        .await
        .into_iter()
        .map(|path| {
            let rest = path.strip_prefix(&folder).unwrap().to_owned();
            rest.rsplit_once('/').unwrap().0.to_owned()
        })
        .filter(|part| !part.starts_with("manifests/"))
        .collect();
    assert_eq!(
        kinds,
        [
            "cloud/shop",
            "contents/all",
            "key-values/notes",
            "namespace/shop",
            "permissions/read",
            "quotas/small",
            "references/r1",
            "references/r2",
            "users/ann",
            "users/bot",
        ]
    );
    assert_eq!(world.paths(&["logical-clouds"]).await, ["logical-clouds/retail/shop"]);
    for (path, document) in world.documents().await {
        assert_eq!(document["schema"], 1, "{path}");
    }
}

#[tokio::test]
async fn only_what_changed_is_written_again_and_says_by_whom() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let before = world.paths(&["parts"]).await;
    let mut other = draft();
    other["spec"]["quotas"][0]["hard"]["pods"] = "20".into();
    let draft = serde_json::from_value(other).unwrap();
    world.clouds.put(&Caller::new("somebody else"), &world.project, draft).await.unwrap();
    let documents = world.documents().await;
    let after = world.paths(&["parts"]).await;
    let new: Vec<&String> = after.iter().filter(|path| !before.contains(path)).collect();
    assert_eq!(new.len(), 2, "the quota and the list of parts: {new:?}");
    assert_eq!(after.len(), before.len(), "what they replace is gone");
    let changed = |part: &str| {
        let of = |path: &&String| path.contains(part);
        documents[*after.iter().find(of).as_ref().unwrap()]["changed"].clone()
    };
    assert_eq!(changed("/quotas/")["by"], "somebody else");
    let by_tester =
        json!({"by": "tester", "why": "to see", "requestId": "r-1", "at": "2026-06-01T00:00:00Z"});
    assert_eq!(changed("/users/ann/"), by_tester);
}

#[tokio::test]
async fn what_is_refused_names_every_field_and_changes_nothing() {
    let world = World::new(false).await;
    let before = world.documents().await;
    let mut bad = draft();
    bad["spec"]["users"][0]["type"] = "UNPW".into();
    bad["spec"]["permissions"][0]["verbs"] = json!([]);
    assert_eq!(paths(world.put(bad).await.unwrap_err()), ["spec.users[0].type", "spec.permissions[0].verbs"]);
    let nameless = json!({"spec": {"level": "royal"}});
    assert!(paths(world.put(nameless).await.unwrap_err()).contains(&"metadata.name".to_owned()));
    assert_eq!(world.documents().await, before);
}

#[tokio::test]
async fn a_cloud_needs_its_project() {
    let world = World::empty(true);
    let error = world.put(draft()).await.unwrap_err();
    assert!(
        matches!(&error, Error::NotFound { kind: Kind::Project, name, .. } if name == "retail"),
        "{error}"
    );
    assert!(world.documents().await.is_empty());
}

#[tokio::test]
async fn namespace_and_level_stay_while_the_cloud_is_on_clusters() {
    let world = World::new(true).await;
    world.instantiated().await;
    let mut moved = draft();
    moved["spec"]["namespace"] = "elsewhere".into();
    let error = world.put(moved.clone()).await.unwrap_err();
    assert!(error.to_string().contains("stays shop-ns while the cloud is on clusters"), "{error}");
    assert_eq!(paths(error), ["spec.namespace"]);
    let mut admin = draft();
    for field in ["namespace", "labels", "users", "permissions", "quotas", "manifests"] {
        admin["spec"].as_object_mut().unwrap().remove(field);
    }
    admin["spec"]["level"] = "admin".into();
    assert_eq!(paths(world.put(admin).await.unwrap_err()), ["spec.level"]);

    world.terminate("shop").await.unwrap();
    world.engine.finish();
    assert_eq!(world.put(moved).await.unwrap().outcome, EditOutcome::Changed);
}

#[tokio::test]
async fn each_kind_of_part_is_put_and_deleted_alone() {
    let world = World::new(false).await;
    world.put(draft()).await.unwrap();
    let part = |kind: &str, body: Value| match kind {
        "user" => PartDraft::User(serde_json::from_value(body).unwrap()),
        "permission" => PartDraft::Permission(serde_json::from_value(body).unwrap()),
        "quota" => PartDraft::Quota(serde_json::from_value(body).unwrap()),
        "reference" => PartDraft::Reference(serde_json::from_value(body).unwrap()),
        _ => PartDraft::KeyValues(serde_json::from_value(body).unwrap()),
    };
    let reference = json!({"name": "x", "provider": "sim", "cluster": "three"});
    for (kind, body, notes, deleted) in [
        ("user", user("x"), "description", PartName::User(name("x"))),
        ("permission", permission("x"), "description", PartName::Permission(name("x"))),
        ("quota", json!({"name": "x", "hard": {"pods": 1}}), "userData1", PartName::Quota(name("x"))),
        ("reference", reference, "userData2", PartName::Reference(name("x"))),
        ("key-values", json!({"name": "x", "kv": []}), "description", PartName::KeyValues(name("x"))),
    ] {
        let before = world.clouds.get(&world.project, &name("shop")).await.unwrap().cloud;
        let created = put_part(&world, part(kind, body.clone())).await.unwrap();
        assert_eq!(created.outcome, EditOutcome::Created, "{kind}");
        let again = put_part(&world, part(kind, body.clone())).await.unwrap();
        assert_eq!(again.outcome, EditOutcome::Unchanged, "{kind}");
        let mut noted = body;
        noted[notes] = "a note".into();
        let changed = put_part(&world, part(kind, noted)).await.unwrap();
        assert_eq!(changed.outcome, EditOutcome::Changed, "{kind}");
        let after = delete_part(&world, deleted.clone()).await.unwrap();
        assert_eq!(after.cloud, before, "{kind}");
        let error = delete_part(&world, deleted).await.unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{kind}: {error}");
    }
}

#[tokio::test]
async fn refusals_about_a_part_have_the_paths_of_the_part() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let bad = QuotaDraft { name: "small".into(), ..QuotaDraft::default() };
    assert_eq!(paths(put_part(&world, PartDraft::Quota(bad)).await.unwrap_err()), ["hard"]);
    let mut named = draft();
    named["spec"]["permissions"][0]["users"] = json!(["ann"]);
    world.put(named).await.unwrap();
    let error = delete_part(&world, PartName::User(name("ann"))).await.unwrap_err();
    assert_eq!(paths(error), ["spec.permissions[0].users[0]"]);
}

#[tokio::test]
async fn parts_of_a_cloud_that_is_not_there_are_not_found() {
    let world = World::new(true).await;
    let part = PartDraft::User(UserDraft { name: "ann".into(), ..UserDraft::default() });
    let error = put_part(&world, part).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { kind: Kind::LogicalCloud, .. }), "{error}");
    assert!(world.cloud_paths().await.is_empty());
}

#[tokio::test]
async fn who_knows_one_level_for_both_kinds_of_clouds_makes_one_privileged_by_a_permission() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let leaving: PermissionDraft = serde_json::from_value(json!({
        "name": "wide", "clusterWide": true, "apiGroups": [""], "resources": ["nodes"], "verbs": ["get"],
    }))
    .unwrap();
    let (clouds, any) = (&world.clouds, Precondition::default());
    let part = || PartDraft::Permission(leaving.clone());
    let shop = name("shop");
    let refused = clouds.put_part(&world.caller, &world.project, &shop, part(), &any).await.unwrap_err();
    assert_eq!(paths(refused), ["clusterWide"]);
    let put = clouds.put_part_of_one_level(&world.caller, &world.project, &shop, part(), &any).await.unwrap();
    assert_eq!((put.cloud.level(), put.outcome), (Level::Privileged, EditOutcome::Created));
    let back = clouds.get(&world.project, &shop).await.unwrap().cloud.to_draft_of_one_level();
    let back = Draft { spec: SpecDraft { permissions: Vec::new(), ..back.spec }, ..back };
    let put = clouds.put(&world.caller, &world.project, back).await.unwrap();
    assert_eq!(put.cloud.level(), Level::Privileged, "it stays so: nobody knows what else it is for");
}
