//! Projects.

use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::name::ProjectName;
use dcm_core::port::store::{Path, Store as _, StoreExt as _, Write};
use dcm_core::service::{EditOutcome, Error, Kind, OwnerPage};
use dcm_store::memory::Fault;

use crate::service::support::{World, draft, name, unavailable};

fn project(name: &str, description: &str) -> MetadataDraft {
    MetadataDraft { name: name.into(), description: description.into(), ..MetadataDraft::default() }
}

#[tokio::test]
async fn a_project_is_created_once_and_put_as_often_as_one_likes() {
    let world = World::empty(true);
    let created = world.projects.create(&world.caller, project("p", "one")).await.unwrap();
    assert_eq!(created.created.by, "tester");
    let error = world.projects.create(&world.caller, project("p", "one")).await.unwrap_err();
    assert!(matches!(&error, Error::AlreadyThere { kind: Kind::Project, name } if name == "p"), "{error}");
    let (_, outcome) = world.projects.put(&world.caller, project("p", "one")).await.unwrap();
    assert_eq!(outcome, EditOutcome::Unchanged);
    let (changed, outcome) = world.projects.put(&world.caller, project("p", "two")).await.unwrap();
    assert_eq!((changed.metadata.description.as_str(), outcome), ("two", EditOutcome::Changed));
    let (_, outcome) = world.projects.put(&world.caller, project("q", "")).await.unwrap();
    assert_eq!(outcome, EditOutcome::Created);
    assert_eq!(world.projects.get(&name("p")).await.unwrap(), changed);
    assert!(matches!(world.projects.get(&name("r")).await, Err(Error::NotFound { .. })));
    let refused = world.projects.put(&world.caller, project("-", "")).await;
    assert!(matches!(refused, Err(Error::Refused(_))));
}

#[tokio::test]
async fn projects_are_listed_in_pages() {
    let world = World::empty(true);
    for name in ["b", "c", "a"] {
        world.projects.put(&world.caller, project(name, "")).await.unwrap();
    }
    let OwnerPage { owners: page, next, .. } = world.projects.list(None, Some(2)).await.unwrap();
    let names: Vec<_> = page.iter().map(|project| project.metadata.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let OwnerPage { owners: page, next, .. } = world.projects.list(next.as_ref(), Some(2)).await.unwrap();
    assert_eq!((page.len(), next), (1, None));
}

#[tokio::test]
async fn of_given_projects_those_that_are_there_are_listed_in_pages() {
    let world = World::empty(true);
    for name in ["a", "b", "d", "e"] {
        world.projects.put(&world.caller, project(name, "")).await.unwrap();
    }
    let given = ["b", "c", "e"].map(name);
    let mut told = Vec::new();
    let mut after = None;
    for _ in 0..4 {
        let page = world.projects.list_of(&given, after.as_ref(), Some(1)).await.unwrap();
        told.extend(page.owners.iter().map(|owner| owner.metadata.name.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(told, ["b", "e"]);
    let all = world.projects.list_of(&given, None, None).await.unwrap();
    assert_eq!((all.owners.len(), all.next), (2, None));
}

#[tokio::test]
async fn only_an_empty_project_is_deleted() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let error = world.projects.delete(&world.caller, &world.project).await.unwrap_err();
    assert_eq!(error.to_string(), "project retail has logical clouds, such as shop; delete them first");
    assert!(world.put(draft()).await.is_ok(), "the project is as it was");
    world.delete("shop").await.unwrap();
    world.projects.delete(&world.caller, &world.project).await.unwrap();
    assert!(matches!(
        world.projects.delete(&world.caller, &world.project).await,
        Err(Error::NotFound { .. })
    ));
    assert!(world.paths(&["projects"]).await.is_empty());
}

#[tokio::test]
async fn a_project_that_is_not_empty_is_whole_again_after_a_deletion_that_was_cut_off_is_repeated() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let before = world.projects.get(&world.project).await.unwrap();
    world.wait(1);
    world.store.fail_after(1, Fault::NotWritten, true);
    assert!(world.projects.delete(&world.caller, &world.project).await.unwrap_err().is_retryable());
    world.store.start_again();
    let error = world.projects.delete(&world.caller, &world.project).await.unwrap_err();
    assert!(matches!(error, Error::NotEmpty { .. }), "{error}");
    assert_eq!(world.projects.get(&world.project).await.unwrap(), before, "nobody has changed it");
    let mut second = draft();
    second["metadata"]["name"] = "second".into();
    world.put(second).await.unwrap();
}

#[tokio::test]
async fn a_store_that_fails_for_a_moment_withdraws_no_cloud() {
    // The project is looked for before the name is taken, before the cloud is written, and after.
    for (read, left) in [(0, None), (1, Some("reserved")), (2, Some("standing"))] {
        let world = World::new(true).await;
        world.store.before_read("projects/retail", read, async { Err(unavailable()) });
        let error = world.put(draft()).await.unwrap_err();
        assert!(error.is_retryable(), "read {read}: {error}");
        let documents = world.documents().await;
        let root = documents.get("logical-clouds/retail/shop");
        assert_eq!(root.and_then(|root| root["stage"].as_str()), left, "read {read}");
        let uid = root.map(|root| root["uid"].clone());
        world.put(draft()).await.unwrap();
        let made = world.documents().await["logical-clouds/retail/shop"]["uid"].clone();
        assert_eq!(uid.unwrap_or_else(|| made.clone()), made, "read {read}: it is the same cloud");
    }
}

#[tokio::test]
async fn a_cloud_that_is_applied_is_not_withdrawn_with_its_project() {
    let world = World::new(true).await;
    let other = world.clone();
    world.store.before_read("projects/retail", 2, async move {
        other.apply("shop").await.unwrap();
        let path = Path::new("projects/retail").unwrap();
        let project = other.memory.get(&path).await.unwrap().unwrap();
        let gone = Write::Delete { path, version: project.version };
        other.memory.write_one(gone).await.map(drop)
    });
    let error = world.put(draft()).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { kind: Kind::Project, .. }), "{error}");
    assert_eq!(world.state("shop").await, "instantiating", "what is on clusters keeps its documents");
}

#[tokio::test]
async fn owners_of_given_names_are_read_together_and_come_in_their_order() {
    let world = World::empty(true);
    let names: Vec<ProjectName> = (100..200).map(|number| name(&format!("p{number}"))).collect();
    for name in names.iter().filter(|name| name.as_str() != "p150") {
        let draft = MetadataDraft { name: name.to_string(), ..MetadataDraft::default() };
        world.projects.create(&world.caller, draft).await.unwrap();
    }
    world.store.at_once();
    let page = world.projects.list_of(&names, Some(&names[9]), Some(60)).await.unwrap();
    let read: Vec<_> = page.owners.iter().map(|owner| &owner.metadata.name).collect();
    let expected: Vec<_> = names[10..71].iter().filter(|name| name.as_str() != "p150").collect();
    assert_eq!((read, page.next), (expected, Some(names[70].clone())));
    assert_eq!(world.store.at_once(), 16);
}
