//! Where the items are in the JSON of a list, and how many values a JSON text has.
//!
//! A text of a few bytes can take many times its size as a tree of values (`[0,0,0,…]`). So its values are counted before it is
//! read, and of a list each item is read by itself.

use std::ops::Range;

/// The parts of a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Slices {
    /// The items, each a JSON text; of a text that breaks off those that are whole.
    pub(crate) items: Vec<Range<usize>>,
    /// Everything between the brackets of `items`.
    pub(crate) inner: Option<Range<usize>>,
    /// How many values there are, about: at least as many as a parser would make.
    pub(crate) values: usize,
}

/// The member whose elements are the items.
const ITEMS: &[u8] = b"items";

/// Looks through a JSON text, which may break off, up to so many values and one more. What is no JSON is for its parser to
/// refuse.
pub(crate) fn slice(text: &[u8], values_max: usize) -> Slices {
    let mut slices = Slices { values: 1, ..Slices::default() };
    let mut scan = Scan::default();
    let mut at = 0;
    while let Some(byte) = text.get(at).filter(|_| slices.values <= values_max) {
        match byte {
            b'"' => {
                let end = end_of_string(text, at + 1);
                scan.begins(at);
                if scan.depth == 1 && scan.items.is_none() {
                    scan.is_named = text.get(at + 1..end) == Some(ITEMS);
                }
                at = end;
            }
            b'{' | b'[' => {
                scan.begins(at);
                slices.values += 1;
                scan.depth += 1;
                if *byte == b'[' && scan.depth == 2 && std::mem::take(&mut scan.is_named) {
                    scan.items.get_or_insert(at + 1);
                    scan.is_inside = slices.inner.is_none();
                }
            }
            b'}' | b']' => {
                if scan.is_inside && scan.depth == 2 {
                    slices.items.extend(scan.begun.take().map(|begun| begun..at));
                    slices.inner = scan.items.map(|begun| begun..at);
                    scan.is_inside = false;
                }
                scan.depth = scan.depth.saturating_sub(1);
            }
            b',' => {
                slices.values += 1;
                if scan.is_inside && scan.depth == 2 {
                    slices.items.extend(scan.begun.take().map(|begun| begun..at));
                }
                scan.is_named &= scan.depth != 1;
            }
            b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => scan.begins(at),
        }
        at += 1;
    }
    slices
}

#[derive(Default)]
struct Scan {
    depth: usize,
    /// The name of the member that is being looked at is that of the items.
    is_named: bool,
    /// Where the items begin.
    items: Option<usize>,
    /// Between their brackets.
    is_inside: bool,
    /// Where the item begins that is being looked at.
    begun: Option<usize>,
}

impl Scan {
    /// A value begins here, which may be an item.
    fn begins(&mut self, at: usize) {
        if self.is_inside && self.depth == 2 {
            self.begun.get_or_insert(at);
        }
    }
}

/// Where the string ends that begins here: at its quotation mark, or with the text.
fn end_of_string(text: &[u8], mut at: usize) -> usize {
    loop {
        let rest = text.get(at..).unwrap_or_default();
        match rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
            None => return text.len(),
            Some(next) if rest[next] == b'"' => return at + next,
            Some(next) => at += next + 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn items(text: &str) -> Vec<&str> {
        slice(text.as_bytes(), usize::MAX).items.into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn the_items_are_those_of_the_list_alone() {
        let inner = json!({"items": [1, 2], "text": "a\"],}[\\", "empty": {}, "list": [[], [{}]]});
        let list = json!({"metadata": {"items": ["no"]}, "items": [inner, inner], "kind": "items"});
        let text = list.to_string();
        let read: Vec<Value> =
            items(&text).into_iter().map(|item| serde_json::from_str(item).unwrap()).collect();
        assert_eq!(read, [inner.clone(), inner]);
        assert_eq!(items(r#" { "items" : [ {"a":1} , 5 ,"x" ] } "#), [r#"{"a":1} "#, "5 ", r#""x" "#]);
        for none in [
            r#"{"items":[]}"#,
            r#"{"items":null,"a":[1]}"#,
            r#"{"a":"items","b":[1]}"#,
            "[1,2]",
            "",
            "\"",
            "]}",
        ] {
            assert_eq!(items(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn of_a_text_that_breaks_off_the_whole_items_are_known() {
        let text = json!({"items": [{"a": "b,c"}, {"d": [1, 2]}, {"e": "f"}]}).to_string();
        for (at, _) in text.char_indices() {
            let cut = &text[..at];
            assert!(items(cut).iter().all(|item| serde_json::from_str::<Value>(item).is_ok()), "{cut}");
        }
        assert_eq!(items(&text[..text.len() - 3]).len(), 2);
    }

    #[test]
    fn values_are_counted_outside_of_texts() {
        let count = |value: &Value| slice(value.to_string().as_bytes(), 100).values;
        assert_eq!(count(&json!("a,b,[{")), 1);
        assert_eq!(count(&json!([0, 0, 0])), 4);
        assert!(count(&json!({"a": {"b": [1, {}]}})) >= 5);
        assert_eq!(count(&json!(vec![0; 1000])), 101, "no more than needed are counted");
    }
}
