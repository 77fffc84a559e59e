//! `dcm serve`: a worker that keeps everything in the store in sync.

use std::net::SocketAddr;

use dcm_server::{AUDIT_DAYS, EmcoListener, Listeners, LoopbackListener};
use futures::channel::oneshot;

use crate::arguments::Global;
use crate::emco_address::{self, EmcoAddress};
use crate::exit::Exit;
use crate::output;
use crate::session::Session;
use crate::work;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How many days entries of the audit log are kept; older ones are deleted.
    #[arg(long, default_value_t = AUDIT_DAYS, value_parser = clap::value_parser!(u16).range(1..), value_name = "DAYS")]
    audit_days: u16,
    /// Serves the HTTP API at http://ADDRESS/v2. Only a loopback address, and asked by it or as localhost, as there is neither
    /// TLS nor a check of who asks; port 0 is any that is free.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Serves EMCO's HTTP API at http://ADDRESS/v2: that of one service (orchestrator, clm or dcm), or of all. May be given several
    /// times. Only a loopback address, as with `--listen`.
    #[arg(long, value_name = "[SERVICE=]ADDRESS")]
    emco_listen: Vec<EmcoAddress>,
    /// Gives metrics for Prometheus at http://ADDRESS/metrics. Only a loopback address, and asked by it or as localhost, as
    /// there is neither TLS nor a check of who asks; port 0 is any that is free.
    #[arg(long, value_name = "ADDRESS")]
    metrics_listen: Option<SocketAddr>,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let deployment = session.deployment.keeping_audit(arguments.audit_days);
    let listeners = Listeners {
        api: listen(arguments.listen).await?,
        emco: listen_for_emco(&arguments.emco_listen).await?,
        metrics: listen(arguments.metrics_listen).await?,
    };
    if let Some(listener) = &listeners.api {
        output::note(format_args!("API at http://{}/v2", listener.address()));
    }
    for EmcoListener { listener, services } in &listeners.emco {
        let services: Vec<&str> = services.iter().map(|service| service.as_str()).collect();
        output::note(format_args!(
            "API of EMCO ({}) at http://{}/v2",
            services.join(", "),
            listener.address()
        ));
    }
    if let Some(listener) = &listeners.metrics {
        output::note(format_args!("metrics at http://{}/metrics", listener.address()));
    }
    let (stop, stopped) = oneshot::channel();
    let stopped = async {
        // Also when whoever says it is gone.
        let _ = stopped.await;
    };
    let interrupted = twice_interrupted(stop);
    output::note("serving; interrupt to stop");
    tokio::select! {
        biased;
        served = dcm_server::serve_at(&deployment, listeners, stopped) => served?,
        interrupted = interrupted => return interrupted.map(|()| Exit::Interrupted),
    }
    Ok(Exit::Done)
}

async fn listen(address: Option<SocketAddr>) -> anyhow::Result<Option<LoopbackListener>> {
    Ok(match address {
        Some(address) => Some(LoopbackListener::bind(address).await?),
        None => None,
    })
}

async fn listen_for_emco(addresses: &[EmcoAddress]) -> anyhow::Result<Vec<EmcoListener>> {
    let mut listeners = Vec::with_capacity(addresses.len());
    for (address, services) in emco_address::joined(addresses) {
        listeners.push(EmcoListener { listener: LoopbackListener::bind(address).await?, services });
    }
    Ok(listeners)
}

/// Says at the first signal that it is to stop, which takes as long as requests to clusters do; ends with the second.
fn twice_interrupted(stop: oneshot::Sender<()>) -> impl Future<Output = anyhow::Result<()>> {
    let first = work::interrupted();
    async {
        first.await?;
        let again = work::interrupted();
        output::note("stopping; interrupt again to end at once");
        // Nobody hears it where nothing is served any more.
        let _ = stop.send(());
        again.await
    }
}
