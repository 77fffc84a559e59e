//! How a document with a MAC looks where it is kept.
//!
//! The MAC is the last member of a document that is an object, `{…,"$mac":{"key":"k1","tag":"…"}}`, so that people and their
//! tools find all other members where they are. Any other document is a member itself: `{"$value":…,"$mac":{…}}`. The text
//! around it is given back to the letter.

use dcm_core::port::store::Document;

/// Most bytes that a MAC adds to a document: its member with the longest id of a key, and what surrounds a document that is no
/// object.
pub(crate) const MAC_BYTES_MAX: usize = 160;

/// What stands before the id of the key.
const KEY: &str = r#","$mac":{"key":""#;

/// What stands between the id of the key and the tag.
const TAG: &str = r#"","tag":""#;

/// What stands behind the tag.
const END: &str = r#""}}"#;

/// What stands before a document that is no object.
const VALUE: &str = r#"{"$value":"#;

/// The parts of a document with a MAC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signed<'t> {
    /// The document itself, without its last byte where that is the end of an object.
    begin: &'t str,
    /// What follows it.
    end: &'static str,
    /// The id of the key.
    #[cfg_attr(not(feature = "encrypted"), allow(dead_code))]
    pub(crate) key: &'t str,
    /// The MAC itself.
    #[cfg_attr(not(feature = "encrypted"), allow(dead_code))]
    pub(crate) tag: &'t str,
}

impl<'t> Signed<'t> {
    /// Takes a text apart; none when it has not the form of one with a MAC. Neither an id of a key nor a tag has a quotation mark,
    /// and both are short: a longer member counts for the size of the document.
    pub(crate) fn parse(text: &'t str) -> Option<Self> {
        let (rest, tag) = text.strip_suffix(END)?.rsplit_once(TAG)?;
        let (content, key) = rest.rsplit_once(KEY)?;
        let fits = text.len() - content.len() <= MAC_BYTES_MAX;
        if !fits || key.contains('"') || tag.contains('"') {
            return None;
        }
        Some(match content.strip_prefix(VALUE) {
            Some(value) => Self { begin: value, end: "", key, tag },
            None => Self { begin: content, end: "}", key, tag },
        })
    }

    /// The document itself, in parts that follow one another.
    pub(crate) fn content(&self) -> [&'t str; 2] {
        [self.begin, self.end]
    }
}

/// A document with a MAC.
#[cfg(feature = "encrypted")]
pub(crate) fn join(content: &str, key: &str, tag: &str) -> String {
    let [begin, content] = match members(content) {
        Some(members) => ["", members],
        None => [VALUE, content],
    };
    [begin, content, KEY, key, TAG, tag, END].concat()
}

/// An object that has members, without its end.
#[cfg(feature = "encrypted")]
fn members(content: &str) -> Option<&str> {
    let members = content.strip_suffix('}')?;
    (members.starts_with("{\"") && !members.starts_with(VALUE)).then_some(members)
}

/// The size of a document, without its MAC where it has one.
pub(crate) fn bytes(document: &Document) -> usize {
    let text = document.as_str();
    Signed::parse(text).map_or(text.len(), |signed| signed.content().iter().map(|part| part.len()).sum())
}

#[cfg(all(test, feature = "encrypted"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn content(text: &str) -> Option<String> {
        Signed::parse(text).map(|signed| signed.content().concat())
    }

    #[test]
    fn a_mac_is_the_last_member_of_an_object_and_stands_beside_anything_else() {
        for (text, expected) in [
            (r#"{"a":1}"#, r#"{"a":1,"$mac":{"key":"k1","tag":"AA=="}}"#),
            ("[1]", r#"{"$value":[1],"$mac":{"key":"k1","tag":"AA=="}}"#),
            ("{}", r#"{"$value":{},"$mac":{"key":"k1","tag":"AA=="}}"#),
            (r#"{"$value":1}"#, r#"{"$value":{"$value":1},"$mac":{"key":"k1","tag":"AA=="}}"#),
        ] {
            let joined = join(text, "k1", "AA==");
            assert_eq!(joined, expected);
            let signed = Signed::parse(&joined).unwrap();
            assert_eq!((signed.key, signed.tag, signed.content().concat().as_str()), ("k1", "AA==", text));
        }
    }

    #[test]
    fn what_has_not_the_form_has_no_mac() {
        for text in [
            "",
            "{}",
            r#"{"a":1}"#,
            r#"{"$mac":{"key":"k1","tag":"AA=="}}"#,
            r#"{"a":1,"$mac":{"tag":"AA==","key":"k1"}}"#,
            r#"{"a":1,"$mac":{"key":"k1","tag":"AA=="},"b":1}"#,
            r#"{"a":1,"$mac":{"key":"k1","tag":"AA=="}} "#,
            r#"{"a":1,"$mac":{"key":"k1","more":"1","tag":"AA=="}}"#,
        ] {
            assert_eq!(content(text), None, "{text}");
        }
    }

    #[test]
    fn a_member_that_is_longer_than_a_mac_counts_for_the_size() {
        let text = join(r#"{"a":1}"#, &"k".repeat(MAC_BYTES_MAX), "AA==");
        assert_eq!(content(&text), None);
        assert_eq!(bytes(&Document::from_stored(text.clone())), text.len());
    }

    proptest! {
        #[test]
        fn any_text_comes_back_to_the_letter(
            text in prop_oneof![any::<String>(), "[{}\"$a-z:,]{0,40}"],
            again in any::<bool>(),
        ) {
            let text = if again { join(&text, "k", "AA==") } else { text };
            let joined = join(&text, &"k".repeat(64), &"A".repeat(44));
            prop_assert!(joined.len() <= text.len() + MAC_BYTES_MAX);
            prop_assert_eq!(content(&joined), Some(text.clone()));
            prop_assert_eq!(bytes(&Document::from_stored(joined)), text.len());
        }
    }
}
