//! Where the fields of a text are, and which keys it has twice.
//!
//! Made only when something is wrong, from the events of the YAML parser: no scalar is interpreted and no alias expanded.

use std::collections::{BTreeMap, BTreeSet};

use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle};

use crate::shape::Cursor;

use super::schema::json_schema;
use super::{Position, REFUSALS_MAX};
use crate::yaml::reading::is_null;
use crate::yaml::{EVENTS_MAX, Place};

/// The outline of a text.
#[derive(Default)]
pub(super) struct Outline {
    /// The documents, in the same order and under the same positions as the reader's.
    documents: BTreeMap<Position, DocumentOutline>,
    /// Where and why the text can't be read to its end.
    syntax_error: Option<(Place, String)>,
}

#[derive(Default)]
struct DocumentOutline {
    /// Where each field and item is that the schema knows.
    places: BTreeMap<String, Place>,
    /// Keys that were in their mapping already.
    repeated: Vec<(String, Place)>,
}

impl Outline {
    /// Goes through a text, as far as its syntax and [`EVENTS_MAX`] allow.
    pub(super) fn of(text: &str) -> Self {
        let mut options = granit_parser::Options::default();
        options.emit_comments = false;
        let mut walk = Walk::default();
        for event in Parser::new_from_str_with_options(text, options).take(EVENTS_MAX) {
            match event {
                Ok((event, span)) => walk.event(&event, Place::from(&span.start)),
                Err(error) => {
                    walk.outline.syntax_error = Some((error.marker().into(), error.info()));
                    break;
                }
            }
        }
        walk.outline
    }

    /// What the parser says about a syntax error on the line of this place.
    pub(super) fn syntax_error(&self, place: Place) -> Option<&str> {
        self.syntax_error.as_ref().filter(|(at, _)| at.line == place.line).map(|(_, reason)| reason.as_str())
    }

    /// The number of a document, from 1.
    pub(super) fn number(&self, position: Position) -> usize {
        1 + self.documents.range(..position).count()
    }

    /// Where a field is, or what it should be in.
    pub(super) fn place(&self, position: Position, path: &str) -> Place {
        let Some(document) = self.documents.get(&position) else { return Place::START };
        let mut path = path;
        loop {
            if let Some(place) = document.places.get(path) {
                return *place;
            }
            let Some(end) = path.rfind(['.', '[']) else { break };
            path = &path[..end];
        }
        document.places.get("").copied().unwrap_or(Place::START)
    }

    /// The number of the document and the path of the field at a place of one document of the stream.
    pub(super) fn field_at(&self, position: Position, place: Place) -> (usize, String) {
        let stream = position.0;
        let known = self.documents.range((stream, 0)..(stream + 1, 0)).flat_map(|(position, document)| {
            document.places.iter().map(|(path, place)| (*place, path.len(), *position, path))
        });
        match known.filter(|(at, ..)| *at <= place).max() {
            Some((_, _, position, path)) => (self.number(position), path.clone()),
            None => (self.number(position), String::new()),
        }
    }

    /// Keys that are there twice in one document of the stream: the item of its list, the path and the place.
    pub(super) fn repeated(&self, stream: usize) -> Vec<(usize, String, Place)> {
        let documents = self.documents.range((stream, 0)..(stream + 1, 0));
        let of = |((_, item), document): (&Position, &DocumentOutline)| {
            let item = *item;
            document
                .repeated
                .iter()
                .map(move |(path, place)| (item, path.clone(), *place))
                .collect::<Vec<_>>()
        };
        documents.flat_map(of).collect()
    }
}

/// The way through the events of a text.
#[derive(Default)]
struct Walk {
    outline: Outline,
    /// How many documents of the stream have begun that are not empty.
    streams: usize,
    /// The document under way.
    position: Position,
    /// The lists and mappings that are open, the innermost last.
    open: Vec<Open>,
}

enum Open {
    /// A list whose items are documents, and how many have begun.
    Documents(usize),
    /// A list, and how many of its items have begun.
    List(Cursor, usize),
    /// A mapping, its keys so far, and the one whose value is next.
    Mapping(Cursor, BTreeSet<String>, Option<String>),
}

impl Walk {
    /// Takes one event.
    fn event(&mut self, event: &Event<'_>, place: Place) {
        let is_key = matches!(self.open.last(), Some(Open::Mapping(_, _, None)));
        match event {
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
            }
            Event::Scalar(text, ..) if is_key => self.key(text, place),
            Event::Scalar(text, style, ..) if self.open.is_empty() && is_empty(text, *style) => {}
            Event::SequenceStart(..) if self.open.is_empty() => {
                self.streams += 1;
                self.open.push(Open::Documents(0));
            }
            Event::Scalar(..) | Event::Alias(_) => {
                self.value(place);
            }
            Event::SequenceStart(..) => {
                let cursor = self.value(place);
                self.open.push(Open::List(cursor, 0));
            }
            Event::MappingStart(..) => {
                let cursor = self.value(place);
                self.open.push(Open::Mapping(cursor, BTreeSet::new(), None));
            }
            _ => {}
        }
    }

    /// A key of the innermost mapping.
    fn key(&mut self, key: &str, place: Place) {
        let Some(Open::Mapping(cursor, keys, next)) = self.open.last_mut() else { return };
        *next = Some(key.to_owned());
        let document = self.outline.documents.entry(self.position).or_default();
        if !keys.insert(key.to_owned()) {
            if document.repeated.len() < REFUSALS_MAX {
                document.repeated.push((cursor.member(key).path.to_string(), place));
            }
        } else if cursor.is_known() {
            document.places.insert(cursor.member(key).path.to_string(), place);
        }
    }

    /// Any other node; tells where in its document it is.
    fn value(&mut self, place: Place) -> Cursor {
        let (cursor, has_key) = match self.open.last_mut() {
            None => {
                self.streams += 1;
                self.position = (self.streams - 1, 0);
                (Cursor::of(json_schema()), false)
            }
            Some(Open::Documents(begun)) => {
                self.position = (self.streams - 1, *begun);
                *begun += 1;
                (Cursor::of(json_schema()), false)
            }
            Some(Open::List(cursor, begun)) => {
                *begun += 1;
                (cursor.item(*begun - 1), false)
            }
            Some(Open::Mapping(cursor, _, next)) => match next.take() {
                Some(key) => (cursor.member(&key), true),
                None => {
                    // A key that is no text: the reader refuses it, so only that its value is next matters.
                    *next = Some(String::new());
                    (cursor.member(""), true)
                }
            },
        };
        // What has a key is where its key is.
        if !has_key && cursor.is_known() {
            let document = self.outline.documents.entry(self.position).or_default();
            document.places.insert(cursor.path.to_string(), place);
        }
        cursor
    }
}

/// True for a document that the reader passes over.
fn is_empty(text: &str, style: ScalarStyle) -> bool {
    style == ScalarStyle::Plain && is_null(text)
}
