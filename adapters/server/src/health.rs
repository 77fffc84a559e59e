//! Whether a server lives, and whether it is ready to be asked: `/livez` and `/readyz`, for whoever watches it.
//!
//! Both answer anybody who can connect, as probes have no credentials, and tell nothing else. The paths and the text are those of
//! Kubernetes' API server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use dcm_core::port::clock::Clock;
use dcm_core::service::Projects;
use dcm_sync::engine::Engine;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Either, Shared, select};
use jiff::Timestamp;
use tokio::task::AbortHandle;

/// How long the store may take to answer.
const STORE_TIMEOUT: Duration = Duration::from_secs(3);

/// For how long it is known whether the store answers: whoever asks again and again asks the store no more often than this.
const KNOWN_FOR: Duration = Duration::from_secs(1);

/// What is looked at.
#[derive(Clone)]
pub(crate) struct Health {
    projects: Projects,
    clock: Arc<dyn Clock>,
    /// None where no worker runs.
    engine: Option<Engine>,
    looks: Arc<Mutex<Looks>>,
}

/// Whether the store answers, or what is wrong with it.
type Found = Result<(), &'static str>;

/// Looks at the store. Each goes on when whoever asked for it has left: the next one who asks has its answer, and asks the store no more often for it.
#[derive(Default)]
struct Looks {
    /// What was found last, and when.
    last: Option<(Timestamp, Found)>,
    /// The last one that was begun, and whether it has ended.
    begun: Option<(AbortHandle, Look)>,
}

/// All who ask meanwhile wait for the same one.
type Look = Shared<BoxFuture<'static, Found>>;

impl Health {
    pub(crate) fn of(projects: Projects, clock: Arc<dyn Clock>, engine: Option<Engine>) -> Self {
        Self { projects, clock, engine, looks: Arc::default() }
    }

    /// Answers both, and leaves all else to a router.
    pub(crate) fn before(self, router: Router) -> Router {
        Router::new()
            .route("/livez", get(async || "ok"))
            .route("/readyz", get(answer))
            .with_state(self)
            .fallback_service(router)
    }

    async fn check(&self) -> Found {
        if self.engine.as_ref().is_some_and(|engine| engine.stopped().now_or_never().is_some()) {
            return Err("the worker has ended");
        }
        let (projects, clock) = (self.projects.clone(), self.clock.clone());
        found(&self.looks, &self.clock, async move { look_at(&projects, &*clock).await }).await
    }
}

async fn look_at(projects: &Projects, clock: &dyn Clock) -> Found {
    let first = Box::pin(projects.list(None, Some(1)));
    match select(first, clock.sleep(STORE_TIMEOUT)).await {
        Either::Left((Ok(_), _)) => Ok(()),
        Either::Left((Err(error), _)) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "the store fails");
            Err("the store fails")
        }
        Either::Right(_) => Err("the store does not answer"),
    }
}

/// What is known, or what a look finds: one that is under way, or this one.
async fn found(
    looks: &Arc<Mutex<Looks>>,
    clock: &Arc<dyn Clock>,
    look: impl Future<Output = Found> + Send + 'static,
) -> Found {
    let under_way = {
        let mut known = locked(looks);
        if let Some((at, found)) = known.last
            && clock.now().duration_since(at).unsigned_abs() < KNOWN_FOR
        {
            return found;
        }
        match &known.begun {
            Some((task, under_way)) if !task.is_finished() => under_way.clone(),
            _ => {
                let (task, begun) = begin(looks.clone(), clock.clone(), look);
                known.begun = Some((task, begun.clone()));
                begun
            }
        }
    };
    under_way.await
}

/// Looks in a task of its own.
fn begin(
    looks: Arc<Mutex<Looks>>,
    clock: Arc<dyn Clock>,
    look: impl Future<Output = Found> + Send + 'static,
) -> (AbortHandle, Look) {
    let task = tokio::spawn(async move {
        let found = look.await;
        locked(&looks).last = Some((clock.now(), found));
        found
    });
    let handle = task.abort_handle();
    let ended = task.map(|ended| ended.unwrap_or(Err("the look at the store broke off")));
    (handle, ended.boxed().shared())
}

fn locked(looks: &Mutex<Looks>) -> MutexGuard<'_, Looks> {
    looks.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(State(health): State<Health>) -> (StatusCode, String) {
    match health.check().await {
        Ok(()) => (StatusCode::OK, "ok".to_owned()),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use dcm_sync::runtime::TokioClock;
    use futures::channel::oneshot;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_look_goes_on_when_who_asked_for_it_has_left() {
        let (looks, clock): (_, Arc<dyn Clock>) = (Arc::default(), Arc::new(TokioClock::new()));
        let (answer, answered) = oneshot::channel();
        let slow = async move { answered.await.unwrap_or(Err("given up")) };
        assert_eq!(found(&looks, &clock, slow).now_or_never(), None);
        let mut waiting = Box::pin(found(&looks, &clock, ready(Err("asked twice"))));
        assert_eq!((&mut waiting).now_or_never(), None);
        answer.send(Ok(())).unwrap();
        assert_eq!(waiting.await, Ok(()));
        assert_eq!(found(&looks, &clock, ready(Err("asked again"))).await, Ok(()));
        tokio::time::sleep(KNOWN_FOR).await;
        assert_eq!(found(&looks, &clock, ready(Err("the store fails"))).await, Err("the store fails"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_look_found_for_one_who_has_left_is_not_told_when_it_is_old() {
        let (looks, clock): (_, Arc<dyn Clock>) = (Arc::default(), Arc::new(TokioClock::new()));
        assert_eq!(found(&looks, &clock, ready(Err("the store fails"))).now_or_never(), None);
        tokio::time::sleep(KNOWN_FOR).await;
        assert_eq!(found(&looks, &clock, ready(Ok(()))).await, Ok(()));
    }
}
