//! Writing several documents, in order, on any store.

use crate::port::in_order::InOrder;
use crate::port::store::{Document, Entry, Error, Path, Prefix, Store, StoreExt, Write};

/// How often a folder is listed again while somebody still writes into it.
const LISTS_MAX: usize = 8;

/// Applies writes in order, in as few batches as the limits allow. A write that conflicts is passed over where
/// `passes_over` says so of its path, and else ends it: those before it stay, those after it don't happen.
pub(super) async fn write_in_order(
    store: &dyn Store,
    writes: Vec<Write>,
    passes_over: impl Fn(&Path) -> bool,
) -> Result<(), Error> {
    let mut writes = InOrder::new(writes);
    while let Some(conflict) = writes.go_on(store).await? {
        if !passes_over(conflict.write.path()) {
            return Err(conflict.into_error());
        }
    }
    Ok(())
}

/// Deletes documents, as they were read; one that was changed or is gone is passed over.
pub(super) async fn delete(
    store: &dyn Store,
    entries: impl IntoIterator<Item = &Entry>,
) -> Result<(), Error> {
    let delete = |entry: &Entry| Write::Delete { path: entry.path.clone(), version: entry.version };
    let writes = entries.into_iter().map(delete).collect();
    write_in_order(store, writes, |_| true).await
}

/// Deletes everything below a prefix.
pub(super) async fn delete_below(store: &dyn Store, prefix: &Prefix) -> Result<(), Error> {
    for _ in 0..LISTS_MAX {
        let entries = store.list_all(prefix).await?;
        if entries.is_empty() {
            return Ok(());
        }
        delete(store, &entries).await?;
    }
    Ok(())
}

/// Makes a document, or replaces the one that was read.
pub(super) fn put(path: Path, read: Option<&Entry>, document: Document) -> Write {
    match read {
        Some(entry) => Write::Update { path, version: entry.version, document },
        None => Write::Create { path, document },
    }
}
