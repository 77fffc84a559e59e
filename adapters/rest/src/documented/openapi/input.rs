//! What handlers take, told by the types of their arguments.

use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::answer::{Shape, fields_of};
use super::operation::{Operation, Parameter, Place};
use crate::access::Asker;
use crate::documented::BODY_BYTES_MAX;
use crate::documented::body::{Body, Shaped};
use crate::documented::place::{Asked, At};
use crate::documented::problem::Kind;
use crate::documented::tag::{self, If, Unconditional};
use crate::request::Asking;

/// Something that a handler takes of a request.
pub(in crate::documented) trait Input {
    /// Adds what callers have to know about it.
    fn describe(operation: Operation) -> Operation {
        operation
    }
}

/// All that a handler takes.
pub(in crate::documented) trait Inputs {
    /// Adds what callers have to know about it.
    fn describe(operation: Operation) -> Operation;
}

/// Arguments of handlers, behind the marker by which axum tells handlers apart.
macro_rules! inputs {
    ($($argument:ident)*) => {
        impl<Marker, $($argument: Input),*> Inputs for (Marker, $($argument,)*) {
            fn describe(operation: Operation) -> Operation {
                $(let operation = $argument::describe(operation);)*
                operation
            }
        }
    };
}

inputs!(A);
inputs!(A B);
inputs!(A B C);
inputs!(A B C D);
inputs!(A B C D E);
inputs!(A B C D E F);
inputs!(A B C D E F G);

impl<S> Input for State<S> {}
impl Input for Uri {}
impl Input for Method {}
impl Input for HeaderMap {}
impl Input for Asker {}

impl Input for Asking {
    fn describe(operation: Operation) -> Operation {
        let why = "Why this is done. It is kept in the audit log.";
        operation.takes(Parameter::header("X-Reason", why, json!({"type": "string"})))
    }
}

impl<T: JsonSchema> Input for At<T> {
    fn describe(operation: Operation) -> Operation {
        parameters::<T>(operation, Place::Path).fails(&[Kind::NotFound])
    }
}

impl<T: JsonSchema> Input for Asked<T> {
    fn describe(operation: Operation) -> Operation {
        parameters::<T>(operation, Place::Query).fails(&[Kind::Malformed])
    }
}

impl Input for Unconditional {
    fn describe(operation: Operation) -> Operation {
        operation.fails(&[Kind::Malformed])
    }
}

impl<T> Input for If<T> {
    fn describe(operation: Operation) -> Operation {
        let matching =
            "It is done only while the thing is as one of these tags names it; `*`: only where it is there.";
        let absent = "`*`: it is done only where there is nothing yet. Not together with `If-Match`.";
        operation
            .takes(Parameter::header(
                "If-Match",
                matching,
                json!({"type": "string", "pattern": tag::PATTERN}),
            ))
            .takes(Parameter::header("If-None-Match", absent, json!({"type": "string", "const": "*"})))
            .fails(&[Kind::Malformed, Kind::PreconditionFailed])
    }
}

impl<T: Shaped + JsonSchema> Input for Body<T> {
    fn describe(operation: Operation) -> Operation {
        operation.takes_body(&["application/json"], Shape::sent::<T>(), BODY_BYTES_MAX)
    }
}

/// Adds a parameter for each field of a type.
fn parameters<T: JsonSchema>(operation: Operation, place: Place) -> Operation {
    fields_of::<T>().into_iter().fold(operation, |operation, (name, mut schema, is_required)| {
        let told = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let description = told.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        let required = is_required || place == Place::Path;
        operation.takes(Parameter { name, place, required, description, schema })
    })
}
