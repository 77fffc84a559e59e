//! The span of a request, in which all is logged that is done for it.
//!
//! Lines of the log have the request's id, its caller, and the trace that it belongs to, where it says so. Whoever exports spans
//! gets what was asked and answered as well, in the names of OpenTelemetry: it is recorded in the end, so that no line of the log
//! has it. A path is told where a route knows it: then there is nothing in it but names. A query is not.

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use tracing::field::Empty;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Span};

/// Names the trace that a request belongs to (W3C Trace Context), and the span in it that it comes from.
const TRACEPARENT: &str = "traceparent";

/// How many hexadecimal digits the parts of it have: version, trace, span, flags.
const TRACEPARENT_DIGITS: [usize; 4] = [2, 32, 16, 2];

/// What is told of a method that is none of those that are defined: callers may send any.
const OTHER_METHOD: &str = "_OTHER";

/// What it is called in the name of a span.
const OTHER_METHOD_NAME: &str = "HTTP";

/// Longest path that is told, in bytes: several names of the greatest length have room in it.
const PATH_BYTES_MAX: usize = 1024;

/// How a request was asked, as it is told when it is answered.
pub(crate) struct Asked {
    method: Method,
    /// The template of its path, and the path.
    route: Option<(MatchedPath, Uri)>,
}

impl Asked {
    /// Of a request, where somebody may want to know it.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let is_wanted = LevelFilter::current() >= Level::INFO;
        is_wanted.then(|| {
            let template = request.extensions().get::<MatchedPath>().cloned();
            let route = template.map(|template| (template, request.uri().clone()));
            Self { method: request.method().clone(), route }
        })
    }

    /// Tells it, with the answer.
    pub(crate) fn record(&self, span: &Span, status: StatusCode) {
        let method = told(&self.method);
        let mut name = if method == OTHER_METHOD { OTHER_METHOD_NAME } else { method }.to_owned();
        span.record("http.request.method", method).record("http.response.status_code", status.as_u16());
        if let Some((template, uri)) = &self.route {
            name = format!("{name} {}", template.as_str());
            span.record("http.route", template.as_str());
            if uri.path().len() <= PATH_BYTES_MAX {
                span.record("url.path", uri.path());
            }
        }
        span.record("otel.name", name).record("otel.kind", "server");
        if status.is_server_error() {
            span.record("error.type", status.as_str()).record("otel.status_code", "ERROR");
        }
    }
}

/// Opens the span of a request.
pub(crate) fn open(headers: &HeaderMap, request_id: &str, caller: &str) -> Span {
    let traceparent = headers.get(TRACEPARENT).and_then(|sent| sent.to_str().ok());
    tracing::error_span!(
        "request",
        request_id,
        caller,
        traceparent = traceparent.filter(|sent| is_traceparent(sent)),
        http.request.method = Empty,
        http.route = Empty,
        http.response.status_code = Empty,
        url.path = Empty,
        error.type = Empty,
        otel.name = Empty,
        otel.kind = Empty,
        otel.status_code = Empty,
    )
}

/// True for what has the form of the header; it is written to logs as it is.
fn is_traceparent(text: &str) -> bool {
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    let parts = text.split('-').map(|part| part.bytes().all(is_digit).then_some(part.len()));
    parts.eq(TRACEPARENT_DIGITS.map(Some))
}

/// The name of a method, of which there are few, whatever callers send.
pub(crate) fn told(method: &Method) -> &'static str {
    const DEFINED: [&str; 9] =
        ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    DEFINED.into_iter().find(|defined| *defined == method.as_str()).unwrap_or(OTHER_METHOD)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Debug;
    use std::sync::{Arc, Mutex};

    use axum::body::Body;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    /// What the one span of a test is told.
    #[derive(Clone, Default)]
    struct Told(Arc<Mutex<BTreeMap<&'static str, String>>>);

    impl Visit for Told {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            self.0.lock().unwrap().insert(field.name(), format!("{value:?}"));
        }
    }

    impl Subscriber for Told {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, attributes: &Attributes<'_>) -> Id {
            attributes.record(&mut self.clone());
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, values: &Record<'_>) {
            values.record(&mut self.clone());
        }

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {}

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    /// What the span of a request is told that no route knows.
    fn told_of(method: &str, status: StatusCode) -> BTreeMap<&'static str, String> {
        let told = Told::default();
        tracing::subscriber::with_default(told.clone(), || {
            let request = Request::builder().method(method).uri("/hunter2?a=hunter2").body(Body::empty());
            let request = request.unwrap();
            Asked::of(&request).unwrap().record(&open(request.headers(), "r-1", "ann"), status);
        });
        std::mem::take(&mut *told.0.lock().unwrap())
    }

    #[test]
    fn a_failure_of_the_server_is_told_as_one_and_that_of_a_caller_is_not() {
        let told = told_of("HUNTER2", StatusCode::SERVICE_UNAVAILABLE);
        let expected = [
            ("caller", "\"ann\""),
            ("error.type", "\"503\""),
            ("http.request.method", "\"_OTHER\""),
            ("http.response.status_code", "503"),
            ("otel.kind", "\"server\""),
            ("otel.name", "\"HTTP\""),
            ("otel.status_code", "\"ERROR\""),
            ("request_id", "\"r-1\""),
        ];
        assert_eq!(told, expected.map(|(name, value)| (name, value.to_owned())).into());
        let told = told_of("GET", StatusCode::NOT_FOUND);
        assert!(!told.contains_key("error.type") && !told.contains_key("otel.status_code"), "{told:?}");
    }

    #[test]
    fn a_trace_is_named_in_one_form_alone() {
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        assert!(is_traceparent(&format!("00-{trace}-{span}-01")));
        for other in [
            String::new(),
            format!("00-{trace}-{span}"),
            format!("00-{trace}-{span}-01-more"),
            format!("00-{span}-{trace}-01"),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{trace}-{span}-0\n"),
        ] {
            assert!(!is_traceparent(&other), "{other}");
        }
    }
}
