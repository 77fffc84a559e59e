//! The HTTP API: the documented dialect, and EMCO's.

use std::collections::BTreeSet;
use std::convert::identity;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum_server::Handle;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use dcm_core::port::clock::Clock;
use dcm_identity::bearer::TOKEN_BYTES_MAX;
use dcm_kube::kubeconfig::Allowed;
use dcm_rest::emco::Service as EmcoService;
use dcm_rest::{Followers, Lookers, Services, Stop, documented, emco, ui};
use futures::FutureExt as _;
use futures::channel::oneshot;
use hyper_util::rt::TokioTimer;
use tokio::task::JoinHandle;

use crate::accepting::{Accepting, Origin, STOP_PAUSE};
use crate::access::{Gate, admit};
use crate::connections::Connections;
use crate::deployment::Deployment;
use crate::health::Health;
use crate::kubeconfigs::check_for;
use crate::limits::Limits;
use crate::listening::ApiListener;
use crate::metrics::{Dialect, Figures, Source};
use crate::untaken::Untaken;

/// Largest head of a request, in bytes: twice the longest token that is looked at ([`dcm_identity::bearer::TOKEN_BYTES_MAX`]), as anybody has so much
/// of it kept before it is known who they are.
const HEAD_BYTES_MAX: usize = 2 * TOKEN_BYTES_MAX;

/// How long requests that are under way when the server stops may take.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// Where EMCO's dialect is asked, for some of its services.
#[derive(Debug)]
pub struct EmcoListener {
    /// Where.
    pub listener: ApiListener,
    /// Which services; a request for another one is answered with 404.
    pub services: BTreeSet<EmcoService>,
}

/// The API, being served.
pub(crate) struct Api {
    handle: Handle<Origin>,
    /// Dropped, nobody can connect any more, and answers that would go on end.
    stop: oneshot::Sender<()>,
    clock: Arc<dyn Clock>,
    serving: JoinHandle<std::io::Result<()>>,
}

/// What all listeners serve by.
#[derive(Clone, Copy)]
struct Common<'a> {
    clock: &'a Arc<dyn Clock>,
    health: &'a Health,
    limits: Limits,
}

impl Api {
    /// Serves the services of a deployment at all listeners for them. Must be called on a tokio runtime.
    pub(crate) fn begin_all(
        deployment: &Deployment,
        health: &Health,
        metrics: &Source,
        documented: Option<ApiListener>,
        emco: Vec<EmcoListener>,
        limits: Limits,
    ) -> Vec<Self> {
        let services = |dialect, stop| {
            let metrics = Figures { source: metrics.clone(), dialect };
            services(deployment, metrics, limits, stop)
        };
        let common = Common { clock: deployment.clock(), health, limits };
        let documented = documented.map(|listener| {
            Self::begin(
                listener,
                common,
                |stop| documented::router(services(Dialect::Documented, stop)),
                ui::before,
            )
        });
        let emco = emco.into_iter().map(|EmcoListener { listener, services: served }| {
            Self::begin(
                listener,
                common,
                |stop| emco::router(services(Dialect::Emco, stop), served),
                identity,
            )
        });
        documented.into_iter().chain(emco).collect()
    }

    /// Serves a router to whom the gate lets in, and what is put before it to anybody.
    fn begin(
        listener: ApiListener,
        common: Common<'_>,
        router: impl FnOnce(Stop) -> Router,
        before: impl FnOnce(Router) -> Router,
    ) -> Self {
        let ApiListener { listener, access, .. } = listener;
        let Common { clock, health, limits } = common;
        let handle = Handle::new();
        let (stop, stopped) = oneshot::channel();
        let stopped: Stop = stopped.map(drop).boxed().shared();
        let gate = Arc::new(Gate::new(&access));
        let router = router(stopped.clone()).layer(from_fn_with_state(gate, admit));
        let router = health.clone().before(before(router));
        let untaken = Untaken::new(clock.clone());
        let mut server = axum_server::Server::<Origin>::from_listener(Accepting::until(stopped, listener))
            .http1_only()
            .first_request_timeout(limits.idle_timeout)
            .accept_error_handler(move |origin: Option<&Origin>, error| untaken.tell(origin, error))
            .handle(handle.clone());
        let http1 = &mut server.http_builder().http1();
        http1.timer(TokioTimer::new()).header_read_timeout(limits.idle_timeout).max_buf_size(HEAD_BYTES_MAX);
        let connections = Connections::new(limits);
        let service = router.into_make_service_with_connect_info::<Origin>();
        let serving = match access.tls() {
            Some(tls) => {
                let acceptor = RustlsAcceptor::new(RustlsConfig::from_config(tls.clone()));
                tokio::spawn(server.acceptor(acceptor.acceptor(connections)).serve(service))
            }
            None => tokio::spawn(server.acceptor(connections).serve(service)),
        };
        Self { handle, stop, clock: clock.clone(), serving }
    }

    /// Takes no more connections, answers what was asked, and ends.
    pub(crate) async fn stop(self) {
        drop(self.stop);
        self.clock.sleep(STOP_PAUSE).await;
        self.handle.graceful_shutdown(Some(STOP_TIMEOUT));
        let ended = self.serving.await;
        match self.handle.connection_count() {
            0 => {}
            connections => tracing::warn!(connections, "connections were cut off"),
        }
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the API did not end in order"),
            Err(error) => tracing::error!(%error, "the API broke off"),
        }
    }
}

fn services(deployment: &Deployment, metrics: Figures, limits: Limits, stop: Stop) -> Services {
    Services {
        projects: deployment.projects().clone(),
        providers: deployment.providers().clone(),
        controllers: deployment.controllers().clone(),
        // Who asks here may be anybody on this machine, and is not to run programs as whoever serves.
        registered: deployment.registered().clone().checked_by(check_for(Allowed::default())),
        installation: Arc::new(deployment.clone()),
        metrics: Arc::new(metrics),
        audit: deployment.audit().clone(),
        stop,
        followers: Followers::new(&limits.requests),
        lookers: Lookers::default(),
        clouds: deployment.clouds().clone(),
        clock: deployment.clock().clone(),
        random: deployment.random().clone(),
        limits: limits.requests,
    }
}
