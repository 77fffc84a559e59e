//! Promises about `release`.

use dcm_core::port::cluster::{
    ANNOTATION_GENERATION, ANNOTATION_MANIFEST, ANNOTATION_ORIGIN, Error, LABEL_CONTEXT, LABEL_OWNER,
    ORIGIN_ADOPTED, Object, Origin,
};
use serde_json::{Value, json};

use super::subject::{Subject, config_map, must, of_another_object, refused_as_another_state};

/// Releases an object that comes from there.
pub(super) async fn release(subject: &Subject, object: &Object, origin: Origin) -> Object {
    let (kind, key) = (&object.kind, &object.key);
    must(subject.cluster.release(&subject.call, kind, key, &object.precondition(), origin).await, "release")
}

/// Our labels and annotations are gone; all else, ours and others', stays.
pub async fn release_takes_our_marks_off_and_leaves_the_rest(subject: &Subject) {
    let namespace = subject.namespace("release").await;
    let mut body = config_map(&namespace, "c", &json!({"color": "red"}));
    body["metadata"]["labels"] = json!({"team": "a"});
    subject.create(&body).await;
    subject.edit(&body, json!({"metadata": {"annotations": {"theirs": "b"}}, "data": {"theirs": "c"}})).await;
    let before = subject.there(&body).await;
    release(subject, &before, Origin::Created).await;
    let after = subject.there(&body).await;
    assert_eq!((after.uid, after.marks), (before.uid, None));
    let metadata = &after.body["metadata"];
    let is_marked = |member: &str, mark: &str| metadata[member].get(mark).is_some();
    assert!(!is_marked("labels", LABEL_OWNER) && !is_marked("labels", LABEL_CONTEXT));
    assert!(
        !is_marked("annotations", ANNOTATION_GENERATION) && !is_marked("annotations", ANNOTATION_MANIFEST)
    );
    assert_eq!(after.body["data"], json!({"color": "red", "theirs": "c"}));
    assert_eq!(metadata["labels"]["team"], "a");
    assert_eq!(metadata["annotations"]["theirs"], "b");
    subject.clean_up("release").await;
}

/// What we wrote is not ours any more: a later manifest that doesn't say it leaves it there.
pub async fn release_gives_up_what_we_wrote(subject: &Subject) {
    let namespace = subject.namespace("give-up").await;
    let first = config_map(&namespace, "c", &json!({"color": "red", "size": "1"}));
    subject.create(&first).await;
    must(subject.update(&first, false).await, "update");
    release(subject, &subject.there(&first).await, Origin::Created).await;
    let adopted =
        must(subject.update(&config_map(&namespace, "c", &json!({"size": "2"})), false).await, "update");
    assert_eq!(adopted.body["data"], json!({"color": "red", "size": "2"}));
    subject.clean_up("give-up").await;
}

/// What only we said of an adopted object goes; what others said, alone or with us, stays.
pub async fn release_leaves_what_was_adopted_as_it_was(subject: &Subject) {
    let namespace = subject.namespace("give-back").await;
    let mut theirs = config_map(&namespace, "c", &json!({"color": "red"}));
    theirs["metadata"]["labels"] = json!({"team": "a"});
    must(subject.other.create(&theirs).await, "an object of somebody else");
    let before = subject.there(&theirs).await;
    let mut ours = config_map(&namespace, "c", &json!({"color": "red", "size": "1"}));
    ours["metadata"]["labels"] = json!({"team": "a", "tier": "gold"});
    ours["metadata"]["annotations"] = json!({"note": "ours"});
    let adopted = must(subject.adopt(&ours).await, "adopt");
    assert_eq!(adopted.body["data"], json!({"color": "red", "size": "1"}));
    assert_eq!(adopted.body["metadata"]["labels"]["tier"], "gold");
    release(subject, &adopted, Origin::Adopted).await;
    let after = subject.there(&ours).await;
    assert_eq!((&after.uid, &after.marks), (&before.uid, &None));
    for member in ["/data", "/metadata/labels", "/metadata/annotations"] {
        assert_eq!(after.body.pointer(member), before.body.pointer(member), "{member}");
    }
    subject.clean_up("give-back").await;
}

/// Where an object comes from, the caller states: what another client writes in the marks on it changes nothing.
pub async fn release_ignores_the_origin_on_the_object(subject: &Subject) {
    let namespace = subject.namespace("forged-origin").await;
    let body = config_map(&namespace, "c", &json!({"color": "red"}));
    subject.create(&body).await;
    subject.edit(&body, json!({"metadata": {"annotations": {ANNOTATION_ORIGIN: ORIGIN_ADOPTED}}})).await;
    release(subject, &subject.there(&body).await, Origin::Created).await;
    let after = subject.there(&body).await;
    assert_eq!((&after.marks, &after.body["data"]), (&None, &json!({"color": "red"})));
    subject.clean_up("forged-origin").await;
}

/// With another state than the object's it is a `Conflict`, for another or no object perhaps `NotFound`, and changes
/// nothing.
pub async fn release_needs_the_observed_state(subject: &Subject) {
    let namespace = subject.namespace("release-state").await;
    let body = config_map(&namespace, "c", &Value::Object(serde_json::Map::new()));
    let made = subject.create(&body).await;
    subject.edit(&body, json!({"data": {"color": "blue"}})).await;
    let before = subject.there(&body).await;
    for observed in [made.precondition(), of_another_object(&before)] {
        let result =
            subject.cluster.release(&subject.call, &made.kind, &made.key, &observed, Origin::Created).await;
        refused_as_another_state(&result, &observed, &before);
        assert_eq!(subject.there(&body).await.resource_version, before.resource_version);
    }
    subject.delete(&body).await;
    let result = subject
        .cluster
        .release(&subject.call, &made.kind, &made.key, &before.precondition(), Origin::Created)
        .await;
    assert!(matches!(result, Err(Error::NotFound | Error::Conflict)), "{result:?}");
    assert!(subject.get(&body).await.is_none(), "it was made");
    subject.clean_up("release-state").await;
}
