//! What an answer is made of, and the schemas that the document collects.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use axum::http::StatusCode;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::rules::{self, Rules};
use crate::documented::body::Shaped;
use crate::documented::meaning::{self, Meaning};
use crate::documented::problem::{self, Kind};

/// Where the document has its schemas.
const SCHEMAS: &str = "/components/schemas";

/// A shape, by which its schema is found or made.
#[derive(Debug, Clone, Copy)]
pub(in crate::documented) enum Shape {
    /// That of a type, as it is written.
    Written(fn(&mut SchemaGenerator) -> Schema),
    /// What a body is held against, under a name.
    Sent(fn() -> Cow<'static, str>, fn() -> &'static Value, Rules),
    /// A text.
    Text,
}

impl Shape {
    /// What a type is written as.
    pub(in crate::documented) fn of<T: JsonSchema>() -> Self {
        Self::Written(SchemaGenerator::subschema_for::<T>)
    }

    /// What a body is held against.
    pub(in crate::documented) fn sent<T: Shaped + JsonSchema>() -> Self {
        Self::Sent(input_name::<T>, T::schema, T::RULES)
    }
}

fn input_name<T: JsonSchema>() -> Cow<'static, str> {
    format!("{}Input", T::schema_name()).into()
}

/// An answer to what was done.
#[derive(Debug, Clone)]
pub(in crate::documented) struct Answer {
    description: &'static str,
    headers: BTreeSet<Header>,
    content: Vec<(&'static str, Shape)>,
}

/// A header of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Header {
    ETag,
    Location,
    RequestId,
    RetryAfter,
    Warning,
    WwwAuthenticate,
}

impl Answer {
    /// One with JSON.
    pub(in crate::documented) fn json<T: JsonSchema>(description: &'static str) -> Self {
        Self::empty(description).with("application/json", Shape::of::<T>())
    }

    /// One with nothing but its head.
    pub(in crate::documented) fn empty(description: &'static str) -> Self {
        Self { description, headers: BTreeSet::from([Header::RequestId]), content: Vec::new() }
    }

    /// The same with something of another type.
    pub(in crate::documented) fn with(mut self, media_type: &'static str, shape: Shape) -> Self {
        self.content.push((media_type, shape));
        self
    }

    /// It has an entity tag.
    pub(in crate::documented) fn tagged(self) -> Self {
        self.headed(Header::ETag)
    }

    /// It says where to find what it is about.
    pub(in crate::documented) fn located(self) -> Self {
        self.headed(Header::Location)
    }

    /// It may tell what is accepted and perhaps not meant.
    pub(in crate::documented) fn warned(self) -> Self {
        self.headed(Header::Warning)
    }

    /// It may say when to ask again, and why.
    pub(in crate::documented) fn put_off(self) -> Self {
        self.headed(Header::RetryAfter).warned()
    }

    fn headed(mut self, header: Header) -> Self {
        self.headers.insert(header);
        self
    }

    pub(super) fn written(&self, schemas: &mut Schemas) -> Value {
        let mut written = json!({"description": self.description, "headers": referred(&self.headers)});
        if !self.content.is_empty() {
            let content = self
                .content
                .iter()
                .map(|(media_type, shape)| ((*media_type).to_owned(), json!({"schema": schemas.of(*shape)})));
            written["content"] = Value::Object(content.collect());
        }
        written
    }
}

impl Header {
    const ALL: [Self; 6] =
        [Self::ETag, Self::Location, Self::RequestId, Self::RetryAfter, Self::Warning, Self::WwwAuthenticate];

    fn name(self) -> &'static str {
        match self {
            Self::ETag => "ETag",
            Self::Location => "Location",
            Self::RequestId => "X-Request-Id",
            Self::RetryAfter => "Retry-After",
            Self::Warning => "Warning",
            Self::WwwAuthenticate => "WWW-Authenticate",
        }
    }

    fn written(self) -> Value {
        let (description, schema) = match self {
            Self::ETag => (
                "Names what was read as it is now, for `If-Match`.",
                json!({"type": "string", "pattern": "^\"[0-9a-f.]+\"$"}),
            ),
            Self::Location => (
                "Where to find what the answer is about.",
                json!({"type": "string", "format": "uri-reference"}),
            ),
            Self::RequestId => {
                ("The name of the request, as in the log and in the audit log.", json!({"type": "string"}))
            }
            Self::RetryAfter => {
                ("After how many seconds to ask again.", json!({"type": "integer", "minimum": 1}))
            }
            Self::Warning => (
                "What is accepted and perhaps not meant: `299 - \"…\"`. There may be up to 16 of it.",
                json!({"type": "string", "pattern": "^299 - \""}),
            ),
            Self::WwwAuthenticate => ("How to say who asks.", json!({"type": "string"})),
        };
        // All but these two are there, whatever is answered.
        let required = !matches!(self, Self::Warning | Self::RetryAfter | Self::WwwAuthenticate);
        json!({"description": description, "required": required, "schema": schema})
    }
}

fn referred(headers: &BTreeSet<Header>) -> Value {
    let reference = |header: &Header| {
        let name = header.name();
        (name.to_owned(), json!({"$ref": format!("#/components/headers/{name}")}))
    };
    Value::Object(headers.iter().map(reference).collect())
}

/// What the operations of the document refer to.
pub(super) struct Schemas {
    written: SchemaGenerator,
    sent: BTreeMap<String, Value>,
    problems: BTreeMap<String, Value>,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
            settings.meta_schema = None;
            settings.definitions_path = SCHEMAS.into();
            settings.transforms.push(Box::new(RecursiveTransform(settle)));
        });
        Self { written: settings.into_generator(), sent: BTreeMap::new(), problems: BTreeMap::new() }
    }

    /// A schema, or where it is found.
    pub(super) fn of(&mut self, shape: Shape) -> Value {
        match shape {
            Shape::Written(subschema) => subschema(&mut self.written).to_value(),
            Shape::Sent(name, schema, rules) => {
                let (name, mut schema) = (name().into_owned(), rules::ruled(schema().clone(), rules));
                rules::take_empty_for_absent(&mut schema);
                schema.as_object_mut().map(|schema| (schema.remove("$schema"), schema.remove("title")));
                self.sent.insert(name.clone(), schema);
                json!({"$ref": format!("#{SCHEMAS}/{name}")})
            }
            Shape::Text => json!({"type": "string"}),
        }
    }

    /// Where the response is found that tells one of these problems.
    pub(super) fn problem(&mut self, status: StatusCode, kinds: &BTreeSet<Kind>) -> Value {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let name = [&[status.as_str()], &*names].concat().join(".");
        if !self.problems.contains_key(&name) {
            let response = self.response(status, kinds);
            self.problems.insert(name.clone(), response);
        }
        json!({"$ref": format!("#/components/responses/{name}")})
    }

    fn response(&mut self, status: StatusCode, kinds: &BTreeSet<Kind>) -> Value {
        let types: Vec<String> = kinds.iter().map(|kind| meaning::path(*kind)).collect();
        let line = |kind: &Kind| format!("- `{}`: {}", meaning::path(*kind), Meaning::of(*kind).title);
        let lines: Vec<String> = kinds.iter().map(line).collect();
        let mut headers = BTreeSet::from([Header::RequestId]);
        match status {
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(Header::RetryAfter);
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(Header::WwwAuthenticate);
            }
            _ => {}
        }
        let problem = self.written.subschema_for::<problem::Body>();
        let own = json!({"properties": {"type": {"enum": types}, "status": {"const": status.as_u16()}}});
        json!({
            "description": lines.join("\n"),
            "headers": referred(&headers),
            "content": {"application/problem+json": {"schema": {"allOf": [problem, own]}}},
        })
    }

    /// All that was referred to.
    pub(super) fn components(mut self) -> Map<String, Value> {
        let mut schemas: Map<String, Value> = self.written.take_definitions(true);
        schemas.extend(self.sent);
        let headers = Header::ALL.map(|header| (header.name().to_owned(), header.written()));
        Map::from_iter([
            ("schemas".to_owned(), Value::Object(schemas)),
            ("responses".to_owned(), Value::Object(self.problems.into_iter().collect())),
            ("headers".to_owned(), Value::Object(headers.into_iter().collect())),
        ])
    }
}

/// The parameters that the fields of a type are, with their schemas; true for those that have to be there.
pub(super) fn fields_of<T: JsonSchema>() -> Vec<(String, Value, bool)> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let fields = schema["properties"].as_object().cloned().unwrap_or_default();
    let field = |(name, mut schema): (String, Value)| {
        take_null(&mut schema);
        let is_required = required.iter().any(|one| *one == *name);
        (name, schema, is_required)
    };
    fields.into_iter().map(field).collect()
}

/// What the generator says of a type that is written, and callers have no use for. What may be left out is left out where there is none
/// of it, and never null.
fn settle(schema: &mut Schema) {
    let Some(keywords) = schema.as_object_mut() else { return };
    let required = keywords.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, field) in keywords.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        if !required.iter().any(|one| *one == *name) {
            take_null(field);
        }
    }
    keywords.remove("default");
    keywords.retain(|keyword, value| keyword != "format" || value != "uint");
}

/// A parameter or a field without null, which it can't be; `uint` is a format of nobody but the generator.
fn take_null(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = keywords.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            keywords.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(choices)) = keywords.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(one)] = choices.as_slice() {
            let one = one.clone();
            keywords.remove("anyOf");
            keywords.extend(one);
        }
    }
    keywords.retain(|keyword, value| keyword != "default" || !value.is_null());
    keywords.retain(|keyword, value| keyword != "format" || value != "uint");
}
