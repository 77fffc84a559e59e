//! Having work done, and waiting for it.
//!
//! Where a worker serves the store, it does the work, and this process only watches. Where none does, this process works
//! itself, on its own app contexts alone, and gives the clusters back when it is done. A worker that goes away
//! meanwhile is replaced by this process, too.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use dcm_core::name::{ContextId, LogicalCloudName, ProjectName};
use dcm_server::Deployment;
use dcm_sync::engine::{Acquire, Engine, Lost};
use futures::StreamExt as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::output;
use crate::place::{self, Moment, Place};
use crate::progress::Progress;
use crate::session::Session;

/// How long an own engine may take to finish what is under way when the waiting is over.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long requests that are answered may take to be cleared away, beside the lease of a worker that died with them.
const TIDYING_TIMEOUT: Duration = Duration::from_secs(3);

/// How long to wait before a lost watch is begun again; twice as long each time while it is lost again.
const RETRY_WAIT: Duration = Duration::from_millis(200);

/// Longest such wait.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(5);

/// A logical cloud that is worked on.
#[derive(Debug, Clone)]
pub(crate) struct Worked {
    pub(crate) project: ProjectName,
    pub(crate) cloud: LogicalCloudName,
    /// Where a store is worked on.
    pub(crate) context: Option<ContextId>,
}

/// How the waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Everything is where it is to be.
    Done,
    /// Something can't go on before somebody changes something.
    Stuck,
    /// Somebody has paused the work, and nothing else is left.
    Stopped,
    /// The time is over.
    TimedOut,
    /// A signal came.
    Interrupted,
}

/// An engine of this process.
struct Own {
    engine: Engine,
    /// What it decides is kept in the audit log.
    decisions: JoinHandle<()>,
}

impl Own {
    fn begin(deployment: &Deployment, contexts: BTreeSet<ContextId>) -> Self {
        let engine = deployment.engine(Acquire::PendingOf(contexts));
        let decisions = tokio::spawn(deployment.keep_decisions(&engine));
        Self { engine, decisions }
    }
}

/// Waits until the work on all clouds is done or stuck, and sees to it that somebody does it.
pub(crate) async fn bring_about(
    session: &Session,
    worked: &[Worked],
    timeout: Duration,
) -> anyhow::Result<End> {
    let progress = Mutex::new(Progress::new(worked.len()));
    let mut own = None;
    let mut end = tokio::select! {
        biased;
        settled = settle_all(session, worked, &progress) => settled,
        failed = keep_working(session, worked, &mut own) => Err(failed),
        signal = interrupted() => signal.map(|()| End::Interrupted),
        () = tokio::time::sleep(timeout) => Ok(End::TimedOut),
    };
    if let Ok(settled @ (End::Done | End::Stuck | End::Stopped)) = end {
        end = tidy_up(session, worked, &mut own).await.map(|()| settled);
    }
    if let Some(Own { engine, decisions }) = own {
        // What is still under way then ends with this process; whoever comes next sees what became of it.
        let stopped = tokio::time::timeout(STOP_TIMEOUT, async {
            engine.shutdown().await;
            decisions.await
        });
        tokio::select! {
            biased;
            _ = stopped => {}
            _ = interrupted() => {}
        }
    }
    end
}

/// Ends with the first signal from now on that asks this process to end. It listens before it is awaited, so that none
/// comes too early.
pub(crate) fn interrupted() -> impl Future<Output = anyhow::Result<()>> {
    let listen = || Ok((signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?));
    let listening: std::io::Result<_> = listen();
    async {
        let (mut terminate, mut interrupt) = listening.context("signals can't be awaited")?;
        tokio::select! {
            biased;
            _ = terminate.recv() => Ok(()),
            _ = interrupt.recv() => Ok(()),
        }
    }
}

/// Who goes on with work that is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// A worker that serves the store.
    Worker,
    /// Nobody, before one runs or the command is given again.
    Nobody,
    /// A worker of the server's store, if there is one: a server does not tell.
    Theirs,
}

/// Who does what is accepted.
pub(crate) async fn next(session: &Session) -> anyhow::Result<Next> {
    match session.place() {
        Place::Here(deployment) if has_worker(deployment).await? => Ok(Next::Worker),
        Place::Here(_) => Ok(Next::Nobody),
        Place::There(_) => Ok(Next::Theirs),
    }
}

/// True when a worker serves the store.
async fn has_worker(deployment: &Deployment) -> anyhow::Result<bool> {
    let sessions = deployment.contexts().workers().await?;
    let oldest = deployment.clock().now() - deployment.options().lease;
    Ok(sessions.iter().any(|session| session.serves && session.renewed >= oldest))
}

/// Starts an engine of this process as soon as nobody serves the store. Ends only with an error, and never where a server is asked.
async fn keep_working(session: &Session, worked: &[Worked], own: &mut Option<Own>) -> anyhow::Error {
    let Place::Here(deployment) = session.place() else { return std::future::pending().await };
    let contexts: BTreeSet<ContextId> = worked.iter().filter_map(|one| one.context.clone()).collect();
    loop {
        if let Some(Own { engine, .. }) = own {
            return lost(engine.stopped().await);
        }
        match has_worker(deployment).await {
            Ok(true) => tokio::time::sleep(deployment.options().lease).await,
            Ok(false) => *own = Some(Own::begin(deployment, contexts.clone())),
            Err(error) => return error,
        }
    }
}

/// Nobody stops an own engine before the waiting is over.
fn lost(ended: Result<(), Lost>) -> anyhow::Error {
    anyhow::Error::new(ended.err().unwrap_or(Lost)).context("the work can't go on")
}

/// Waits until no answered requests are left on the clusters, for a while. What is left then the next worker does, as the worker of a
/// server does it all.
async fn tidy_up(session: &Session, worked: &[Worked], own: &mut Option<Own>) -> anyhow::Result<()> {
    let Place::Here(deployment) = session.place() else { return Ok(()) };
    let contexts = deployment.contexts();
    let each = worked.iter().filter_map(|one| Some(contexts.wait_until_tidy(one.context.as_ref()?)));
    let timeout = deployment.options().lease + TIDYING_TIMEOUT;
    tokio::select! {
        biased;
        tidied = futures::future::try_join_all(each) => {
            tidied?;
        }
        failed = keep_working(session, worked, own) => return Err(failed),
        signal = interrupted() => signal?,
        () = tokio::time::sleep(timeout) => {
            output::note("answered signing requests are left: the next worker clears them away");
        }
    }
    Ok(())
}

async fn settle_all(session: &Session, worked: &[Worked], progress: &Mutex<Progress>) -> anyhow::Result<End> {
    let each = worked.iter().map(|one| settle(session, one, progress));
    let ends = futures::future::try_join_all(each).await?;
    let worst = [End::Stuck, End::Stopped].into_iter().find(|end| ends.contains(end));
    Ok(worst.unwrap_or(End::Done))
}

/// Follows one cloud until its clusters are done or stuck, or the work on it is paused. One whose apply was cut off
/// before the engine had it, and that is taken away again, is on none. A server that is away for a while is followed again.
async fn settle(session: &Session, worked: &Worked, progress: &Mutex<Progress>) -> anyhow::Result<End> {
    let mut wait = RETRY_WAIT;
    loop {
        match settled(session, worked, progress, &mut wait).await {
            Ok(Some(end)) => return Ok(end),
            Ok(None) => {}
            Err(error) if error.is_away() => tracing::info!(%error, "followed again soon"),
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(RETRY_WAIT_MAX);
    }
}

/// The same as long as the watch lasts; none where that has ended first.
async fn settled(
    session: &Session,
    worked: &Worked,
    progress: &Mutex<Progress>,
    wait: &mut Duration,
) -> Result<Option<End>, place::Error> {
    let Some(mut moments) = session.clouds().follow(&worked.project, &worked.cloud).await? else {
        return Ok(Some(End::Done));
    };
    while let Some(moment) = moments.next().await {
        let Moment { lanes, end } = moment?;
        *wait = RETRY_WAIT;
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.show(worked, &lanes, session.now());
        if end.is_some() {
            return Ok(end);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dcm_server::Configuration;
    use dcm_sync::runtime::OsRandom;

    use super::*;
    use crate::output::Format;

    #[tokio::test]
    async fn work_whose_engine_broke_off_ends_with_that() {
        let deployment = Deployment::open(&Configuration::new("memory:", "unused")).await.unwrap();
        let store = Arc::new(dcm_store::MemoryStore::new());
        let (engine, run) = Engine::builder(store, deployment.clusters().clone())
            .build(deployment.clock().clone(), &OsRandom);
        drop(run);
        let session = Session::over(deployment, ProjectName::new("p").unwrap(), Format::Table);
        let mut own = Some(Own { engine, decisions: tokio::spawn(std::future::ready(())) });
        let worked = keep_working(&session, &[], &mut own);
        let failed = tokio::time::timeout(Duration::from_secs(60), worked).await.unwrap();
        assert!(failed.is::<Lost>(), "{failed:?}");
    }
}
