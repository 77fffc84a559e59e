//! From bytes to trees, one a document.

use std::rc::Rc;

use super::Limits;
use super::refused::RefusedText;
use crate::yaml::compose::{Content, Documents, Node};
use crate::yaml::{Place, Unreadable};

/// Takes a text that is not too large, in UTF-8.
pub(super) fn utf8<'a>(text: &'a [u8], limits: &Limits) -> Result<&'a str, RefusedText> {
    if text.len() > limits.text_bytes_max {
        let rule = format!("the text must be at most {} bytes long", limits.text_bytes_max);
        return Err(RefusedText::of_text(Place::START, &rule));
    }
    std::str::from_utf8(text).map_err(|error| {
        let before = String::from_utf8_lossy(&text[..error.valid_up_to()]);
        let line = 1 + before.matches('\n').count() as u64;
        let column = 1 + before.chars().rev().take_while(|character| *character != '\n').count() as u64;
        RefusedText::of_text(Place { line, column }, "the text must be UTF-8")
    })
}

/// A document of a stream: the documents that its list holds, or itself.
pub(super) type Items = Result<Vec<Rc<Node>>, Unreadable>;

/// Reads the documents of a text one after the other, each as its items when it is a list and as one when not. Empty ones are passed over.
/// After one that breaks the syntax there is none.
///
/// Each is refused, and none follows, once there are too many.
pub(super) fn documents(text: &str, limits: &Limits) -> impl Iterator<Item = Result<Items, RefusedText>> {
    let documents_max = limits.documents_max;
    let mut count = 0;
    let read = Documents::of(text, limits.depth_max, limits.aliased_nodes_max);
    read.filter(|read| !matches!(read, Ok(node) if node.is_null())).map(move |read| {
        let read = read.map(|node| match &node.content {
            Content::List(items) => items.clone(),
            _ => vec![node],
        });
        count += read.as_ref().map_or(1, Vec::len);
        if count <= documents_max {
            return Ok(read);
        }
        let rule = format!("the text must hold at most {documents_max} documents");
        Err(RefusedText::of_text(Place::START, &rule))
    })
}
