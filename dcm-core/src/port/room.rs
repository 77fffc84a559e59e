//! What lies where in a store: a room for each kind of documents, told by the first segment of their paths.
//!
//! Whoever keeps documents in a store says which rooms are his: then a backend can name the keys of a document beside it, and
//! people find it by them.

use super::store::{Path, Prefix};

/// All documents whose paths begin with one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// That segment.
    pub name: &'static str,
    /// What the others are, in order: field names such as `project` or `logicalCloud`.
    pub keys: &'static [&'static str],
    /// What one of its documents is.
    pub holds: &'static str,
}

impl Room {
    /// The keys of a document of this room with their values; none for a path that is not of this room.
    pub fn keys_of<'p>(&self, path: &'p Path) -> Option<impl Iterator<Item = (&'static str, &'p str)>> {
        let mut segments = path.segments();
        (segments.next() == Some(self.name)).then(|| self.keys.iter().copied().zip(segments))
    }

    /// True when a document of this room may lie there: the path has all its keys, and no more.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        path.segments().next() == Some(self.name) && path.segments().count() == self.keys.len() + 1
    }

    /// The value of a key of a document; none for a path that is not of this room, or has no such key.
    #[must_use]
    pub fn key<'p>(&self, path: &'p Path, name: &str) -> Option<&'p str> {
        self.keys_of(path)?.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The path of the document with these keys, or the folder of those whose first keys they are.
    ///
    /// # Panics
    /// When a key is no legal segment of a path. Names and numbers are.
    #[must_use]
    pub fn at(&self, keys: &[&str]) -> Path {
        let text = [&[self.name], keys].concat().join("/");
        Path::new(&text).unwrap_or_else(|error| panic!("a key is no segment: {error}"))
    }

    /// Where all documents lie whose first keys these are.
    ///
    /// # Panics
    /// As [`Room::at`] does.
    #[must_use]
    pub fn below(&self, keys: &[&str]) -> Prefix {
        Prefix::below(&self.at(keys))
    }

    /// The paths of its documents, such as `projects/PROJECT`.
    #[must_use]
    pub fn pattern(&self) -> String {
        let keys = self.keys.iter().map(|key| format!("/{{{key}}}"));
        format!("{}{}", self.name, keys.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOUDS: Room = Room {
        name: "logical-clouds",
        keys: &["project", "logicalCloud"],
        holds: "the root of a logical cloud",
    };

    #[test]
    fn a_path_of_a_room_has_its_keys_and_no_other_one_has_any() {
        let path = Path::new("logical-clouds/p/c").unwrap();
        let keys: Vec<_> = CLOUDS.keys_of(&path).unwrap().collect();
        assert_eq!(keys, [("project", "p"), ("logicalCloud", "c")]);
        assert!(CLOUDS.keys_of(&Path::new("projects/p").unwrap()).is_none());
        assert_eq!((CLOUDS.key(&path, "logicalCloud"), CLOUDS.key(&path, "cluster")), (Some("c"), None));
        assert_eq!(CLOUDS.pattern(), "logical-clouds/{project}/{logicalCloud}");
        assert!(CLOUDS.contains(&path));
        for other in ["logical-clouds/p", "logical-clouds/p/c/d", "projects/p/c"] {
            assert!(!CLOUDS.contains(&Path::new(other).unwrap()), "{other}");
        }
    }

    #[test]
    fn a_document_lies_where_its_keys_say() {
        assert_eq!(CLOUDS.at(&["p", "c"]), Path::new("logical-clouds/p/c").unwrap());
        assert!(CLOUDS.below(&["p"]).contains(&CLOUDS.at(&["p", "c"])));
        assert!(!CLOUDS.below(&["q"]).contains(&CLOUDS.at(&["p", "c"])));
    }

    #[test]
    #[should_panic(expected = "a key is no segment")]
    fn an_empty_key_names_nothing() {
        let _ = CLOUDS.at(&[""]);
    }
}
