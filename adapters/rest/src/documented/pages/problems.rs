//! `GET /problems`: all kinds of problems.

use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use schemars::JsonSchema;
use serde::Serialize;

use super::fixed::{self, wants_json};
use super::problem::Told;
use super::{Fixed, Known, frame, markdown};
use crate::documented::meaning::{self, Meaning};
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, Nothing};
use crate::documented::problem::{Kind, Problem};

/// All kinds of problems.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProblemTypes")]
struct All {
    /// The kinds, by their statuses.
    items: Vec<Told>,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    let told = fixed::html(Answer::json::<All>("What each of them means, when it comes and what helps."));
    let it = it.says(
        "List the kinds of problems",
        "It is a page, but JSON for who accepts that and no page before it.",
    );
    Fixed::describe(it, told)
}

pub(in crate::documented) async fn handle(
    Asked(Nothing {}): Asked<Nothing>,
    known: Known,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let fixed = if wants_json(&headers) {
        let all = All { items: Kind::ALL.map(Told::of).into() };
        Fixed::json(&serde_json::to_value(all).unwrap_or_default())
    } else {
        Fixed::page(frame::page("Problems", &navigation(), &shown()))
    };
    Ok(fixed.answer(&known))
}

/// Where each of them is.
pub(super) fn navigation() -> Markup {
    html! {
        ul { @for kind in Kind::ALL { li { a href=(meaning::path(kind)) { (kind.name()) } } } }
    }
}

fn shown() -> Markup {
    html! {
        h1 { "Problems" }
        p { "Errors are answered as " code { "application/problem+json" } " (RFC 9457). Programs tell them by " code { "type" } "." }
        table {
            thead { tr { th scope="col" { "Type" } th scope="col" { "Status" } th scope="col" { "When it comes" } } }
            tbody {
                @for kind in Kind::ALL {
                    tr {
                        th scope="row" { a href=(meaning::path(kind)) { code { (kind.name()) } } }
                        td { (Meaning::of(kind).status.as_str()) }
                        td { (markdown::blocks(Meaning::of(kind).when)) }
                    }
                }
            }
        }
    }
}
