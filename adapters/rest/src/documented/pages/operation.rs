//! One operation of the document, as a part of a page.

use maud::{Markup, html};
use serde_json::Value;

use super::docs::{members, text};
use super::{markdown, schema};

/// An operation with all that it takes and answers.
pub(super) fn shown(document: &Value, method: &str, path: &str, written: &Value) -> Markup {
    html! {
        details id=(text(&written["operationId"])) {
            summary {
                h3 {
                    span .method { (method.to_uppercase()) } " " code { (path) }
                    span .faint { " " (text(&written["summary"])) }
                }
            }
            div {
                (markdown::blocks(text(&written["description"])))
                (parameters(members(&written["parameters"])))
                @if let Some(body) = written.get("requestBody") { (request(body)) }
                (answers(document, &written["responses"]))
            }
        }
    }
}

fn parameters(parameters: &[Value]) -> Markup {
    html! {
        @if !parameters.is_empty() {
            h4 { "Parameters" }
            dl {
                @for one in parameters {
                    dt { (text(&one["name"])) }
                    dd {
                        p .faint {
                            "in " (text(&one["in"])) @if one["required"] == true { ", required" } ", " (schema::form(&one["schema"]))
                        }
                        (markdown::blocks(text(&one["description"])))
                    }
                }
            }
        }
    }
}

fn request(body: &Value) -> Markup {
    html! {
        h4 { "Body" }
        (markdown::blocks(text(&body["description"])))
        (content(&body["content"]))
    }
}

/// What a body is, by its media types.
fn content(content: &Value) -> Markup {
    html! {
        @if let Some(content) = content.as_object() {
            ul { @for (media_type, of) in content { li { code { (media_type) } ": " (schema::form(&of["schema"])) } } }
        }
    }
}

fn answers(document: &Value, responses: &Value) -> Markup {
    html! {
        h4 { "Answers" }
        table {
            thead { tr { th scope="col" { "Status" } th scope="col" { "What it says" } } }
            tbody {
                @for (status, response) in responses.as_object().into_iter().flatten() {
                    @let response = followed(document, response);
                    tr {
                        th scope="row" { (status) }
                        td { (answer(response)) }
                    }
                }
            }
        }
    }
}

fn answer(response: &Value) -> Markup {
    let headers = response["headers"].as_object().into_iter().flatten().map(|(name, _)| name);
    let headers: Vec<&str> = headers.map(String::as_str).filter(|name| *name != "X-Request-Id").collect();
    let is_problem = response["content"].get("application/problem+json").is_some();
    html! {
        @if is_problem { (problems(response)) } @else {
            (markdown::blocks(text(&response["description"])))
            (content(&response["content"]))
        }
        @if !headers.is_empty() { p .faint { "Headers: " (headers.join(", ")) } }
    }
}

/// Which problems it may be, each with the way to its page.
fn problems(response: &Value) -> Markup {
    let whole = &response["content"]["application/problem+json"]["schema"];
    let types = &whole["allOf"][1]["properties"]["type"]["enum"];
    html! {
        p {
            (schema::form(&whole["allOf"][0])) ": "
            @for (index, one) in members(types).iter().enumerate() {
                @let path = text(one);
                @if index > 0 { ", " }
                a href=(path) { (path.rsplit('/').next().unwrap_or(path)) }
            }
        }
    }
}

/// What a reference within the document leads to.
fn followed<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let pointer = value.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}
