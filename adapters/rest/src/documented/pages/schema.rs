//! Schemas, as parts of a page.

use maud::{Markup, html};
use serde_json::Value;

use super::docs::{members, text};
use super::markdown;

/// Where the document has its schemas.
const SCHEMAS: &str = "#/components/schemas/";

/// A schema with a name, which others refer to.
pub(super) fn component(name: &str, schema: &Value) -> Markup {
    html! {
        details id=(id(name)) {
            summary { h3 { code { (name) } } }
            div { (whole(schema)) }
        }
    }
}

fn id(name: &str) -> String {
    format!("schema-{name}")
}

/// What it is, with all that is in it.
fn whole(schema: &Value) -> Markup {
    let is_required = |name: &str| members(&schema["required"]).iter().any(|one| one == name);
    html! {
        (markdown::blocks(text(&schema["description"])))
        @if !has_fields(schema) { p .faint { (form(schema)) } }
        @if let Some(fields) = schema["properties"].as_object() {
            dl {
                @for (name, field) in fields {
                    dt { (name) }
                    dd {
                        p .faint { (form(field)) @if is_required(name) { ", required" } }
                        @if has_more(field) { (whole(field)) } @else { (markdown::blocks(text(&field["description"]))) }
                    }
                }
            }
        }
        @if has_more(&schema["items"]) { p { "Of each item:" } (whole(&schema["items"])) }
        @if let Some(member) = member(schema).filter(|member| has_more(member)) { p { "Of each member:" } (whole(member)) }
        @for choice in choices(schema) {
            @if has_more(choice) { p { "Or:" } (whole(choice)) }
        }
    }
}

/// True for what has fields, or words on each of its values.
fn has_more(schema: &Value) -> bool {
    has_fields(schema)
        || schema.get("items").is_some_and(has_more)
        || member(schema).is_some_and(has_more)
        || choices(schema).iter().any(|choice| has_fields(choice) || choice.get("const").is_some())
}

/// What each member of a mapping is.
fn member(schema: &Value) -> Option<&Value> {
    let named = schema["patternProperties"].as_object().and_then(|patterns| patterns.values().next());
    schema.get("additionalProperties").filter(|of| of.is_object()).or(named)
}

fn has_fields(schema: &Value) -> bool {
    schema.get("properties").is_some()
}

fn choices(schema: &Value) -> &[Value] {
    ["oneOf", "anyOf", "allOf"]
        .iter()
        .map(|place| members(&schema[*place]))
        .find(|found| !found.is_empty())
        .unwrap_or(&[])
}

/// What it is, in a line.
pub(super) fn form(schema: &Value) -> Markup {
    if let Some(name) = text(&schema["$ref"]).strip_prefix(SCHEMAS) {
        return html! { a href=(format!("#{}", id(name))) { code { (name) } } };
    }
    if let Some(only) = schema.get("const") {
        return html! { code { (only) } };
    }
    if let Some(values) = schema.get("enum") {
        return listed(members(values), &|value| html! { code { (value) } });
    }
    if let [whole, ..] = members(&schema["allOf"]) {
        // What has to be in it here, beside, is told in words.
        return form(whole);
    }
    match text(&schema["type"]) {
        "array" => html! { "list of " (form(&schema["items"])) },
        "object" => match member(schema) {
            Some(member) => html! { "mapping to " (form(member)) },
            None => html! { "object" },
        },
        "" => listed(choices(schema), &form),
        kind => html! { (kind) (limits(schema)) },
    }
}

fn listed(values: &[Value], shown: &dyn Fn(&Value) -> Markup) -> Markup {
    html! {
        @if values.is_empty() { "anything" }
        @for (index, value) in values.iter().enumerate() {
            @if index > 0 { " or " }
            (shown(value))
        }
    }
}

fn limits(schema: &Value) -> Markup {
    html! {
        @if let Some(format) = schema["format"].as_str() { " (" (format) ")" }
        @if let Some(least) = schema["minimum"].as_i64().filter(|least| *least != 0) { ", at least " (least) }
        @if let Some(most) = schema["maximum"].as_i64() { ", at most " (most) }
        @if let Some(most) = schema["maxLength"].as_i64() { ", at most " (most) " characters" }
        @if let Some(pattern) = schema["pattern"].as_str() { ", " code { (pattern) } }
    }
}
