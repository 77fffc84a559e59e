//! What the document says of one route.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::answer::{Answer, Schemas, Shape};
use crate::access::Need;
use crate::documented::meaning::{Meaning, OF_EVERY_REQUEST};
use crate::documented::problem::Kind;

/// What the document says of one route. What a handler takes, its parameters and its body, is told by the types of its arguments
/// ([`Inputs`](super::Inputs)); the rest stands beside the handler, in its `describe`.
#[derive(Debug, Clone)]
pub(in crate::documented) struct Operation {
    summary: String,
    description: String,
    parameters: Vec<Parameter>,
    body: Option<RequestBody>,
    answers: BTreeMap<StatusCode, Answer>,
    problems: BTreeSet<Kind>,
}

/// Where a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::documented) enum Place {
    /// In the path.
    Path,
    /// In the query.
    Query,
    /// In the head of the request.
    Header,
}

/// A parameter.
#[derive(Debug, Clone)]
pub(in crate::documented) struct Parameter {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) required: bool,
    pub(super) description: String,
    pub(super) schema: Value,
}

/// A body that is sent.
#[derive(Debug, Clone)]
struct RequestBody {
    media_types: &'static [&'static str],
    shape: Shape,
    bytes_max: usize,
    /// Fields that have to be there, by their paths, beside those that always have to.
    required: &'static [&'static str],
}

impl Operation {
    /// One that needs this of whoever asks.
    pub(super) fn of(need: Need) -> Self {
        let own = match need {
            Need::Nothing => &[][..],
            Need::View | Need::Change => &[Kind::Unauthenticated, Kind::NotFound],
            Need::AnyRole | Need::Clusters | Need::Metrics | Need::Platform => &[Kind::Unauthenticated],
        };
        let operation = Self {
            summary: String::new(),
            description: String::new(),
            parameters: Vec::new(),
            body: None,
            answers: BTreeMap::new(),
            problems: BTreeSet::new(),
        };
        operation.fails(own).fails(&OF_EVERY_REQUEST)
    }

    /// Says what it is for, in a line without a full stop, and what there is to know about it.
    pub(in crate::documented) fn says(self, summary: impl Into<String>, description: &str) -> Self {
        Self { summary: summary.into(), description: description.to_owned(), ..self }
    }

    /// Says how it is answered when it is done.
    pub(in crate::documented) fn answers(mut self, status: StatusCode, answer: Answer) -> Self {
        self.answers.insert(status, answer);
        self
    }

    /// Says which problems it may be answered with, beside those that come with what it takes and needs.
    pub(in crate::documented) fn fails(mut self, kinds: &[Kind]) -> Self {
        self.problems.extend(kinds);
        self
    }

    /// Says that it takes a parameter.
    pub(in crate::documented) fn takes(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// Leaves out a header of a condition that says nothing here.
    pub(in crate::documented) fn without_header(mut self, name: &str) -> Self {
        self.parameters.retain(|parameter| parameter.place != Place::Header || parameter.name != name);
        self
    }

    /// Says that it takes a body.
    pub(in crate::documented) fn takes_body(
        self,
        media_types: &'static [&'static str],
        shape: Shape,
        bytes_max: usize,
    ) -> Self {
        let body = Some(RequestBody { media_types, shape, bytes_max, required: &[] });
        let kinds =
            [Kind::Malformed, Kind::BodyTimeout, Kind::TooLarge, Kind::UnsupportedMediaType, Kind::Invalid];
        Self { body, ..self }.fails(&kinds)
    }

    /// Says which fields have to be in its body here, by their paths, with something in them.
    pub(in crate::documented) fn requires(mut self, fields: &'static [&'static str]) -> Self {
        if let Some(body) = &mut self.body {
            body.required = fields;
        }
        self
    }

    /// As the document has it; what it refers to is put beside.
    pub(super) fn written(&self, need: Need, schemas: &mut Schemas) -> Map<String, Value> {
        let mut written = Map::new();
        let mut put = |name: &str, value: Value| {
            written.insert(name.to_owned(), value);
        };
        put("summary", self.summary.clone().into());
        let role = match need {
            Need::Nothing => "Anybody may ask.".to_owned(),
            Need::AnyRole => "Needs any role.".to_owned(),
            need => format!("Needs the role `{need}`."),
        };
        put("description", [&*self.description, &role].join("\n\n").trim().into());
        put("x-dcm-role", need.as_str().into());
        if need == Need::Nothing {
            put("security", json!([]));
        }
        if !self.parameters.is_empty() {
            put("parameters", self.parameters.iter().map(Parameter::written).collect());
        }
        if let Some(body) = &self.body {
            put("requestBody", body.written(schemas));
        }
        put("responses", Value::Object(self.responses(schemas)));
        written
    }

    fn responses(&self, schemas: &mut Schemas) -> Map<String, Value> {
        let mut responses = Map::new();
        for (status, answer) in &self.answers {
            responses.insert(status.as_str().to_owned(), answer.written(schemas));
        }
        let mut failures: BTreeMap<StatusCode, BTreeSet<Kind>> = BTreeMap::new();
        for kind in &self.problems {
            failures.entry(Meaning::of(*kind).status).or_default().insert(*kind);
        }
        for (status, kinds) in failures {
            responses.insert(status.as_str().to_owned(), schemas.problem(status, &kinds));
        }
        responses
    }
}

impl Parameter {
    /// A header that may be left out.
    pub(in crate::documented) fn header(name: &str, description: &str, schema: Value) -> Self {
        let (name, description) = (name.to_owned(), description.to_owned());
        Self { name, place: Place::Header, required: false, description, schema }
    }

    fn written(&self) -> Value {
        let place = match self.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
        };
        let mut written = json!({"name": self.name, "in": place, "schema": self.schema});
        if self.required {
            written["required"] = true.into();
        }
        if !self.description.is_empty() {
            written["description"] = self.description.clone().into();
        }
        written
    }
}

impl RequestBody {
    fn written(&self, schemas: &mut Schemas) -> Value {
        let mut all = vec![schemas.of(self.shape)];
        all.extend(self.required.iter().map(|path| required(path)));
        let schema = if let [one] = &mut all[..] { one.take() } else { json!({"allOf": all}) };
        let media_type = |name: &&str| ((*name).to_owned(), json!({"schema": schema}));
        let content: Map<String, Value> = self.media_types.iter().map(media_type).collect();
        let mut told = format!("At most {} MiB.", self.bytes_max / (1024 * 1024));
        if !self.required.is_empty() {
            told += &format!(" Here it needs `{}`.", self.required.join("` and `"));
        }
        json!({"required": true, "description": told, "content": content})
    }
}

/// That there is something at a path.
fn required(path: &str) -> Value {
    path.rsplit('.')
        .fold(json!({"minLength": 1}), |inner, name| json!({"required": [name], "properties": {name: inner}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_to_be_there_is_told_by_its_path() {
        let inner = json!({"required": ["name"], "properties": {"name": {"minLength": 1}}});
        let expected = json!({"required": ["metadata"], "properties": {"metadata": inner}});
        assert_eq!(required("metadata.name"), expected);
    }
}
