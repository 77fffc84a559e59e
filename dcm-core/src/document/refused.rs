//! What is wrong with a text, and where.

use std::fmt;

use crate::refusal::{Refusal, Refusals};
use crate::yaml::{Place, Unreadable};

use super::outline::Outline;
use super::{Position, REFUSALS_MAX};

/// One refusal of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The number of the document in the text, from 1; empty ones aren't counted. None for the text as a whole.
    pub document: Option<usize>,
    /// Where the field is: its key, or the item of a list. When it is missing, or is part of what an alias stands for,
    /// where what it should be in is. A scalar that has two values is refused where it stands itself.
    pub place: Place,
    /// The field and the rule. The path is empty when the whole document or text is refused.
    pub refusal: Refusal,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(document) = self.document {
            write!(f, "document {document}, ")?;
        }
        write!(f, "{}: ", self.place)?;
        if self.refusal.path.is_empty() { f.write_str(&self.refusal.rule) } else { self.refusal.fmt(f) }
    }
}

/// All refusals of a text; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", joined(.0))]
pub struct RefusedText(Vec<Refused>);

impl RefusedText {
    /// The one refusal of a text that isn't looked into.
    pub(super) fn of_text(place: Place, rule: &str) -> Self {
        let refusal = Refusal { path: String::new(), value: String::new(), rule: rule.to_owned() };
        Self(vec![Refused { document: None, place, refusal }])
    }

    /// All of them, by document, line and column.
    #[must_use]
    pub fn as_slice(&self) -> &[Refused] {
        &self.0
    }
}

fn joined(refused: &[Refused]) -> String {
    refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What is wrong with a document, before its places are looked up.
pub(super) enum Wrong {
    /// Fields that break rules.
    Fields(Refusals),
    /// Scalars that have two values, each with its place.
    Values(Vec<(Place, Refusal)>),
    /// It can't be read.
    Unreadable(Unreadable),
    /// The cloud of this name is in an earlier document, too.
    SameName(String, Position),
}

/// Looks up where everything that is wrong is in the text, and puts it in the order of the text.
pub(super) fn locate(wrong: Vec<(Position, Wrong)>, outline: &Outline) -> RefusedText {
    let mut refused = Vec::new();
    for (position, wrong) in wrong {
        let document = Some(outline.number(position));
        match wrong {
            Wrong::Fields(refusals) => refused.extend(refusals.into_iter().map(|refusal| {
                let place = outline.place(position, &refusal.path);
                Refused { document, place, refusal }
            })),
            Wrong::Values(values) => {
                refused.extend(values.into_iter().map(|(place, refusal)| Refused {
                    document,
                    place,
                    refusal,
                }));
            }
            Wrong::SameName(value, earlier) => {
                let path = "metadata.name".to_owned();
                let place = outline.place(position, &path);
                let rule = format!("is the name of document {}, too", outline.number(earlier));
                refused.push(Refused { document, place, refusal: Refusal { path, value, rule } });
            }
            Wrong::Unreadable(unreadable) => refused.extend(of_unreadable(position, unreadable, outline)),
        }
    }
    refused.sort_by(|one, other| {
        let key = |refused: &Refused| (refused.document, refused.place);
        key(one).cmp(&key(other))
    });
    refused.truncate(REFUSALS_MAX);
    RefusedText(refused)
}

/// Keys that are there twice make a document unreadable; then all of them are named.
fn of_unreadable(position: Position, unreadable: Unreadable, outline: &Outline) -> Vec<Refused> {
    let repeated = outline.repeated(position.0);
    if repeated.is_empty() {
        let (document, path) = outline.field_at(position, unreadable.place);
        let rule = unreadable.rule.unwrap_or_else(|| match outline.syntax_error(unreadable.place) {
            Some(reason) => format!("must be well-formed YAML or JSON: {reason}"),
            None => "must be well-formed, with texts as keys and nothing that is part of itself".to_owned(),
        });
        let rule = if path.is_empty() { format!("the document {rule}") } else { rule };
        let refusal = Refusal { path, value: String::new(), rule };
        return vec![Refused { document: Some(document), place: unreadable.place, refusal }];
    }
    let refuse = |(item, path, place): (usize, String, Place)| {
        let refusal = Refusal { path, value: String::new(), rule: "is there twice".to_owned() };
        Refused { document: Some(outline.number((position.0, item))), place, refusal }
    };
    repeated.into_iter().map(refuse).collect()
}
