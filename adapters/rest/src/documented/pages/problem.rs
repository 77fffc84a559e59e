//! `GET /problems/{problem}`: what a kind of problem means. The `type` of a problem leads here.

use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fixed::{self, wants_json};
use super::{Fixed, Known, frame, markdown, problems};
use crate::documented::meaning::{self, Meaning};
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::{Kind, Problem};

/// A kind of problem.
#[derive(Deserialize, JsonSchema)]
pub(in crate::documented) struct Named {
    /// The last segment of its type.
    problem: String,
}

/// What a kind of problem means.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProblemType")]
pub(super) struct Told {
    /// Its type, as answers have it.
    #[serde(rename = "type")]
    kind: String,
    /// What it is.
    title: &'static str,
    /// The status of answers with it.
    status: u16,
    /// When it comes.
    when: &'static str,
    /// What helps.
    helps: &'static str,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    let told = fixed::html(Answer::json::<Told>("What it means, when it comes and what helps."));
    let it = it.says(
        "Read what a problem means",
        "It is a page, but JSON for who accepts that and no page before it.",
    );
    Fixed::describe(it, told)
}

pub(in crate::documented) async fn handle(
    At(Named { problem }): At<Named>,
    Asked(Nothing {}): Asked<Nothing>,
    known: Known,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == problem) else {
        return Err(Problem::new(Kind::NotFound, format!("there is no kind of problems {problem}")));
    };
    let fixed = if wants_json(&headers) {
        Fixed::json(&serde_json::to_value(Told::of(kind)).unwrap_or_default())
    } else {
        Fixed::page(frame::page(Meaning::of(kind).title, &problems::navigation(), &shown(kind)))
    };
    Ok(fixed.answer(&known))
}

impl Told {
    pub(super) fn of(kind: Kind) -> Self {
        let &Meaning { status, title, when, helps } = Meaning::of(kind);
        Self { kind: meaning::path(kind), title, status: status.as_u16(), when, helps }
    }
}

fn shown(kind: Kind) -> Markup {
    let Meaning { status, title, when, helps } = Meaning::of(kind);
    html! {
        h1 { (title) }
        p { code { (meaning::path(kind)) } ", status " code { (status.as_str()) } }
        h2 { "When it comes" }
        (markdown::blocks(when))
        h2 { "What helps" }
        (markdown::blocks(helps))
    }
}
