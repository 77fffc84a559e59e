//! The parts of a logical cloud by their names, as the model has them: in that order, so that one is found and a page is made without
//! a look at the others.

use dcm_core::logical_cloud::{ClusterReference, KeyValues, Permission, Quota, User};

/// A part of a logical cloud.
pub(crate) trait Named {
    /// What names it among those of its kind.
    fn name(&self) -> &str;
}

macro_rules! named {
    ($($part:ty),+) => {
        $(impl Named for $part {
            fn name(&self) -> &str {
                self.metadata.name.as_str()
            }
        })+
    };
}

named!(ClusterReference, KeyValues, Permission, Quota, User);

/// The part of this name.
pub(crate) fn find<'a, P: Named>(parts: &'a [P], name: &str) -> Option<&'a P> {
    let index = parts.binary_search_by(|part| part.name().cmp(name)).ok()?;
    parts.get(index)
}

/// At most so many parts behind a name, and whether there are more.
pub(crate) fn page<'a, P: Named>(parts: &'a [P], after: Option<&str>, limit: usize) -> (&'a [P], bool) {
    let begin = after.map_or(0, |after| parts.partition_point(|part| part.name() <= after));
    let behind = parts.get(begin..).unwrap_or_default();
    match behind.split_at_checked(limit) {
        Some((page, more)) => (page, !more.is_empty()),
        None => (behind, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Part(&'static str);

    impl Named for Part {
        fn name(&self) -> &str {
            self.0
        }
    }

    const PARTS: [Part; 4] = [Part("B"), Part("a"), Part("a-b"), Part("a.b")];

    #[test]
    fn a_page_begins_behind_a_name_and_says_whether_there_is_more() {
        let page = |after: Option<&str>, limit: usize| {
            let (page, is_more) = page(&PARTS, after, limit);
            (page.iter().map(Named::name).collect::<Vec<_>>(), is_more)
        };
        assert_eq!(page(None, 2), (vec!["B", "a"], true));
        assert_eq!(page(Some("a"), 2), (vec!["a-b", "a.b"], false));
        assert_eq!(page(Some("a"), 9), (vec!["a-b", "a.b"], false));
        // Behind a name that is not there.
        assert_eq!(page(Some("C"), 1), (vec!["a"], true));
        assert_eq!(page(Some("z"), 1), (vec![], false));
    }

    #[test]
    fn a_part_is_found_by_its_name() {
        assert!(PARTS.iter().all(|part| find(&PARTS, part.0).is_some_and(|found| found.0 == part.0)));
        assert!(find(&PARTS, "b").is_none());
    }
}
