//! The workflows, by name.

use dcm_core::port::synchronizer::Removal;
use dcm_core::service::{PartDraft, PartName, Remains};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::drafts::{
    edited, first, rival, selecting, short_lived, with_more_rights, without_ann, woven, woven_elsewhere,
    woven_for_nobody,
};
use super::outcome::Numbers;
use super::stage::Behind::{Fake, Records};
use super::step::Step::{self, *};
use super::{Workflow, holds};
use crate::service::support::{name, permission, user};

/// A project with clusters.
const FURNISHED: &[Step] = &[PutProject(""), Register("one"), Register("two"), Register("three")];

/// A cloud in it.
const WRITTEN: &[Step] = &[PutProject(""), Register("one"), Register("two"), Register("three"), Put(first)];

/// A cloud that is on its clusters.
const STANDING: &[Step] =
    &[PutProject(""), Register("one"), Register("two"), Register("three"), Put(first), Apply, Finish];

/// Seconds after which two thirds of a year are over.
const AUTHORITIES_ARE_DUE: u64 = 250 * 24 * 3600;

const CAREFULLY: Removal = Removal {
    delete_contents: false,
    remove_others_bindings: false,
    objects: None,
    bindings: None,
    deadline_seconds: None,
};

const WITH_CONTENTS: Removal = Removal { delete_contents: true, ..CAREFULLY };

#[tokio::test]
async fn living_a_whole_life() {
    let steps = &[
        PutProject(""),
        Register("one"),
        Register("two"),
        Register("three"),
        Put(first),
        Apply,
        Finish,
        Put(edited),
        DeletePart(|| PartName::User(name("zoe"))),
        Apply,
        Stop,
        Resume,
        Finish,
        Put(first),
        Apply,
        Finish,
        Terminate(CAREFULLY),
        Finish,
        Apply,
        Terminate(CAREFULLY),
        Finish,
        Delete,
        RemoveCluster("two", Remains::Refuse),
        DeleteProject,
    ];
    holds(Fake, &Workflow { before: &[], steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn making_changing_and_deleting_a_project() {
    let steps = &[
        CreateProject,
        PutProject("where people buy"),
        Refused(&Apply),
        Put(first),
        Refused(&DeleteProject),
        Delete,
        Put(first),
        Delete,
        DeleteProject,
        CreateProject,
        DeleteProject,
    ];
    let before = &[Register("one"), Register("two")];
    holds(Fake, &Workflow { before, steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn making_changing_and_deleting_a_cluster_provider() {
    let steps = &[
        PutProvider(""),
        PutProvider("in the shops"),
        Register("one"),
        Refused(&DeleteProvider),
        RemoveCluster("one", Remains::Refuse),
        DeleteProvider,
        Register("two"),
        RemoveCluster("two", Remains::Refuse),
        DeleteProvider,
    ];
    holds(Fake, &Workflow { before: &[], steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn recording_changing_and_deleting_a_controller() {
    let steps = &[
        PutController(9031),
        PutController(9032),
        Refused(&PutController(-1)),
        DeleteController,
        PutController(9031),
    ];
    holds(Fake, &Workflow { before: &[], steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn editing_the_parts_of_a_cluster() {
    let steps = &[
        PutLabel("east"),
        PutKeyValues("mesh"),
        Refused(&PutLabel("two words")),
        PutKeyValues("csr"),
        DeleteLabel("east"),
        DeleteKeyValues("mesh"),
        PutLabel("west"),
    ];
    holds(Fake, &Workflow { before: &[Register("one")], steps, numbers: Numbers::Same }).await;
}

fn part<T: DeserializeOwned>(draft: Value) -> T {
    serde_json::from_value(draft).unwrap()
}

fn token_user(name: &str) -> PartDraft {
    PartDraft::User(part(json!({"name": name, "type": "token"})))
}

#[tokio::test]
async fn editing_the_parts_of_a_cloud() {
    let steps = &[
        PutPart(|| PartDraft::User(part(user("eve")))),
        PutPart(|| token_user("eve")),
        PutPart(|| PartDraft::Permission(part(permission("look")))),
        PutPart(|| PartDraft::Quota(part(json!({"name": "small", "hard": {"pods": 5}})))),
        PutPart(|| {
            let three = json!({"name": "r3", "provider": "sim", "cluster": "three"});
            PartDraft::Reference(part(three))
        }),
        PutPart(|| PartDraft::KeyValues(part(json!({"name": "notes", "kv": [{"b": 1}]})))),
        Apply,
        DeletePart(|| PartName::User(name("eve"))),
        DeletePart(|| PartName::Permission(name("look"))),
        DeletePart(|| PartName::Quota(name("small"))),
        DeletePart(|| PartName::Reference(name("r3"))),
        DeletePart(|| PartName::KeyValues(name("notes"))),
        Put(edited),
        Put(first),
        Apply,
    ];
    holds(Fake, &Workflow { before: WRITTEN, steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn a_mesh_comes_goes_and_comes_back() {
    let steps = &[
        Put(woven),
        Apply,
        Finish,
        Put(first),
        Apply,
        Finish,
        Put(woven),
        Apply,
        Finish,
        Put(woven_elsewhere),
        Apply,
        Finish,
        Terminate(CAREFULLY),
        Finish,
        Delete,
    ];
    holds(Fake, &Workflow { before: FURNISHED, steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn authorities_of_a_mesh_are_renewed() {
    let steps =
        &[Put(woven_for_nobody), Apply, Finish, At(AUTHORITIES_ARE_DUE), RenewWhatIsDue, Finish, Apply];
    holds(Fake, &Workflow { before: FURNISHED, steps, numbers: Numbers::Later }).await;
}

#[tokio::test]
async fn users_go_come_back_and_change_what_they_have() {
    let steps = &[
        Put(without_ann),
        Apply,
        Finish,
        Put(first),
        Apply,
        Finish,
        PutPart(|| token_user("ann")),
        Apply,
        Finish,
        PutPart(|| PartDraft::User(part(json!({"name": "ann", "lifetimeSeconds": 900})))),
        Apply,
        Finish,
        Put(without_ann),
        Put(first),
        Apply,
    ];
    holds(Fake, &Workflow { before: STANDING, steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn terminating_and_applying_again() {
    let steps = &[
        Terminate(CAREFULLY),
        Refused(&Apply),
        Refused(&Delete),
        Terminate(WITH_CONTENTS),
        FinishIn("one"),
        Finish,
        Apply,
        FinishIn("one"),
        Terminate(CAREFULLY),
        Stop,
        Apply,
        Finish,
        Put(edited),
        Apply,
        Terminate(WITH_CONTENTS),
        Finish,
        Delete,
    ];
    holds(Fake, &Workflow { before: STANDING, steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn deleting_what_is_on_clusters() {
    let steps = &[
        Leave(CAREFULLY),
        FinishIn("one"),
        Stop,
        Apply,
        Finish,
        Leave(CAREFULLY),
        Leave(WITH_CONTENTS),
        Stop,
        Resume,
        Finish,
        Rounds,
        DeleteProject,
    ];
    holds(Fake, &Workflow { before: STANDING, steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn stopping_and_resuming() {
    let steps = &[
        Refused(&Stop),
        Apply,
        Stop,
        Resume,
        Stop,
        Put(edited),
        Apply,
        Stop,
        Apply,
        Stop,
        Terminate(CAREFULLY),
        Stop,
        Terminate(CAREFULLY),
        Stop,
        Resume,
        Finish,
        Refused(&Stop),
    ];
    holds(Fake, &Workflow { before: WRITTEN, steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn renewing_what_is_due() {
    let before = &[
        PutProject(""),
        Register("one"),
        Register("two"),
        Put(short_lived),
        IssueFor(0, 600),
        Apply,
        Finish,
    ];
    let steps = &[
        At(450),
        RenewWhatIsDue,
        IssueFor(450, 2850),
        FinishIn("one"),
        Apply,
        Finish,
        At(2060),
        Rounds,
        IssueFor(2400, 3000),
        Finish,
        Apply,
        Terminate(CAREFULLY),
        Finish,
        Delete,
    ];
    holds(Fake, &Workflow { before, steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn renewing_one_user() {
    let steps = &[Renew("ann"), Finish, Put(with_more_rights), Renew("bot"), Apply, Finish];
    holds(Fake, &Workflow { before: STANDING, steps, numbers: Numbers::Later }).await;
}

#[tokio::test]
async fn revoking_users() {
    let steps = &[
        Revoke("ann"),
        Finish,
        Put(with_more_rights),
        Revoke("bot"),
        Apply,
        Stop,
        Revoke("ann"),
        Finish,
        Put(without_ann),
        Revoke("ann"),
        Apply,
        Finish,
    ];
    holds(Fake, &Workflow { before: STANDING, steps, numbers: Numbers::Later }).await;
}

#[tokio::test]
async fn revoking_users_of_a_cloud_that_is_terminated() {
    let steps = &[Terminate(CAREFULLY), Revoke("ann"), Stop, Revoke("bot"), Finish, Apply, Finish];
    holds(Fake, &Workflow { before: STANDING, steps, numbers: Numbers::Later }).await;
}

#[tokio::test]
async fn revoking_a_user_who_keeps_the_key() {
    let steps = &[
        BringRequest("ann"),
        Apply,
        Finish,
        Refused(&Renew("ann")),
        Revoke("ann"),
        Finish,
        Refused(&Apply),
        BringRequest("ann"),
        Apply,
        Finish,
    ];
    holds(Fake, &Workflow { before: STANDING, steps, numbers: Numbers::Later }).await;
}

#[tokio::test]
async fn handing_out_again_when_a_cluster_has_another_address_and_authority() {
    let steps = &[
        HandOut("ann"),
        HandOut("bot"),
        Reach("one"),
        ReplaceKubeconfig("one"),
        Accept("one"),
        HandOut("ann"),
        Terminate(CAREFULLY),
        Finish,
        Delete,
    ];
    holds(Fake, &Workflow { before: STANDING, steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn going_on_after_an_old_copy_was_restored() {
    let steps = &[
        FindLaterChanges,
        Reconcile,
        Finish,
        Apply,
        Put(edited),
        FindLaterChanges,
        Reconcile,
        Apply,
        Stop,
        FindLaterChanges,
        Reconcile,
        Resume,
        Terminate(CAREFULLY),
        Reconcile,
    ];
    holds(Fake, &Workflow { before: STANDING, steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn changing_and_removing_clusters_that_clouds_are_on() {
    let steps = &[
        Put(selecting),
        Apply,
        Finish,
        Register("four"),
        ReplaceKubeconfig("four"),
        ReplaceNamespace("four"),
        StopCluster("four"),
        ResumeCluster("four"),
        Apply,
        Finish,
        Relabel("four"),
        Refused(&RemoveCluster("four", Remains::Refuse)),
        Apply,
        Refused(&RemoveCluster("four", Remains::Refuse)),
        Finish,
        RemoveCluster("four", Remains::Refuse),
        Terminate(CAREFULLY),
        FinishIn("one"),
        FinishIn("two"),
        Abandon("three"),
        Delete,
        Refused(&RemoveCluster("three", Remains::Refuse)),
        RemoveCluster("three", Remains::LeaveBehind),
        RemoveCluster("one", Remains::Refuse),
    ];
    holds(Fake, &Workflow { before: FURNISHED, steps, numbers: Numbers::Same }).await;
}

#[tokio::test]
async fn applying_what_another_cloud_is_in_the_way_of() {
    let steps = &[Put(rival), Refused(&ApplyRival), Terminate(CAREFULLY), Finish, Delete, ApplyRival, Finish];
    holds(Fake, &Workflow { before: STANDING, steps, numbers: Numbers::Later }).await;
}

#[tokio::test]
async fn the_records_of_the_engine_are_written_too() {
    let steps = &[
        Apply,
        Stop,
        Resume,
        Put(edited),
        Apply,
        Stop,
        Apply,
        Revoke("bot"),
        Terminate(CAREFULLY),
        Put(first),
        Apply,
        Reconcile,
        Terminate(WITH_CONTENTS),
        Delete,
    ];
    holds(Records, &Workflow { before: WRITTEN, steps, numbers: Numbers::Later }).await;
}
