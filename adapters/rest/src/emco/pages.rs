//! Whole lists: EMCO has no pages.

use dcm_core::service::{Broken, Error};

/// A page of a list: its items, what can't be read, and where to go on.
pub(super) type Page<T, Name> = (Vec<T>, Vec<Broken>, Option<Name>);

/// All pages of a list. What can't be read is left out, and told in the log.
pub(super) async fn all<T, Name, F: Future<Output = Result<Page<T, Name>, Error>> + Send>(
    page: impl Fn(Option<Name>) -> F,
) -> Result<Vec<T>, Error> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let (items, broken, next) = page(after).await?;
        for Broken { path, reason } in broken {
            tracing::error!(%path, reason, "what can't be read is left out of a list");
        }
        all.extend(items);
        match next {
            Some(next) => after = Some(next),
            None => return Ok(all),
        }
    }
}
