//! Records of controllers.

use dcm_core::controller::{ControllerDraft, ControllerGroup};
use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::name::ControllerName;
use dcm_core::service::{ControllerPage, EditOutcome, Error, Kind, Precondition, Presence};

use crate::service::support::{World, name};

const GROUP: ControllerGroup = ControllerGroup::Orchestrator;

fn draft(name: &str, port: i64) -> ControllerDraft {
    let metadata = MetadataDraft { name: name.into(), ..MetadataDraft::default() };
    ControllerDraft { metadata, host: "it.example".into(), port, ..ControllerDraft::default() }
}

#[tokio::test]
async fn a_controller_is_recorded_once_changed_read_and_deleted() {
    let (world, any) = (World::empty(true), Precondition::default());
    let put = async |port, condition: Precondition<_>| {
        world.controllers.put(&world.caller, GROUP, draft("rsync", port), &condition).await
    };
    let (made, outcome) = put(9031, Presence::Absent.into()).await.unwrap();
    assert_eq!((outcome, made.record.spec.port), (EditOutcome::Created, 9031));
    assert_eq!(put(9031, any.clone()).await.unwrap(), (made.clone(), EditOutcome::Unchanged));
    let error = put(9032, Presence::Absent.into()).await.unwrap_err();
    assert_eq!(error.to_string(), "there is a controller rsync already");
    let as_read = Precondition { known: Some(vec![made.revision.clone()]), ..Precondition::default() };
    let (changed, outcome) = put(9032, as_read.clone()).await.unwrap();
    assert_eq!((outcome, &changed.created), (EditOutcome::Changed, &made.created));
    assert!(matches!(put(9033, as_read.clone()).await, Err(Error::PreconditionFailed { .. })));
    let rsync: ControllerName = name("rsync");
    assert_eq!(world.controllers.get(GROUP, &rsync).await.unwrap(), changed);
    let delete = async |condition| world.controllers.delete(&world.caller, GROUP, &rsync, condition).await;
    assert!(matches!(delete(&as_read).await, Err(Error::PreconditionFailed { .. })));
    delete(&any).await.unwrap();
    assert!(matches!(delete(&any).await, Err(Error::NotFound { kind: Kind::Controller, .. })));
    assert!(world.documents().await.is_empty());
}

#[tokio::test]
async fn controllers_are_listed_by_their_group_in_which_their_names_are_unique() {
    let (world, any) = (World::empty(true), Precondition::default());
    for (group, name) in
        [(GROUP, "dtc"), (GROUP, "rsync"), (ControllerGroup::Cluster, "rsync"), (GROUP, "hpa")]
    {
        world.controllers.put(&world.caller, group, draft(name, 1), &any).await.unwrap();
    }
    let list = async |group, after: Option<&str>| {
        let after = after.map(name);
        let page = world.controllers.list(group, after.as_ref(), Some(2)).await.unwrap();
        let ControllerPage { controllers, next, .. } = page;
        let names = controllers.into_iter().map(|one| one.record.metadata.name.to_string());
        (names.collect::<Vec<_>>().join(" "), next.map(|next| next.to_string()))
    };
    assert_eq!(list(GROUP, None).await, ("dtc hpa".into(), Some("hpa".into())));
    assert_eq!(list(GROUP, Some("hpa")).await, ("rsync".into(), None));
    assert_eq!(list(ControllerGroup::Cluster, None).await, ("rsync".into(), None));
}
