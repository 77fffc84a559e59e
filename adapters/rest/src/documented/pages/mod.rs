//! What browsers show: the document as a page, and what problems mean.
//!
//! All of it is made on the server, once, and nothing on it comes from elsewhere or runs: one policy forbids it.

pub(super) mod docs;
pub(super) mod problem;
pub(super) mod problems;

mod fixed;
mod frame;
mod markdown;
mod operation;
mod schema;

pub(super) use super::meaning::PROBLEMS;
pub(super) use fixed::{Fixed, Known};

/// Where the document is shown.
pub(super) const DOCS: &str = "/docs";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::documented::meaning::path;
    use crate::documented::problem::Kind;

    /// The values of an attribute, in their order.
    fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
        let begin = format!(" {attribute}=\"");
        page.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn what_a_page_links_to_is_there() {
        let page = docs::page(&crate::documented::openapi());
        let ids = values(&page, "id");
        let places: BTreeSet<_> = ids.iter().copied().collect();
        assert_eq!(places.len(), ids.len(), "an id is there twice");
        let kinds = Kind::ALL.map(path);
        for link in values(&page, "href") {
            let is_there = match link.strip_prefix('#') {
                Some(id) => places.contains(id),
                None => {
                    [DOCS, PROBLEMS, crate::documented::openapi::PATH].contains(&link)
                        || kinds.iter().any(|kind| kind == link)
                }
            };
            assert!(is_there, "{link}");
        }
        let links: BTreeSet<_> = values(&page, "href").into_iter().collect();
        let schemas = places.iter().filter(|id| id.starts_with("schema-"));
        let unlinked: Vec<_> = schemas.filter(|id| !links.contains(&*format!("#{id}"))).collect();
        assert!(unlinked.is_empty(), "{unlinked:?}");
    }

    #[test]
    fn a_page_has_nothing_from_elsewhere_and_no_script() {
        let page = docs::page(&crate::documented::openapi());
        for foreign in
            ["<script", "<link", "<img", "<iframe", " src=", " style=", " onclick", "@import", "url("]
        {
            assert!(!page.contains(foreign), "{foreign}");
        }
        assert!(page.len() < 1024 * 1024, "{} bytes", page.len());
    }
}
