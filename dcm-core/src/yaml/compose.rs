//! The tree of a YAML or JSON text, with each scalar as it is written and where it stands: what a scalar means is for the reader of the
//! tree, which knows what belongs there.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_saphyr::granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, StrInput, Tag};

use super::{ALIASED_BYTES_MAX, EVENTS_MAX, NODES_MAX, Place, Unreadable};

/// A list, mapping or scalar.
pub(crate) struct Node {
    /// Where it begins.
    pub(crate) place: Place,
    /// Its contents.
    pub(crate) content: Content,
    /// How many lists, mappings and scalars it stands for, itself included.
    nodes: usize,
    /// How many bytes of scalars it stands for.
    bytes: usize,
    /// How deep the lists and mappings in it are nested, itself included.
    height: usize,
}

/// The contents of a [`Node`]. The nodes that an alias stands for are shared.
pub(crate) enum Content {
    /// A scalar.
    Scalar(Scalar),
    /// The items of a list.
    List(Vec<Rc<Node>>),
    /// The members of a mapping, in order.
    Mapping(Vec<(Key, Rc<Node>)>),
}

/// A scalar as it is written.
#[derive(Clone)]
pub(crate) struct Scalar {
    /// Its text, without quotes and escapes.
    pub(crate) text: Rc<str>,
    /// True without quotes: then the text may stand for a number, `true`, `false` or nothing.
    pub(crate) plain: bool,
}

/// A key of a mapping.
pub(crate) struct Key {
    /// Where it stands.
    pub(crate) place: Place,
    /// Its text.
    pub(crate) scalar: Scalar,
}

impl Node {
    fn of_scalar(scalar: Scalar, place: Place) -> Self {
        let bytes = scalar.text.len();
        Self { place, content: Content::Scalar(scalar), nodes: 1, bytes, height: 0 }
    }

    /// The member of a mapping with this key.
    pub(crate) fn member(&self, key: &str) -> Option<&Rc<Self>> {
        let Content::Mapping(members) = &self.content else { return None };
        members.iter().find(|(found, _)| &*found.scalar.text == key).map(|(_, member)| member)
    }

    /// The items of a list; none of anything else.
    pub(crate) fn items(&self) -> &[Rc<Self>] {
        if let Content::List(items) = &self.content { items } else { &[] }
    }

    /// True for a scalar that stands for no value.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.content, Content::Scalar(scalar) if scalar.plain && super::reading::is_null(&scalar.text))
    }
}

/// The documents of a text, one after the other. After one that breaks the syntax or a limit none follows.
pub(crate) struct Documents<'t> {
    events: Parser<'t, StrInput<'t>>,
    depth_max: usize,
    aliased_nodes_max: usize,
    ended: bool,
}

impl<'t> Documents<'t> {
    pub(crate) fn of(text: &'t str, depth_max: usize, aliased_nodes_max: usize) -> Self {
        let mut options = Options::default();
        options.emit_comments = false;
        let events = Parser::new_from_str_with_options(text, options);
        Self { events, depth_max, aliased_nodes_max, ended: false }
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<Rc<Node>, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let mut document = Document::new(self.depth_max, self.aliased_nodes_max);
        // A document that breaks a rule is passed over to its end.
        let mut broken = None;
        for count in 0.. {
            let (event, span) = match self.events.next()? {
                Ok(read) => read,
                Err(error) => {
                    self.ended = true;
                    let rule =
                        matches!(error.kind(), ErrorKind::UnknownAnchor).then(|| UNKNOWN_ANCHOR.to_owned());
                    return Some(Err(broken.unwrap_or(Unreadable { place: error.marker().into(), rule })));
                }
            };
            let place = Place::from(&span.start);
            match event {
                Event::DocumentEnd => break,
                _ if count >= EVENTS_MAX => {
                    self.ended = true;
                    return Some(Err(broken.unwrap_or_else(|| too_many_nodes(place))));
                }
                _ if broken.is_some() => {}
                event => match document.event(event, place) {
                    Ok(()) => {}
                    Err(Broken::Rule(unreadable)) => broken = Some(unreadable),
                    Err(Broken::Limit(unreadable)) => {
                        self.ended = true;
                        return Some(Err(unreadable));
                    }
                },
            }
        }
        match (broken, document.root) {
            (Some(unreadable), _) => Some(Err(unreadable)),
            (None, root) => root.map(Ok),
        }
    }
}

const UNKNOWN_ANCHOR: &str = "names an anchor (&…) that isn't there";

fn too_many_nodes(place: Place) -> Unreadable {
    Unreadable { place, rule: Some(format!("must have at most {NODES_MAX} nodes")) }
}

/// Why a document is not read.
enum Broken {
    /// It breaks a rule; other documents of the text can be read.
    Rule(Unreadable),
    /// It breaks a limit: nothing more is read.
    Limit(Unreadable),
}

fn rule(place: Place, rule: &str) -> Broken {
    Broken::Rule(Unreadable { place, rule: Some(rule.to_owned()) })
}

/// A document under way.
struct Document {
    depth_max: usize,
    aliased_nodes_max: usize,
    nodes: usize,
    aliased_nodes: usize,
    aliased_bytes: usize,
    /// The lists and mappings that are open, the innermost last.
    open: Vec<Open>,
    /// What each anchor stands for, once it is complete.
    anchors: BTreeMap<usize, Rc<Node>>,
    root: Option<Rc<Node>>,
}

/// A list or mapping that is open.
struct Open {
    place: Place,
    /// 0 for none.
    anchor: usize,
    nodes: usize,
    bytes: usize,
    height: usize,
    inside: Inside,
}

enum Inside {
    List(Vec<Rc<Node>>),
    /// The members so far, their keys, and the key whose value is next.
    Mapping(Vec<(Key, Rc<Node>)>, BTreeSet<Rc<str>>, Option<Key>),
}

impl Document {
    fn new(depth_max: usize, aliased_nodes_max: usize) -> Self {
        let (open, anchors) = (Vec::new(), BTreeMap::new());
        Self {
            depth_max,
            aliased_nodes_max,
            nodes: 0,
            aliased_nodes: 0,
            aliased_bytes: 0,
            open,
            anchors,
            root: None,
        }
    }

    fn event(&mut self, event: Event<'_>, place: Place) -> Result<(), Broken> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.count(place)?;
                must_be(tag.as_deref(), "str", place)?;
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let scalar = Scalar { text: text.into(), plain };
                self.complete(Rc::new(Node::of_scalar(scalar, place)), anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                must_be(tag.as_deref(), "seq", place)?;
                self.begin(place, anchor, Inside::List(Vec::new()))
            }
            Event::MappingStart(_, anchor, tag) => {
                must_be(tag.as_deref(), "map", place)?;
                self.begin(place, anchor, Inside::Mapping(Vec::new(), BTreeSet::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(anchor, place),
            _ => Ok(()),
        }
    }

    fn count(&mut self, place: Place) -> Result<(), Broken> {
        self.nodes += 1;
        if self.nodes > NODES_MAX { Err(Broken::Limit(too_many_nodes(place))) } else { Ok(()) }
    }

    fn begin(&mut self, place: Place, anchor: usize, inside: Inside) -> Result<(), Broken> {
        self.count(place)?;
        self.open.push(Open { place, anchor, nodes: 1, bytes: 0, height: 1, inside });
        self.within_depth(0, place)
    }

    /// Refuses what is nested too deep: a node of so many levels, in those that are open.
    fn within_depth(&self, height: usize, place: Place) -> Result<(), Broken> {
        if self.open.len() + height <= self.depth_max {
            return Ok(());
        }
        let rule = format!("must be nested at most {} deep", self.depth_max);
        Err(Broken::Limit(Unreadable { place, rule: Some(rule) }))
    }

    fn end(&mut self) -> Result<(), Broken> {
        let Some(Open { place, anchor, nodes, bytes, height, inside }) = self.open.pop() else {
            return Ok(());
        };
        let content = match inside {
            Inside::List(items) => Content::List(items),
            Inside::Mapping(members, ..) => Content::Mapping(members),
        };
        self.complete(Rc::new(Node { place, content, nodes, bytes, height }), anchor)
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<(), Broken> {
        self.count(place)?;
        let Some(target) = self.anchors.get(&anchor).cloned() else {
            // Its list or mapping is still open.
            return Err(Broken::Rule(Unreadable { place, rule: None }));
        };
        self.aliased_nodes = self.aliased_nodes.saturating_add(target.nodes);
        if self.aliased_nodes > self.aliased_nodes_max {
            let rule = format!("must have aliases (*…) for at most {} nodes in all", self.aliased_nodes_max);
            return Err(Broken::Limit(Unreadable { place, rule: Some(rule) }));
        }
        self.aliased_bytes = self.aliased_bytes.saturating_add(target.bytes);
        if self.aliased_bytes > ALIASED_BYTES_MAX {
            let rule = format!("must have aliases (*…) for at most {ALIASED_BYTES_MAX} bytes in all");
            return Err(Broken::Limit(Unreadable { place, rule: Some(rule) }));
        }
        self.within_depth(target.height, place)?;
        // Whether a scalar is right depends on where it is used.
        let node = match &target.content {
            Content::Scalar(scalar) => Rc::new(Node::of_scalar(scalar.clone(), place)),
            _ => target,
        };
        self.put(node, place)
    }

    /// Takes a node that has all that belongs to it.
    fn complete(&mut self, node: Rc<Node>, anchor: usize) -> Result<(), Broken> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let place = node.place;
        self.put(node, place)
    }

    /// Puts a node into the innermost list or mapping: there it is a key, or the value of one.
    fn put(&mut self, node: Rc<Node>, place: Place) -> Result<(), Broken> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.nodes += node.nodes;
        open.bytes += node.bytes;
        open.height = open.height.max(node.height + 1);
        match &mut open.inside {
            Inside::List(items) => items.push(node),
            Inside::Mapping(members, keys, next) => match next.take() {
                Some(key) => members.push((key, node)),
                None => *next = Some(key(&node, place, keys)?),
            },
        }
        Ok(())
    }
}

/// Makes a key of a node: a text that is not among the mapping's keys yet.
fn key(node: &Node, place: Place, keys: &mut BTreeSet<Rc<str>>) -> Result<Key, Broken> {
    let Content::Scalar(scalar) = &node.content else {
        return Err(Broken::Rule(Unreadable { place, rule: None }));
    };
    if scalar.plain && &*scalar.text == "<<" {
        return Err(rule(place, "must not have merge keys (<<): write the fields out"));
    }
    if !keys.insert(scalar.text.clone()) {
        return Err(rule(place, "has a key twice"));
    }
    Ok(Key { place, scalar: scalar.clone() })
}

/// Refuses any tag but one: that of the core schema, which adds nothing.
fn must_be(tag: Option<&Tag>, name: &str, place: Place) -> Result<(), Broken> {
    match tag {
        Some(tag) if tag.core_suffix() != Some(name) => Err(rule(place, "must not have tags (!…)")),
        _ => Ok(()),
    }
}
