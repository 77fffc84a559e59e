//! The HTTP API: the documented dialect, and EMCO's.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum_server::Handle;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use dcm_kube::kubeconfig::Allowed;
use dcm_rest::emco::Service as EmcoService;
use dcm_rest::{Services, Stop, documented, emco};
use futures::FutureExt as _;
use futures::channel::oneshot;
use hyper_util::rt::TokioTimer;
use tokio::task::JoinHandle;

use crate::access::{Gate, admit};
use crate::deployment::Deployment;
use crate::health::Health;
use crate::kubeconfigs::check_for;
use crate::listening::ApiListener;

/// How long the head of a request may take, and how long a connection may be silent between two.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Largest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;

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
    handle: Handle<SocketAddr>,
    /// Dropped, it ends answers that would go on.
    stop: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Api {
    /// Serves the services of a deployment at all listeners for them. Must be called on a tokio runtime.
    pub(crate) fn begin_all(
        deployment: &Deployment,
        health: &Health,
        documented: Option<ApiListener>,
        emco: Vec<EmcoListener>,
    ) -> Vec<Self> {
        let documented = documented.map(|listener| {
            Self::begin(listener, health, |stop| documented::router(services(deployment, stop)))
        });
        let emco = emco.into_iter().map(|EmcoListener { listener, services: served }| {
            Self::begin(listener, health, |stop| emco::router(services(deployment, stop), served))
        });
        documented.into_iter().chain(emco).collect()
    }

    fn begin(listener: ApiListener, health: &Health, router: impl FnOnce(Stop) -> Router) -> Self {
        let ApiListener { listener, access, .. } = listener;
        let handle = Handle::new();
        let (stop, stopped) = oneshot::channel();
        let gate = Arc::new(Gate::new(&access));
        let router = router(stopped.map(drop).boxed().shared()).layer(from_fn_with_state(gate, admit));
        let router = health.clone().before(router);
        let mut server = axum_server::Server::from_listener(listener)
            .http1_only()
            .first_request_timeout(HEAD_TIMEOUT)
            .accept_error_handler(|_, error| tracing::warn!(%error, "a connection could not be taken"))
            .handle(handle.clone());
        let http1 = &mut server.http_builder().http1();
        http1.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(HEAD_BYTES_MAX);
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let serving = match access.tls() {
            Some(tls) => {
                let acceptor = RustlsAcceptor::new(RustlsConfig::from_config(tls.clone()));
                tokio::spawn(server.acceptor(acceptor).serve(service))
            }
            None => tokio::spawn(server.serve(service)),
        };
        Self { handle, stop, serving }
    }

    /// Takes no more connections, answers what was asked, and ends.
    pub(crate) async fn stop(self) {
        self.handle.graceful_shutdown(Some(STOP_TIMEOUT));
        drop(self.stop);
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
fn services(deployment: &Deployment, stop: Stop) -> Services {
    Services {
        projects: deployment.projects().clone(),
        providers: deployment.providers().clone(),
        controllers: deployment.controllers().clone(),
        // Who asks here may be anybody on this machine, and is not to run programs as whoever serves.
        registered: deployment.registered().clone().checked_by(check_for(Allowed::default())),
        installation: Arc::new(deployment.clone()),
        planner: deployment.planner(),
        audit: deployment.audit().clone(),
        stop,
        clouds: deployment.clouds().clone(),
        clock: deployment.clock().clone(),
        random: deployment.random().clone(),
    }
}
