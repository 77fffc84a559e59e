//! `GET /docs`: the document that describes this API, as a page.

use std::sync::LazyLock;

use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;

use super::fixed;
use super::{Fixed, Known, frame, markdown, operation, schema};
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, Nothing};
use crate::documented::problem::Problem;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    let page = fixed::html(Answer::empty("The page. It needs nothing from elsewhere, and no script."));
    Fixed::describe(it.says("Show this document", "As a page for people."), page)
}

pub(in crate::documented) async fn handle(
    Asked(Nothing {}): Asked<Nothing>,
    known: Known,
) -> Result<Response, Problem> {
    static PAGE: LazyLock<Fixed> = LazyLock::new(|| Fixed::page(page(&crate::documented::openapi())));
    Ok(PAGE.answer(&known))
}

/// The methods of the document, in the order in which they are shown.
const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

/// An operation, and where it is asked.
struct Route<'a> {
    path: &'a str,
    method: &'static str,
    written: &'a Value,
}

/// The whole page.
pub(super) fn page(document: &Value) -> String {
    let tags = members(&document["tags"]);
    let operations = operations(document);
    let navigation = html! {
        ul {
            @for tag in tags { li { a href=(format!("#{}", anchor(text(&tag["name"])))) { (text(&tag["name"])) } } }
            li { a href="#schemas" { "Schemas" } }
        }
    };
    let main = html! {
        h1 { (text(&document["info"]["title"])) " API" }
        p .faint { "Version " (text(&document["info"]["version"])) ", OpenAPI " (text(&document["openapi"])) }
        (markdown::blocks(text(&document["info"]["description"])))
        @for tag in tags { (collection(document, tag, &operations)) }
        section aria-labelledby="schemas" {
            h2 id="schemas" { "Schemas" }
            @for (name, written) in document["components"]["schemas"].as_object().into_iter().flatten() {
                (schema::component(name, written))
            }
        }
    };
    frame::page("API", &navigation, &main)
}

fn operations(document: &Value) -> Vec<Route<'_>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths
        .flat_map(|(path, item)| {
            METHODS
                .into_iter()
                .filter_map(move |method| item.get(method).map(|written| Route { path, method, written }))
        })
        .collect()
}

fn collection(document: &Value, tag: &Value, operations: &[Route<'_>]) -> Markup {
    let (name, description) = (text(&tag["name"]), text(&tag["description"]));
    let id = anchor(name);
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (name) }
            (markdown::blocks(description))
            @for one in operations.iter().filter(|one| text(&one.written["tags"][0]) == name) {
                (operation::shown(document, one.method, one.path, one.written))
            }
        }
    }
}

/// The text of a member; empty where it has none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The items of a list; none where it is none.
pub(super) fn members(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// What a heading is found by.
fn anchor(name: &str) -> String {
    name.to_lowercase().replace(' ', "-")
}
