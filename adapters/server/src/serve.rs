//! A worker that keeps everything in the store in sync.

use std::pin::pin;
use std::time::Duration;

use dcm_core::service::Caller;
use dcm_manager::{keep_swept, keep_tended};
use dcm_sync::engine::{Acquire, Engine, Event, Lost, What};
use futures::future::{Either, FutureExt as _, join_all, select};
use tokio::task::JoinSet;

use crate::api::{Api, EmcoListener};
use crate::audit;
use crate::deployment::Deployment;
use crate::following::{Heard, follow};
use crate::health::Health;
use crate::limits::Limits;
use crate::listening::{ApiListener, LoopbackListener};
use crate::metrics::{self, Answers, Ends, Source};

/// How long a stop may take: as long as one request to a cluster may, and some time to give the clusters back.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(35);

/// How long the last decisions of an engine may take to be kept: some writes to the store.
const KEEP_TIMEOUT: Duration = Duration::from_secs(5);

/// Where a worker is asked. Nowhere by default.
#[derive(Debug, Default)]
pub struct Listeners {
    /// The HTTP API.
    pub api: Option<ApiListener>,
    /// The HTTP API of EMCO.
    pub emco: Vec<EmcoListener>,
    /// Figures of the work, in the text format of Prometheus.
    pub metrics: Option<LoopbackListener>,
    /// What whoever asks for the API, also that of EMCO, may take.
    pub limits: Limits,
}

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

impl ServeError {
    /// True when the same call may succeed later without anybody changing anything: another worker may always begin.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::StopTimedOut | Self::Lost(_) => true,
        }
    }
}

/// Works on all app contexts of the store until `stop` is done. Beside that it renews credentials in time, sweeps what comes
/// late of deleted logical clouds, deletes entries of the audit log whose time is over, and writes what the engine
/// does to the log. In the end it finishes what is under way, gives the clusters back, so that others go on at once,
/// and returns.
///
/// # Errors
/// [`ServeError`]; a lost engine is told at once, without waiting for `stop`.
pub async fn serve(deployment: &Deployment, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
    serve_at(deployment, Listeners::default(), stop).await
}

/// The same, and answers whoever asks at the listeners. A stop first answers what was asked by
/// then, for 15 s at most; what takes longer is cut off.
///
/// # Errors
/// As above.
pub async fn serve_at(
    deployment: &Deployment,
    listeners: Listeners,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let engine = deployment.engine(Acquire::All);
    let mut decisions = tokio::spawn(deployment.keep_decisions(&engine));
    let ends = Ends::default();
    let answering = Answering::begin(deployment, listeners, Some(&engine), &ends);
    // They end with the set that they are in.
    let mut telling = JoinSet::new();
    telling.spawn(log_events(&engine));
    let mut changing = JoinSet::new();
    changing.spawn(tend(deployment.clone(), ends));
    changing.spawn(sweep(deployment.clone()));
    changing.spawn(audit::keep_bounded(deployment.clone()));
    let lost = match select(pin!(engine.stopped()), pin!(stop)).await {
        Either::Left((ended, _)) => Some(ended),
        Either::Right(((), _)) => None,
    };
    let metrics = answering.stop().await;
    // What they begin from now on the engine has no time for.
    drop(changing);
    let served = match lost {
        Some(ended) => ended.map_err(ServeError::from),
        None => {
            tracing::info!("stopping");
            stop_in_time(&engine, deployment).await
        }
    };
    select(&mut decisions, deployment.clock().sleep(KEEP_TIMEOUT)).await;
    decisions.abort();
    drop((telling, metrics));
    served
}

/// Answers whoever asks at the listeners until `stop` is done, and does no work on clusters: workers on the same store do. A
/// stop is as that of [`serve_at`].
pub async fn answer_at(deployment: &Deployment, listeners: Listeners, stop: impl Future<Output = ()>) {
    let answering = Answering::begin(deployment, listeners, None, &Ends::default());
    stop.await;
    tracing::info!("stopping");
    drop(answering.stop().await);
}

/// Renews credentials in time and deletes logical clouds that wait for deletion; counts how long credentials last.
async fn tend(deployment: Deployment, ends: Ends) {
    let (clouds, clock) = (deployment.clouds(), deployment.clock());
    let caller = Caller::new("dcm serve").because("tending logical clouds");
    keep_tended(clouds, &**clock, &caller, |agenda| ends.set(agenda.ends(), clock.now())).await;
}

async fn sweep(deployment: Deployment) {
    keep_swept(deployment.clouds(), &**deployment.clock()).await;
}

/// What is answered at listeners.
struct Answering {
    apis: Vec<Api>,
    /// Ends with the set that it is in.
    metrics: JoinSet<()>,
}

impl Answering {
    /// Begins to answer, of what a worker does where one runs.
    fn begin(deployment: &Deployment, listeners: Listeners, engine: Option<&Engine>, ends: &Ends) -> Self {
        let mut metrics = JoinSet::new();
        let source = Source {
            engine: engine.cloned(),
            ends: ends.clone(),
            stores: deployment.stores().clone(),
            answers: Answers::default(),
        };
        if let Some(listener) = listeners.metrics {
            metrics.spawn(metrics::answer(deployment.clone(), listener, source.clone()));
        }
        let health = Health::of(deployment.projects().clone(), deployment.clock().clone(), engine.cloned());
        Self {
            apis: Api::begin_all(
                deployment,
                &health,
                &source,
                listeners.api,
                listeners.emco,
                listeners.limits,
            ),
            metrics,
        }
    }

    /// Answers what was asked, all at once as each has its time, and nothing more but for metrics: these as long as the set lives.
    async fn stop(self) -> JoinSet<()> {
        join_all(self.apis.into_iter().map(Api::stop)).await;
        self.metrics
    }
}

async fn stop_in_time(engine: &Engine, deployment: &Deployment) -> Result<(), ServeError> {
    let timeout = deployment.clock().sleep(STOP_TIMEOUT);
    select(Box::pin(engine.shutdown()), timeout).await;
    // Which of the two it was, the engine itself says.
    engine.stopped().now_or_never().ok_or(ServeError::StopTimedOut)?.map_err(ServeError::from)
}

/// Writes what the engine does to the log.
fn log_events(engine: &Engine) -> impl Future<Output = ()> + Send + use<> {
    follow(engine, |heard| match heard {
        Heard::Event(event) => log(&event),
        Heard::Missed(count) => tracing::warn!(count, "some events were not logged"),
    })
}

fn log(event: &Event) {
    let context = event.context.as_ref().map_or("-", |context| context.as_str());
    let cluster = &event.cluster;
    match &event.what {
        What::Hindered(cause) => {
            tracing::warn!(%cluster, context, reason = ?cause.reason, cause = %cause.whole(), "hindered");
        }
        What::Lane(state) => tracing::info!(%cluster, context, ?state, "lane"),
        What::Created(object) => tracing::debug!(%cluster, context, %object, "created"),
        What::Updated(object) => tracing::debug!(%cluster, context, %object, "updated"),
        What::Adopted(object) => tracing::debug!(%cluster, context, %object, "adopted"),
        What::Drifted(cause) => {
            tracing::warn!(%cluster, context, object = cause.object.as_ref().map(tracing::field::display), message = %cause.whole(), "drifted");
        }
        What::Corrected(object) => tracing::info!(%cluster, context, %object, "corrected"),
        What::Deleted(object) => tracing::debug!(%cluster, context, %object, "deleted"),
        What::Released(object) => tracing::debug!(%cluster, context, %object, "released"),
        What::Edited(object) => tracing::info!(%cluster, context, %object, "edited"),
        What::Issued(request) => tracing::debug!(%cluster, context, %request, "issued"),
        What::Lapsed(request) => {
            tracing::warn!(%cluster, context, %request, "what was issued is good no more, and is asked for again");
        }
        What::Acquired => tracing::info!(%cluster, "acquired"),
        What::TakenOver => tracing::warn!(%cluster, "taken over from a worker that gave no sign of life"),
        What::Lost => tracing::info!(%cluster, "given back or lost"),
        What::Connected => tracing::info!(%cluster, "connected"),
    }
}
