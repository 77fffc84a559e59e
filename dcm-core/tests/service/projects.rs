//! Projects.

use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::service::{EditOutcome, Error, Kind};

use crate::support::{World, draft, name};

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
    let (page, next) = world.projects.list(None, Some(2)).await.unwrap();
    let names: Vec<_> = page.iter().map(|project| project.metadata.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let (page, next) = world.projects.list(next.as_ref(), Some(2)).await.unwrap();
    assert_eq!((page.len(), next), (1, None));
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
