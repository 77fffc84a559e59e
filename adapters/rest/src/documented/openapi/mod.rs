//! The document that describes this dialect: OpenAPI 3.1, made of the routes.
//!
//! What is sent is described by the very schemas that bodies are held against, what is answered by those of the types that are
//! written, and what a handler takes by the types of its arguments ([`Inputs`]). The words stand beside the handlers.

mod answer;
mod collection;
mod described;
mod input;
mod operation;
mod rules;
pub(super) mod served;

pub(super) use answer::{Answer, Shape};
pub(super) use described::{Described, delete, get, post, put};
pub(super) use input::{Input, Inputs};
pub(super) use operation::{Operation, Parameter};
pub(super) use rules::Rules;

use serde_json::{Map, Value, json};

use self::answer::Schemas;

/// Where the document is found.
pub(super) const PATH: &str = "/openapi.json";

/// What is said of the whole.
const DESCRIPTION: &str = include_str!("description.md");

/// The name of a request, which each may have.
const REQUEST_ID: &str = "X-Request-Id";

/// The document of these routes.
pub(super) fn document(routes: &[Described]) -> Value {
    let mut schemas = Schemas::new();
    let mut paths: Map<String, Value> = Map::new();
    for Described { route, operation } in routes {
        let mut written = operation.written(route.need(), &mut schemas);
        written.insert("operationId".to_owned(), operation_id(route.method().as_str(), route.path()).into());
        written.insert("tags".to_owned(), json!([collection::of(route.path())]));
        let id = json!({"$ref": format!("#/components/parameters/{REQUEST_ID}")});
        let path = paths.entry(route.path()).or_insert_with(|| json!({"parameters": [id]}));
        path[route.method().as_str().to_lowercase()] = Value::Object(written);
    }
    let mut components = schemas.components();
    components.insert("parameters".to_owned(), json!({REQUEST_ID: request_id()}));
    components.insert("securitySchemes".to_owned(), security_schemes());
    let mut document = json!({
        "openapi": "3.1.0",
        "info": info(),
        "servers": [{"url": "/", "description": "The server that this document comes from."}],
        // The last one: on a loopback address, whoever can connect may ask.
        "security": [{"token": []}, {"certificate": []}, {}],
        "tags": collection::tags(),
        "paths": paths,
        "components": components,
    });
    // Whatever else is linked in, the text is the same.
    document.sort_all_objects();
    document
}

fn info() -> Value {
    json!({
        "title": "Distributed Cloud Manager",
        "version": env!("CARGO_PKG_VERSION"),
        "summary": "Logical clouds over many Kubernetes clusters",
        "description": DESCRIPTION,
        "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
    })
}

fn request_id() -> Value {
    json!({
        "name": REQUEST_ID,
        "in": "header",
        "description": "The name of the request, in the answer, in the log and in the audit log: up to 128 visible characters of \
                        ASCII. Without one, or with another text, it is made.",
        "schema": {"type": "string"},
    })
}

fn security_schemes() -> Value {
    json!({
        "token": {"type": "http", "scheme": "bearer", "description": "A static token, or one of an OIDC issuer."},
        "certificate": {"type": "mutualTLS", "description": "A client certificate."},
    })
}

/// Names an operation by its method and its path; of the names in the path only the last segment is one of its own.
fn operation_id(method: &str, path: &str) -> String {
    let segments: Vec<&str> =
        path.trim_start_matches("/v2/").split('/').filter(|one| !one.is_empty()).collect();
    let last = segments.len().saturating_sub(1);
    let told = segments.iter().enumerate().filter(|(index, one)| *index == last || !one.starts_with('{'));
    let words = told.map(|(_, one)| one.trim_matches(['{', '}']).replace('.', "-"));
    [method.to_lowercase()].into_iter().chain(words).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_named_by_method_and_path() {
        for (method, path, id) in [
            ("GET", "/v2/projects", "get-projects"),
            ("PUT", "/v2/projects/{project}", "put-projects-project"),
            (
                "POST",
                "/v2/projects/{project}/logical-clouds/{cloud}/apply",
                "post-projects-logical-clouds-apply",
            ),
            ("GET", "/openapi.json", "get-openapi-json"),
        ] {
            assert_eq!(operation_id(method, path), id);
        }
    }
}
