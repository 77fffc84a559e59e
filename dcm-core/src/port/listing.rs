//! Going through lists of a [cluster](super::cluster), without holding what nobody needs.

use futures::StreamExt as _;

use super::cluster::{Call, Cluster, Error, Object, Watch, WatchEvent};
use crate::manifest::GroupVersionKind;

/// How often a list is begun whose next page is no longer kept.
const BEGINNINGS_MAX: usize = 3;

/// Most pages of a list that bring nothing to hold on to: it ends one that a cluster goes on with for ever.
const PAGES_MAX: usize = 10_000;

/// Most objects that are kept of a list.
const KEPT_MAX: usize = 100_000;

/// Lists all objects of a kind, page by page, and keeps of each what this makes of it.
///
/// # Errors
/// [`Error`]; [`Error::Unsupported`] for a list that does not end, or of which too much is kept.
pub async fn list_all<T>(
    cluster: &dyn Cluster,
    call: &Call,
    kind: &GroupVersionKind,
    namespace: Option<&str>,
    mut keep: impl FnMut(Object) -> Option<T>,
) -> Result<Vec<T>, Error> {
    let (mut kept, mut begun, mut next) = (Vec::new(), 1, None);
    for _ in 0..PAGES_MAX {
        let page = match cluster.list(call, kind, namespace, next.as_ref()).await {
            Err(Error::Gone) if next.is_some() && begun < BEGINNINGS_MAX => {
                (begun, next) = (begun + 1, None);
                kept.clear();
                continue;
            }
            page => page?,
        };
        kept.extend(page.objects.into_iter().filter_map(&mut keep));
        if kept.len() > KEPT_MAX {
            return Err(endless(kind, &format!("{KEPT_MAX} objects to keep")));
        }
        next = page.next;
        if next.is_none() {
            return Ok(kept);
        }
    }
    Err(endless(kind, &format!("{PAGES_MAX} pages")))
}

/// Reads the list that a watch begins with, and keeps of each object what this makes of it. The pages of a list that
/// begins anew count no more.
///
/// # Errors
/// [`Error`]; [`Error::Unsupported`] where too much is kept.
pub async fn listed<T>(
    watch: &mut Watch,
    kind: &GroupVersionKind,
    mut keep: impl FnMut(Object) -> Option<T>,
) -> Result<Vec<T>, Error> {
    let mut kept = Vec::new();
    while let Some(event) = watch.next().await.transpose()? {
        let (objects, is_last) = match event {
            WatchEvent::Listing(objects) => (objects, false),
            WatchEvent::Listed(objects) => (objects, true),
            WatchEvent::Relisting => {
                kept.clear();
                continue;
            }
            WatchEvent::Applied(_) | WatchEvent::Deleted(_) => break,
        };
        kept.extend(objects.into_iter().filter_map(&mut keep));
        if kept.len() > KEPT_MAX {
            return Err(endless(kind, &format!("{KEPT_MAX} objects to keep")));
        }
        if is_last {
            break;
        }
    }
    Ok(kept)
}

fn endless(kind: &GroupVersionKind, limit: &str) -> Error {
    Error::Unsupported { what: format!("a list of {kind} with more than {limit}") }
}
