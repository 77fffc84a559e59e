//! The rule about a document that can't be read.

use dcm_core::port::store::{Entry, Error, PageRequest, Prefix, StoreExt, Version, Write};

use super::Subject;
use super::subject::{Follower, Told, content};

/// It is there and says so to whoever reads, lists or watches, and all others are read, listed, watched and written as ever. Who
/// writes it replaces it, or is told that nobody can.
pub async fn a_damaged_document_hides_no_other_and_says_so(subject: &Subject) {
    let before = subject.create("a/1", 1).await;
    let whole = subject.create("b", 2).await;
    subject.create("c/1", 3).await;
    let mut watch = subject.watch().await;
    if !subject.damage("b").await {
        return;
    }
    let damaged = subject.get("b").await.expect("what is damaged is there");
    says_so(subject, &damaged);
    assert_eq!(subject.beside().await.get(&damaged.path).await.expect("get").as_ref(), Some(&damaged));
    is_listed(subject, &damaged).await;
    let refused = subject.write(subject.creation("b", 4)).await.expect_err("a create of what is there");
    is_refusal(&damaged, &refused);
    let update = subject.update("b", damaged.version, 5);
    let (written, beside) =
        futures::join!(subject.write(update), subject.write(subject.update("a/1", before, 6)));
    is_replaced_or_stays(subject, &damaged, written).await;
    until_beside(subject, &mut watch, whole, beside.expect("a write beside it")).await;
    // Also to those who watch from now on.
    let mut later = subject.watch().await;
    let last = subject.create("c/2", 7).await;
    later.until_put(&subject.path("c/2"), last).await;
}

fn says_so(subject: &Subject, entry: &Entry) {
    let error = entry.document.text().expect_err("a damaged document");
    assert!(error.to_string().contains(entry.path.as_str()), "it is not named: {error}");
    assert!(!error.is_retryable(), "asking again mends nothing: {error:?}");
    assert_eq!(entry.path, subject.path("b"));
}

/// Lists show it in its place, in the whole and as a page, and those of other folders know nothing of it.
async fn is_listed(subject: &Subject, damaged: &Entry) {
    let store = subject.store();
    let all = store.list_all(&subject.prefix()).await.expect("list");
    let names: Vec<String> = all.iter().map(|entry| subject.name(&entry.path)).collect();
    assert_eq!(names, ["a/1", "b", "c/1"]);
    assert_eq!(&all[1], damaged);
    assert_eq!((content(&all[0]), content(&all[2])), (1, 3));
    let mut request = PageRequest { after: Some(subject.path("a/1")), limit: Some(1) };
    let page = store.list(&subject.prefix(), &request).await.expect("list");
    assert_eq!((page.entries, &page.next), (vec![damaged.clone()], &Some(damaged.path.clone())));
    request.after = page.next;
    assert_eq!(store.list(&subject.prefix(), &request).await.expect("list").entries, all[2..]);
    for (folder, place) in [("a", 0), ("c", 2)] {
        let below = Prefix::below(&subject.path(folder));
        assert_eq!(store.list_all(&below).await.expect("list"), all[place..=place]);
    }
}

/// Refuses any error but a conflict that says which version there is, or, where nobody can say it, one that names the document.
fn is_refusal(damaged: &Entry, error: &Error) {
    match error {
        Error::Conflict { path, found } if damaged.version != Version::UNREADABLE => {
            assert_eq!((path, *found), (&damaged.path, Some(damaged.version)));
        }
        Error::Failed { reason, .. } if damaged.version == Version::UNREADABLE => {
            assert!(reason.contains(damaged.path.as_str()), "it is not named: {error:?}");
        }
        error => panic!("{error:?}"),
    }
}

/// What comes of a write that names the version which is shown.
async fn is_replaced_or_stays(subject: &Subject, damaged: &Entry, written: Result<Version, Error>) {
    let found = subject.get("b").await.expect("what was damaged is there");
    match written {
        Ok(version) => {
            assert!(damaged.version != Version::UNREADABLE && version > damaged.version);
            assert_eq!((found.version, content(&found)), (version, 5));
            let delete = Write::Delete { path: damaged.path.clone(), version };
            subject.write(delete).await.expect("delete");
        }
        Err(error) => {
            assert_eq!(damaged.version, Version::UNREADABLE, "a write that names the version: {error:?}");
            is_refusal(damaged, &error);
            assert_eq!(&found, damaged, "nothing of a failed write happens");
        }
    }
}

/// Reads until the write beside it is told. Of what is damaged it may be told as it was before, that it is damaged, and what came
/// of the write of it.
async fn until_beside(subject: &Subject, watch: &mut Follower, whole: Version, beside: Version) {
    loop {
        match watch.next("a write beside what is damaged").await {
            Told::Put(entry) if entry.path == subject.path("a/1") && entry.version == beside => return,
            Told::Put(entry) if entry.path == subject.path("b") && entry.version != whole => {
                if entry.document.text().is_err() || content(&entry) != 5 {
                    says_so(subject, &entry);
                }
            }
            Told::Put(_) | Told::Deleted(_) => {}
        }
    }
}
