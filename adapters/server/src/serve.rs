//! A worker that keeps everything in the store in sync.

use std::pin::pin;
use std::time::Duration;

use dcm_sync::engine::{Acquire, Engine, Event, Lost, What};
use futures::future::{Either, FutureExt as _, OptionFuture, select};
use futures::stream::StreamExt as _;

use crate::deployment::Deployment;
use crate::metrics::{self, Ends, MetricsListener, Source};
use crate::{audit, renewal, sweeping};

/// How long a stop may take: as long as one request to a cluster may, and some time to give the clusters back.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(35);

/// Why a worker did not end in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ServeError {
    /// It did not stop in [`STOP_TIMEOUT`]. Its clusters are free for others when its lease is over.
    #[error("the worker did not stop within {STOP_TIMEOUT:?}")]
    StopTimedOut,
    /// Its engine ended without being asked to. It is for whoever runs the worker to start another one.
    #[error("the worker can't go on")]
    Lost(#[from] Lost),
}

/// Works on all app contexts of the store, and renews credentials in time, until `stop` is done; then finishes what is under way, gives the clusters
/// back, so that others go on at once, and returns.
///
/// # Errors
/// [`ServeError`]; a lost engine is told at once, without waiting for `stop`.
pub async fn serve(deployment: &Deployment, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
    serve_with_metrics(deployment, None, stop).await
}

/// The same, with figures of its work at an address.
///
/// # Errors
/// As above.
pub async fn serve_with_metrics(
    deployment: &Deployment,
    listener: Option<MetricsListener>,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let engine = deployment.engine(Acquire::All);
    let log = tokio::spawn(log_events(engine.clone()));
    let ends = Ends::default();
    let renewal = tokio::spawn(renewal::keep_renewed(deployment.clone(), ends.clone()));
    let sweeping = tokio::spawn(sweeping::keep_swept(deployment.clone()));
    let bounded = tokio::spawn(audit::keep_bounded(deployment.clone()));
    let source = Source { engine: engine.clone(), ends };
    let answering = listener.map(|listener| metrics::answer(deployment.clone(), listener, source));
    let metrics = tokio::spawn(OptionFuture::from(answering));
    let served = match select(pin!(engine.stopped()), pin!(stop)).await {
        Either::Left((ended, _)) => ended.map_err(ServeError::from),
        Either::Right(((), _)) => {
            tracing::info!("stopping");
            renewal.abort();
            stop_in_time(&engine, deployment).await
        }
    };
    renewal.abort();
    sweeping.abort();
    bounded.abort();
    metrics.abort();
    log.abort();
    served
}

async fn stop_in_time(engine: &Engine, deployment: &Deployment) -> Result<(), ServeError> {
    let timeout = deployment.clock().sleep(STOP_TIMEOUT);
    select(Box::pin(engine.shutdown()), timeout).await;
    // Which of the two it was, the engine itself says.
    engine.stopped().now_or_never().ok_or(ServeError::StopTimedOut)?.map_err(ServeError::from)
}

/// Writes what the engine does to the log. A reader that fell behind begins again.
async fn log_events(engine: Engine) {
    loop {
        let mut events = engine.events();
        while let Some(event) = events.next().await {
            log(&event);
        }
        if engine.stopped().now_or_never().is_some() {
            return;
        }
        tracing::warn!("some events were not logged");
    }
}

fn log(event: &Event) {
    let context = event.context.as_ref().map_or("-", |context| context.as_str());
    let cluster = &event.cluster;
    match &event.what {
        What::Hindered(cause) => {
            tracing::warn!(%cluster, context, reason = ?cause.reason, cause = %cause.message, "hindered");
        }
        What::Lane(state) => tracing::info!(%cluster, context, ?state, "lane"),
        What::Created(object) => tracing::debug!(%cluster, context, %object, "created"),
        What::Updated(object) => tracing::debug!(%cluster, context, %object, "updated"),
        What::Adopted(object) => tracing::debug!(%cluster, context, %object, "adopted"),
        What::Drifted(cause) => {
            tracing::warn!(%cluster, context, object = cause.object.as_ref().map(tracing::field::display), message = %cause.message, "drifted");
        }
        What::Corrected(object) => tracing::info!(%cluster, context, %object, "corrected"),
        What::Deleted(object) => tracing::debug!(%cluster, context, %object, "deleted"),
        What::Released(object) => tracing::debug!(%cluster, context, %object, "released"),
        What::Issued(request) => tracing::debug!(%cluster, context, %request, "issued"),
        What::Acquired => tracing::info!(%cluster, "acquired"),
        What::Lost => tracing::info!(%cluster, "given back or lost"),
        What::Connected => tracing::info!(%cluster, "connected"),
    }
}
