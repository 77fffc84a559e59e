//! Changes that are made only where things are as their caller knows them.

use dcm_core::logical_cloud::{Draft, LogicalCloud, MetadataDraft, ReferenceDraft, UserDraft};
use dcm_core::port::store::{Document, Path, Store as _, StoreExt as _, Write};
use dcm_core::service::{
    ApplyCondition, ApplyOutcome, EditId, Edited, Error, Kind, PartDraft, PartName, Precondition, Presence,
};
use serde_json::{Value, json};

use crate::service::support::{World, draft, name};

async fn edit(
    world: &World,
    condition: &Precondition<EditId>,
    next: impl Fn(Option<&LogicalCloud>) -> Result<Draft, Error> + Send + Sync,
) -> Result<Edited, Error> {
    world.clouds.edit(&world.caller, &world.project, &name("shop"), condition, next).await
}

/// The draft of the tests, with this description.
fn described(text: &str) -> impl Fn(Option<&LogicalCloud>) -> Result<Draft, Error> + Send + Sync {
    let mut draft: Draft = serde_json::from_value(draft()).unwrap();
    draft.metadata.description = text.into();
    move |_| Ok(draft.clone())
}

fn known(ids: &[EditId]) -> Precondition<EditId> {
    Precondition { known: Some(ids.to_vec()), ..Precondition::default() }
}

#[tokio::test]
async fn whoever_has_read_a_cloud_changes_it_only_as_it_was_read() {
    let world = World::new(false).await;
    let first = edit(&world, &Presence::Absent.into(), described("one")).await.unwrap();
    let read = world.clouds.get(&world.project, &name("shop")).await.unwrap();
    assert_eq!((read.id(), first.id()), (first.id(), EditId { uid: first.cloud.uid(), edit: 1 }));

    let error = edit(&world, &Presence::Absent.into(), described("two")).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyThere { kind: Kind::LogicalCloud, .. }), "{error}");
    let second = edit(&world, &known(&[first.id()]), described("two")).await.unwrap();
    let error = edit(&world, &known(&[first.id()]), described("three")).await.unwrap_err();
    assert!(matches!(error, Error::PreconditionFailed { kind: Kind::LogicalCloud, .. }), "{error}");
    edit(&world, &known(&[first.id(), second.id()]), described("three")).await.unwrap();
    let now = world.clouds.get(&world.project, &name("shop")).await.unwrap();
    assert_eq!((now.edit, &*now.cloud.metadata().description), (3, "three"));
}

#[tokio::test]
async fn a_cloud_that_was_made_again_is_another_one() {
    let world = World::new(false).await;
    let first = world.put(draft()).await.unwrap();
    let delete = |condition: Precondition<EditId>| {
        let World { clouds, caller, project, .. } = &world;
        async move { clouds.delete_if(caller, project, &name("shop"), &condition).await }
    };
    delete(known(&[first.id()])).await.unwrap();
    let error = delete(known(&[first.id()])).await.unwrap_err();
    assert!(matches!(error, Error::PreconditionFailed { .. }), "{error}");
    let again = world.put(draft()).await.unwrap();
    assert_eq!((first.edit, again.edit), (1, 1));
    let error = delete(known(&[first.id()])).await.unwrap_err();
    assert!(matches!(error, Error::PreconditionFailed { .. }), "{error}");
    delete(Presence::Present.into()).await.unwrap();
    let error = edit(&world, &Presence::Present.into(), described("one")).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { kind: Kind::LogicalCloud, .. }), "{error}");
    assert!(world.cloud_paths().await.is_empty());
}

#[tokio::test]
async fn a_part_is_made_only_where_there_is_none_and_the_cloud_is_as_it_was_read() {
    let world = World::new(true).await;
    let read = world.put(draft()).await.unwrap();
    let put = async |user: &str, condition: Precondition<EditId>| {
        let part = PartDraft::User(UserDraft { name: user.into(), ..UserDraft::default() });
        world.clouds.put_part(&world.caller, &world.project, &name("shop"), part, &condition).await
    };
    let absent = |known| Precondition { presence: Presence::Absent, known };
    put("eve", absent(Some(vec![read.id()]))).await.unwrap();
    let error = put("eve", absent(None)).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyThere { kind: Kind::User, .. }), "{error}");
    let error = put("zoe", Presence::Present.into()).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { kind: Kind::User, .. }), "{error}");
    // What the cloud has become meanwhile counts for all its parts.
    let error = put("zoe", known(&[read.id()])).await.unwrap_err();
    assert!(matches!(error, Error::PreconditionFailed { kind: Kind::LogicalCloud, .. }), "{error}");
    let delete = async |known| {
        let condition = Precondition { known, ..Precondition::default() };
        let part = PartName::User(name("eve"));
        world.clouds.delete_part(&world.caller, &world.project, &name("shop"), &part, &condition).await
    };
    let error = delete(Some(vec![read.id()])).await.unwrap_err();
    assert!(matches!(error, Error::PreconditionFailed { .. }), "{error}");
    delete(Some(vec![EditId { edit: 2, ..read.id() }])).await.unwrap();
}

#[tokio::test]
async fn an_edit_under_another_name_is_refused() {
    let world = World::new(true).await;
    let renamed = |_: Option<&LogicalCloud>| {
        Ok(Draft {
            metadata: MetadataDraft { name: "other".into(), ..MetadataDraft::default() },
            ..Draft::default()
        })
    };
    let error = edit(&world, &Precondition::default(), renamed).await.unwrap_err();
    assert_eq!(error.to_string(), "metadata.name: must be shop (found \"other\")");
    assert!(world.cloud_paths().await.is_empty());
}

#[tokio::test]
async fn what_two_parts_can_not_both_be_is_told_of_the_one_that_is_put() {
    let world = World::new(true).await;
    let mut with_one = draft();
    with_one["spec"]["clusters"] = json!([{"name": "first", "provider": "sim", "cluster": "one"}]);
    world.put(with_one).await.unwrap();
    let (provider, cluster) = ("sim".to_owned(), "one".to_owned());
    let part = ReferenceDraft { name: "again".into(), provider, cluster, ..ReferenceDraft::default() };
    let (any, shop, part) = (Precondition::default(), name("shop"), PartDraft::Reference(part));
    let put = world.clouds.put_part(&world.caller, &world.project, &shop, part, &any).await;
    let error = put.unwrap_err().to_string();
    assert_eq!(error, "cluster: is in the cloud already, by another reference (found \"sim/one\")");
}

#[tokio::test]
async fn whoever_has_read_a_project_changes_it_only_as_it_was_read() {
    let world = World::new(true).await;
    let World { projects, caller, .. } = &world;
    let draft = |text: &str| MetadataDraft {
        name: "bank".into(),
        description: text.into(),
        ..MetadataDraft::default()
    };
    let known = |revision| Precondition { known: Some(vec![revision]), ..Precondition::default() };
    let (first, _) = projects.put_if(caller, draft("one"), &Presence::Absent.into()).await.unwrap();
    let (second, _) = projects.put_if(caller, draft("two"), &known(first.revision.clone())).await.unwrap();
    let bank = name("bank");
    assert_eq!(projects.get(&bank).await.unwrap(), second);
    for error in [
        projects.put_if(caller, draft("three"), &known(first.revision.clone())).await.unwrap_err(),
        projects.delete_if(caller, &bank, &known(first.revision.clone())).await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::PreconditionFailed { kind: Kind::Project, .. }), "{error}");
    }
    let error = projects.put_if(caller, draft("three"), &Presence::Absent.into()).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyThere { kind: Kind::Project, .. }), "{error}");
    projects.delete_if(caller, &bank, &known(second.revision.clone())).await.unwrap();
    let error = projects.put_if(caller, draft("three"), &Presence::Present.into()).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { kind: Kind::Project, .. }), "{error}");
}

#[tokio::test]
async fn a_cloud_is_applied_only_as_it_was_read() {
    let world = World::new(false).await;
    let read = world.put(draft()).await.unwrap();
    let changed = edit(&world, &Precondition::default(), described("somebody else's")).await.unwrap();
    let apply = async |known: EditId| {
        let condition = ApplyCondition { known: Some(vec![known]), ..ApplyCondition::default() };
        world.clouds.apply_if(&world.caller, &world.project, &name("shop"), &condition).await
    };
    let error = apply(read.id()).await.unwrap_err();
    assert!(matches!(error, Error::PreconditionFailed { kind: Kind::LogicalCloud, .. }), "{error}");
    assert_eq!(world.state("shop").await, "created");
    let applied = apply(changed.id()).await.unwrap();
    assert_eq!((applied.cloud, applied.outcome), (changed.cloud, ApplyOutcome::Begun));
}

#[tokio::test]
async fn an_apply_leaves_other_work_alone_where_it_is_to_wait_for_it() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    let apply = async || {
        let condition = ApplyCondition { is_idle: true, ..ApplyCondition::default() };
        world.clouds.apply_if(&world.caller, &world.project, &name("shop"), &condition).await
    };
    // The same once more is no other work.
    assert_eq!(apply().await.unwrap().outcome, ApplyOutcome::Unchanged);
    let mut more = draft();
    more["spec"]["labels"]["team"] = "other".into();
    world.put(more).await.unwrap();
    let before = world.engine.only().generation;
    let text = "can't apply a logical cloud that is instantiating: other work is under way or paused; wait until it is \
                done, or resume it and wait";
    assert_eq!(apply().await.unwrap_err().to_string(), text);
    assert_eq!(world.engine.only().generation, before);
    world.engine.finish();
    assert_eq!(apply().await.unwrap().outcome, ApplyOutcome::Begun);
}

#[tokio::test]
async fn a_stored_cloud_that_breaks_a_rule_is_damaged_and_nobodys_bad_input() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let paths = world.cloud_paths().await;
    let user = paths.iter().find(|path| path.contains("/users/")).unwrap();
    let entry = world.memory.get(&Path::new(user).unwrap()).await.unwrap().unwrap();
    let mut part: Value = entry.document.read().unwrap();
    part["spec"]["name"] = "two words".into();
    let document = Document::from_value(&part).unwrap();
    let update = Write::Update { path: entry.path, version: entry.version, document };
    world.memory.write_one(update).await.unwrap();
    for error in [
        world.clouds.get(&world.project, &name("shop")).await.unwrap_err(),
        world.put(draft()).await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::Unreadable { .. }), "{error}");
    }
}
