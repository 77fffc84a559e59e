//! Rules about batches.

use dcm_core::port::store::{
    BATCH_BYTES_MAX, BATCH_WRITES_MAX, DOCUMENT_BYTES_MAX, Document, Error, PATH_BYTES_MAX, Write,
};

use super::Subject;
use super::subject::content;

/// In the order of the writes; of a deleted document the version that it had.
pub async fn a_batch_gives_the_version_of_each_write(subject: &Subject) {
    let (old, gone) = (subject.create("old", 1).await, subject.create("gone", 1).await);
    let batch = [subject.creation("new", 2), subject.deletion("gone", gone), subject.update("old", old, 2)];
    let versions = subject.batch(&batch).await.expect("batch");
    assert_eq!(versions.len(), 3);
    assert_eq!(versions[1], gone);
    let listed = subject.list().await;
    let expected = [("new".to_owned(), versions[0]), ("old".to_owned(), versions[2])];
    assert_eq!(listed.into_iter().collect::<Vec<_>>(), expected);
    assert!(versions[2] > old);
}

/// With atomic batches all or none is applied. Without, the writes before the failed one stay, and the error says how
/// many they are.
pub async fn a_failed_batch_says_what_stays(subject: &Subject) {
    let (taken, old) = (subject.create("taken", 1).await, subject.create("old", 1).await);
    let batch = [
        subject.creation("first", 2),
        subject.update("old", old, 2),
        subject.creation("taken", 2),
        subject.creation("last", 2),
    ];
    let error = subject.batch(&batch).await.expect_err("a batch with a conflict");
    subject.assert_conflict(&error.source, "taken", Some(taken));
    let stays = !subject.store().capabilities().atomic_batches;
    assert_eq!(error.applied, if stays { 2 } else { 0 });
    assert_eq!(subject.get("first").await.is_some(), stays);
    assert_eq!(content(&subject.get("old").await.expect("old")), if stays { 2 } else { 1 });
    assert_eq!(content(&subject.get("taken").await.expect("taken")), 1);
    assert_eq!(subject.get("last").await, None);
}

/// What breaks a rule of the contract is refused as a whole, by every store.
pub async fn a_refused_batch_changes_nothing(subject: &Subject) {
    let large = Document::from_stored(format!("\"{}\"", "x".repeat(DOCUMENT_BYTES_MAX)));
    let batch = [subject.creation("fine", 1), Write::Create { path: subject.path("large"), document: large }];
    let error = subject.batch(&batch).await.expect_err("a batch with too large a document");
    assert!(matches!(error.source, Error::Invalid { .. }), "{error:?}");
    assert_eq!(error.applied, 0);
    assert!(subject.list().await.is_empty());
}

/// Nothing to do is done.
pub async fn an_empty_batch_does_nothing(subject: &Subject) {
    assert!(subject.batch(&[]).await.expect("an empty batch").is_empty());
}

/// Batches of the whole length that the contract allows, and no longer.
pub async fn the_largest_batch_is_applied_and_a_larger_one_refused(subject: &Subject) {
    let batch = |folder: &str, writes: usize| -> Vec<Write> {
        (0..writes).map(|number| subject.creation(&format!("{folder}/{number}"), 1)).collect()
    };
    let error = subject.batch(&batch("larger", BATCH_WRITES_MAX + 1)).await.expect_err("too large a batch");
    assert!(matches!(error.source, Error::Invalid { .. }), "{error:?}");
    assert_eq!(error.applied, 0);
    assert!(subject.list().await.is_empty());
    let versions = subject.batch(&batch("largest", BATCH_WRITES_MAX)).await.expect("the largest batch");
    assert_eq!((versions.len(), subject.list().await.len()), (BATCH_WRITES_MAX, BATCH_WRITES_MAX));
}

/// Also with as many writes as there may be, and the longest paths.
pub async fn the_heaviest_batch_is_applied_and_a_heavier_one_refused(subject: &Subject) {
    let text = format!("\"{}\"", "x".repeat(BATCH_BYTES_MAX / BATCH_WRITES_MAX - 2));
    let filler = "p".repeat(PATH_BYTES_MAX - subject.prefix().as_str().len() - 3);
    let write = |number: usize, text: &str| Write::Create {
        path: subject.path(&format!("{number:03}{filler}")),
        document: Document::from_stored(text),
    };
    let mut batch: Vec<Write> = (0..BATCH_WRITES_MAX).map(|number| write(number, &text)).collect();
    assert_eq!(batch.iter().map(Write::bytes).sum::<usize>(), BATCH_BYTES_MAX);
    batch[0] = write(0, &format!("{text} "));
    let error = subject.batch(&batch).await.expect_err("too heavy a batch");
    assert!(matches!(error.source, Error::Invalid { .. }), "{error:?}");
    assert!(subject.list().await.is_empty());
    batch[0] = write(0, &text);
    subject.batch(&batch).await.expect("the heaviest batch");
    assert_eq!(subject.list().await.len(), BATCH_WRITES_MAX);
}

/// Whatever the two writes are: what a batch does must not hang on their order.
pub async fn two_writes_of_one_path_are_refused(subject: &Subject) {
    let version = subject.create("a", 1).await;
    for second in [subject.creation("a", 2), subject.update("a", version, 2), subject.deletion("a", version)]
    {
        let batch = [subject.creation("b", 2), subject.update("a", version, 2), second];
        let error = subject.batch(&batch).await.expect_err("two writes of one path");
        assert!(matches!(error.source, Error::Invalid { .. }), "{error:?}");
        assert_eq!(error.applied, 0);
    }
    assert_eq!(subject.list().await.into_iter().collect::<Vec<_>>(), [("a".to_owned(), version)]);
}
