//! Rules about lists.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dcm_core::port::store::{
    BATCH_WRITES_MAX, Error, PAGE_MAX, Page, PageRequest, Path, Prefix, Store, StoreExt, Write,
};

use super::Subject;
use super::subject::document;

/// Names whose order differs by alphabet, case and folder, in bytewise order.
const ORDERED: [&str; 10] = ["B", "a", "a b", "a-b", "a.b", "a/b", "a/b/c", "a0", "b", "é"];

/// Documents that stay while others come and go.
const STAYING: usize = 40;

/// Lists while others write.
const LISTS: usize = 10;

async fn page(subject: &Subject, after: Option<Path>, limit: Option<usize>) -> Page {
    subject.store().list(&subject.prefix(), &PageRequest { after, limit }).await.expect("list")
}

fn names(subject: &Subject, page: &Page) -> Vec<String> {
    page.entries.iter().map(|entry| subject.name(&entry.path)).collect()
}

/// By the bytes of their paths, whatever the order of writing.
pub async fn lists_come_in_bytewise_order(subject: &Subject) {
    for name in ORDERED.iter().rev() {
        subject.create(name, 1).await;
    }
    let whole = page(subject, None, None).await;
    assert_eq!(names(subject, &whole), ORDERED);
    assert_eq!(whole.next, None);
}

/// Pages of any size join to the whole, and the last one says that it is.
pub async fn lists_come_in_pages_without_gaps_or_repeats(subject: &Subject) {
    for name in ORDERED {
        subject.create(name, 1).await;
    }
    for limit in [1, 3, ORDERED.len() - 1, ORDERED.len(), ORDERED.len() + 1] {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let part = page(subject, after, Some(limit)).await;
            seen.extend(names(subject, &part));
            let more = ORDERED.len() - seen.len();
            assert_eq!(part.next.is_some(), more > 0, "after {} of {} by {limit}", seen.len(), ORDERED.len());
            assert!(part.entries.len() == limit || more == 0, "a page that is not full is the last");
            match part.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, ORDERED, "by {limit}");
    }
}

/// Where to go on is a place, not a document; places before and behind the folder are none in it.
pub async fn a_page_goes_on_after_a_path_that_is_gone(subject: &Subject) {
    for name in ["a", "b", "c"] {
        subject.create(name, 1).await;
    }
    let first = page(subject, None, Some(2)).await;
    let gone = &first.entries[1];
    subject.write(Write::Delete { path: gone.path.clone(), version: gone.version }).await.expect("delete");
    assert_eq!(names(subject, &page(subject, first.next, Some(2)).await), ["c"]);
    let outside = |text: &str| Some(Path::new(text).expect("a path"));
    assert_eq!(names(subject, &page(subject, outside("!"), None).await), ["a", "c"]);
    assert!(page(subject, outside("~"), None).await.entries.is_empty());
}

/// Whatever is asked for, a page is bounded.
pub async fn a_page_has_at_most_the_maximum(subject: &Subject) {
    let writes: Vec<Write> =
        (0..=PAGE_MAX).map(|number| subject.creation(&format!("{number:04}"), 1)).collect();
    for batch in writes.chunks(BATCH_WRITES_MAX) {
        subject.batch(batch).await.expect("batch");
    }
    for limit in [None, Some(PAGE_MAX), Some(PAGE_MAX + 1), Some(usize::MAX)] {
        let first = page(subject, None, limit).await;
        assert_eq!(first.entries.len(), PAGE_MAX, "{limit:?}");
        let rest = page(subject, first.next, limit).await;
        assert_eq!((names(subject, &rest), rest.next), (vec![format!("{PAGE_MAX:04}")], None));
    }
    assert_eq!(subject.list().await.len(), PAGE_MAX + 1);
}

/// A list in such pages would never end.
pub async fn a_page_of_nothing_is_refused(subject: &Subject) {
    let listed = subject.store().list(&subject.prefix(), &PageRequest { after: None, limit: Some(0) }).await;
    assert!(matches!(listed, Err(Error::Invalid { .. })), "{listed:?}");
}

/// `projects` holds `projects/p`, not `projects` nor `projects2/p`; everything holds all of them.
pub async fn a_prefix_holds_what_is_below_its_folder_only(subject: &Subject) {
    let all =
        ["projects", "projects!/p", "projects-/p", "projects/p", "projects/p/x", "projects0", "projects2/p"];
    for name in all {
        subject.create(name, 1).await;
    }
    let below = |name: &str| Prefix::below(&subject.path(name));
    let list = async |prefix: Prefix| -> Vec<String> {
        let entries = subject.store().list_all(&prefix).await.expect("list");
        let ours = entries.iter().filter(|entry| subject.prefix().contains(&entry.path));
        ours.map(|entry| subject.name(&entry.path)).collect()
    };
    assert_eq!(list(below("projects")).await, ["projects/p", "projects/p/x"]);
    assert_eq!(list(below("projects/p")).await, ["projects/p/x"]);
    assert!(list(below("project")).await.is_empty());
    assert_eq!(list(Prefix::everything()).await, all);
}

/// Makes and removes these, until it is told to end.
async fn come_and_go(store: Arc<dyn Store>, paths: Vec<Path>, is_over: Arc<AtomicBool>) {
    while !is_over.load(Ordering::Relaxed) {
        let mut made = Vec::new();
        for path in &paths {
            let create = Write::Create { path: path.clone(), document: document(1) };
            made.push((path, store.write_one(create).await.expect("create")));
            // Stores that never wait would have nobody in between.
            tokio::task::yield_now().await;
        }
        for (path, version) in made {
            store.write_one(Write::Delete { path: path.clone(), version }).await.expect("delete");
            tokio::task::yield_now().await;
        }
    }
}

/// Whatever comes and goes between the pages, what nobody writes is listed, and once.
pub async fn a_list_neither_misses_nor_repeats_what_stays_while_others_write(subject: &Subject) {
    let staying: Vec<String> = (0..STAYING).map(|number| format!("{number:03}/stays")).collect();
    let create: Vec<Write> = staying.iter().map(|name| subject.creation(name, 1)).collect();
    subject.batch(&create).await.expect("batch");
    let coming = (0..STAYING).step_by(3).map(|number| subject.path(&format!("{number:03}/comes"))).collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(come_and_go(subject.beside().await, coming, is_over.clone()));
    for limit in 1..=LISTS {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let part = page(subject, after, Some(limit)).await;
            seen.extend(names(subject, &part).into_iter().filter(|name| name.ends_with("stays")));
            after = part.next;
            if after.is_none() {
                break;
            }
            tokio::task::yield_now().await;
        }
        assert_eq!(seen, staying, "by {limit}");
    }
    is_over.store(true, Ordering::Relaxed);
    writer.await.expect("the writer");
}
