//! Whether a server lives, and whether it is ready to be asked: `/livez` and `/readyz`, for whoever watches it.
//!
//! Both answer anybody who can connect, as probes have no credentials, and tell nothing else. The paths and the text are those of
//! Kubernetes' API server.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use dcm_core::port::clock::Clock;
use dcm_core::service::Projects;
use dcm_sync::engine::Engine;
use futures::FutureExt as _;
use futures::future::{Either, select};
use jiff::Timestamp;
use tokio::sync::Mutex;

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
    /// Who asks meanwhile waits.
    known: Arc<Mutex<Known>>,
}

/// Whether the store answered, and when that was found out.
struct Known {
    at: Timestamp,
    found: Result<(), &'static str>,
}

impl Health {
    pub(crate) fn of(projects: Projects, clock: Arc<dyn Clock>, engine: Option<Engine>) -> Self {
        let known = Known { at: Timestamp::MIN, found: Err("the store has not answered yet") };
        Self { projects, clock, engine, known: Arc::new(Mutex::new(known)) }
    }

    /// Answers both, and leaves all else to a router.
    pub(crate) fn before(self, router: Router) -> Router {
        Router::new()
            .route("/livez", get(async || "ok"))
            .route("/readyz", get(answer))
            .with_state(self)
            .fallback_service(router)
    }

    async fn check(&self) -> Result<(), &'static str> {
        if self.engine.as_ref().is_some_and(|engine| engine.stopped().now_or_never().is_some()) {
            return Err("the worker has ended");
        }
        let mut known = self.known.lock().await;
        let now = self.clock.now();
        if now.duration_since(known.at).unsigned_abs() < KNOWN_FOR {
            return known.found;
        }
        // Whoever asks and leaves does not have the store asked again.
        known.at = now;
        let first = Box::pin(self.projects.list(None, Some(1)));
        let found = match select(first, self.clock.sleep(STORE_TIMEOUT)).await {
            Either::Left((Ok(_), _)) => Ok(()),
            Either::Left((Err(error), _)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the store fails");
                Err("the store fails")
            }
            Either::Right(_) => Err("the store does not answer"),
        };
        *known = Known { at: self.clock.now(), found };
        found
    }
}

async fn answer(State(health): State<Health>) -> (StatusCode, String) {
    match health.check().await {
        Ok(()) => (StatusCode::OK, "ok".to_owned()),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}
