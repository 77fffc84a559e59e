//! Which spans are sent, and which trace they belong to.

use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracer;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Metadata, Subscriber};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterFn, LevelFilter};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::Exporting;
use crate::log;

/// The field in which a span names the trace that its caller has begun.
const TRACEPARENT: &str = "traceparent";

/// Sends spans by a tracer.
pub(super) fn over(tracer: SdkTracer) -> Exporting {
    // Where a span is made in our code, and by which thread, is of no use to whoever runs a server. A span is begun when it
    // ends, with the time at which it was made, so that its name may be known late.
    let layer = tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_context_activation(false);
    let ours = FilterFn::new(is_sent).with_max_level_hint(LevelFilter::INFO);
    Continuing { layer, propagator: TraceContextPropagator::new() }.with_filter(ours).boxed()
}

/// Spans of our own crates, and nothing that is logged in them.
fn is_sent(metadata: &Metadata<'_>) -> bool {
    let of = metadata.target().split("::").next().unwrap_or_default();
    metadata.is_span() && *metadata.level() <= Level::INFO && log::OURS.contains(&of)
}

/// Puts spans into the traces that their callers have begun.
struct Continuing<S> {
    layer: OpenTelemetryLayer<S, SdkTracer>,
    propagator: TraceContextPropagator,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Continuing<S> {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut caller = Traceparent::default();
        attributes.record(&mut caller);
        // A span without a parent here belongs to what is current there.
        let _current = caller.0.is_some().then(|| self.propagator.extract(&caller).attach());
        self.layer.on_new_span(attributes, id, context);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        self.layer.on_record(id, values, context);
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        self.layer.on_follows_from(id, follows, context);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        self.layer.on_enter(id, context);
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        self.layer.on_exit(id, context);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.layer.on_close(id, context);
    }
}

/// What a span says of its caller's trace.
#[derive(Default)]
struct Traceparent(Option<String>);

impl Visit for Traceparent {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == TRACEPARENT {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

/// As it is read from the headers of a request. There is no other one: what else callers say (`tracestate`) goes no further.
impl Extractor for Traceparent {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.as_deref().filter(|_| key == TRACEPARENT)
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT]
    }
}
