//! `dcm serve`: a worker that keeps everything in the store in sync, and the HTTP API.

mod flags;
mod kubeconfigs;

use dcm_server::{Access, ApiListener, Deployment, EmcoListener, Listeners, LoopbackListener, Serving};
use futures::channel::oneshot;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::limits;
use crate::log;
use crate::otlp::Export;
use crate::output::{self, Notation};
use crate::session;
use crate::work;
pub(crate) use flags::Arguments;

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let settings = arguments.settings(global)?;
    let keys = session::keys_of(global)?;
    if arguments.print_config {
        // What breaks a rule is told here, too.
        settings.clone().resolve(keys)?;
        let notation = global.output.for_programs().unwrap_or(Notation::Yaml);
        output::print(&notation.write(&settings.shown())?)?;
        return Ok(Exit::Done);
    }
    let serving = settings.resolve(keys)?;
    let export = Export::begin(serving.collector.as_ref())?;
    log::begin(global.verbose, global.log_format, export.as_ref());
    let served = serve(&serving).await;
    // Who interrupts again waits for nothing.
    if let Some(export) = export
        && !matches!(served, Ok(Exit::Interrupted))
    {
        export.end().await;
    }
    served
}

/// Serves until it is interrupted.
async fn serve(serving: &Serving) -> anyhow::Result<Exit> {
    let deployment = Deployment::open(&serving.configuration).await?;
    let listeners = listen(&deployment, serving).await?;
    let (stop, stopped) = oneshot::channel();
    let stopped = async {
        // Also when whoever says it is gone.
        let _ = stopped.await;
    };
    let interrupted = twice_interrupted(stop);
    let served = async {
        if serving.worker {
            output::note("serving; interrupt to stop");
            return dcm_server::serve_at(&deployment, listeners, stopped).await;
        }
        output::note("serving without a worker; interrupt to stop");
        dcm_server::answer_at(&deployment, listeners, stopped).await;
        Ok(())
    };
    tokio::select! {
        biased;
        served = served => served?,
        interrupted = interrupted => return interrupted.map(|()| Exit::Interrupted),
    }
    Ok(Exit::Done)
}

/// Listens at all addresses, and says where.
async fn listen(deployment: &Deployment, serving: &Serving) -> anyhow::Result<Listeners> {
    let access = Access::open(&serving.access, deployment.clock())?;
    let mut listeners = Listeners::default();
    if let Some(address) = serving.listen.clone() {
        let listener = ApiListener::bind(address, &access).await?;
        output::note(format_args!("API at {}/v2", listener.url()));
        warn_of_open_access(&listener);
        listeners.api = Some(listener);
    }
    for (address, services) in serving.emco_listen.clone() {
        let listener = ApiListener::bind(address.into(), &access).await?;
        let names: Vec<&str> = services.iter().map(|service| service.as_str()).collect();
        output::note(format_args!("API of EMCO ({}) at {}/v2", names.join(", "), listener.url()));
        warn_of_open_access(&listener);
        listeners.emco.push(EmcoListener { listener, services });
    }
    if let Some(address) = serving.metrics_listen {
        let listener = LoopbackListener::bind(address).await?;
        output::note(format_args!("metrics at http://{}/metrics", listener.address()));
        listeners.metrics = Some(listener);
    }
    let apis = listeners.emco.len() + usize::from(listeners.api.is_some());
    listeners.limits = limits::possible(serving.limits, apis);
    Ok(listeners)
}

/// Warns where callers prove nothing, at any level of the log.
fn warn_of_open_access(listener: &ApiListener) {
    if let Some(warning) = listener.open_access() {
        output::note(format_args!("warning: {}: {warning}", listener.url()));
    }
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
