//! The tasks behind effects: each one request to the store or a cluster, and what became of it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::{self, Cluster};
use dcm_core::port::store::{self, Document, Path, Store, StoreExt, Version, Write};
use dcm_core::port::threads::{self, Threads};
use dcm_core::port::trial::PrivateKeys;
use futures::future::{Either, select};

use super::io::{ClusterCall, Input, LaneId, Reply, Request, SaveLane, Sign, Ticket};
use super::observed::Asked;
use super::saving;
use super::shell::Outcome;
use super::trying::{Tried, Trying};
use super::unbinding::{self, Removed};
use crate::contexts::{self, Contexts, LoadError};
use crate::record::{self, WorkerId, path};

/// Gives up waiting after a limit. What was asked for may still happen.
pub(super) async fn within<T>(
    clock: &dyn Clock,
    limit: Duration,
    asked: impl Future<Output = Result<T, cluster::Error>>,
) -> Result<T, cluster::Error> {
    let asked = std::pin::pin!(asked);
    match select(asked, clock.sleep(limit)).await {
        Either::Left((answer, _)) => answer,
        Either::Right(((), _)) => Err(cluster::Error::TimedOut { limit }),
    }
}

/// Sends one request to a cluster.
pub(super) async fn call(
    client: Arc<dyn Cluster>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    keys: Arc<dyn PrivateKeys>,
    asked: ClusterCall,
) -> Outcome {
    #[cfg(feature = "planted-faults")]
    let asked = planted::unbound(&*client, asked).await;
    let ClusterCall { ticket, cluster, call, request, limit, .. } = asked;
    let asked = Asked::of(&cluster, &call, &request);
    let trying = Trying { client: &*client, clock: &clock, cluster: &cluster, call: &call, limit };
    let Tried { answered, trial, reply } = match &request {
        Request::Token(request) => trying.token(asked, request).await,
        Request::Try { name, pem, .. } => trying.certificate(asked, &*keys, name, pem).await,
        Request::TryAgain { name, lifetime, .. } => {
            trying.try_stored(asked, &*store, &*keys, name, *lifetime).await
        }
        request => {
            let sent = within(&*clock, limit, send(&*client, &call, request));
            let (answered, reply) = asked.send(clock.clone(), sent).await;
            Tried { answered, trial: None, reply }
        }
    };
    let replied = Outcome::Input(Box::new(Input::Replied(ticket, reply)));
    let replied = match trial {
        Some(trial) => Outcome::Counted(trial, Box::new(replied)),
        None => replied,
    };
    Outcome::Answered(answered, Box::new(replied))
}

async fn send(
    client: &dyn Cluster,
    call: &cluster::Call,
    request: &Request,
) -> Result<Reply, cluster::Error> {
    Ok(match request {
        Request::Get { kind, key } => Reply::Found(client.get(call, kind, key).await?),
        Request::Create(object) => Reply::Written(client.create(call, object).await?),
        Request::Update { object, observed, force } => {
            Reply::Written(client.update(call, object, observed, *force).await?)
        }
        Request::Delete { kind, key, observed } => {
            Reply::Deleted(client.delete(call, kind, key, observed).await?)
        }
        Request::Release { kind, key, observed, origin } => {
            client.release(call, kind, key, observed, *origin).await?;
            Reply::Released
        }
        Request::SetPart { kind, key, observed, part } => {
            Reply::PartSet(client.set_part(call, kind, key, observed, part).await?)
        }
        Request::Approve { key, observed } => Reply::Written(client.approve(call, key, observed).await?),
        Request::Contents { namespace, proofs, removes_bindings } => {
            let proofs = proofs.as_ref();
            let removed = match removes_bindings {
                true => unbinding::remove_others(client, call, namespace, proofs).await?,
                false => Removed::default(),
            };
            let mut contents = client.contents(call, namespace, proofs).await?;
            removed.correct(&mut contents);
            Reply::Contents(contents)
        }
        Request::Token(_) | Request::Try { .. } | Request::TryAgain { .. } => {
            unreachable!("credentials are asked for and tried")
        }
    })
}

/// Loads a context beside the loop: its manifests, which may be large, are read and checked there.
pub(super) async fn load_context(store: Arc<dyn Store>, threads: Arc<dyn Threads>, id: ContextId) -> Outcome {
    let context = id.clone();
    let load = async move { contexts::load(&*store, &context).await };
    let loaded = threads::run(&*threads, load).await.unwrap_or(Err(LoadError::BrokeOff));
    Outcome::Input(Box::new(Input::ContextLoaded(id, loaded)))
}

pub(super) async fn bury(store: Arc<dyn Store>, clock: Arc<dyn Clock>, id: ContextId) -> Outcome {
    let buried = Contexts::new(store, clock).bury(&id).await;
    Outcome::Input(Box::new(Input::Buried(id, buried)))
}

pub(super) async fn load_lane(store: Arc<dyn Store>, id: LaneId, ticket: Ticket) -> Outcome {
    let loaded = read_lane(&*store, &id).await;
    Outcome::Input(Box::new(Input::LaneLoaded(id, ticket, loaded)))
}

async fn read_lane(store: &dyn Store, id: &LaneId) -> Result<Option<(record::Lane, Version)>, store::Error> {
    match store.get(&path::lane(&id.context, &id.cluster)).await? {
        Some(entry) => Ok(Some((record::read(&entry)?, entry.version))),
        None => Ok(None),
    }
}

pub(super) async fn load_session(store: Arc<dyn Store>, worker: WorkerId) -> Outcome {
    let loaded = store.get(&path::worker(&worker)).await.map(|found| found.as_ref().map(Sign::of));
    Outcome::Input(Box::new(Input::SessionLoaded(worker, loaded)))
}

pub(super) async fn save_lane(store: Arc<dyn Store>, save: Box<SaveLane>) -> Outcome {
    let saved = saving::save_lane(&*store, &save).await;
    Outcome::Input(Box::new(Input::LaneSaved(save.id, save.ticket, saved)))
}

pub(super) async fn save_session(
    store: Arc<dyn Store>,
    worker: WorkerId,
    record: record::Worker,
    version: Option<Version>,
) -> Outcome {
    let saved = put(&*store, path::worker(&worker), &record, version).await;
    Outcome::Input(Box::new(Input::SessionSaved(saved)))
}

pub(super) async fn delete_session(store: Arc<dyn Store>, worker: WorkerId, version: Version) -> Outcome {
    let deletion = Write::Delete { path: path::worker(&worker), version };
    match store.write_one(deletion).await {
        Ok(_) => Outcome::Nothing,
        // It is gone. No watch may ever report that: what was read of the session can have come after the report.
        Err(store::Error::Conflict { found: None, .. }) => {
            Outcome::Input(Box::new(Input::WorkerChanged(worker, None)))
        }
        Err(error) => {
            // Another version is a sign of life, which a watch reports. Everything else is tried again by the machine.
            tracing::debug!(%worker, error = &error as &dyn std::error::Error, "a session was not ended");
            Outcome::Nothing
        }
    }
}

pub(super) async fn save_shard(
    store: Arc<dyn Store>,
    cluster: ClusterId,
    record: record::Shard,
    version: Option<Version>,
) -> Outcome {
    let saved = put(&*store, path::shard(&cluster), &record, version).await;
    Outcome::Input(Box::new(Input::ShardSaved(cluster, saved)))
}

async fn put<T: serde::Serialize>(
    store: &dyn Store,
    path: Path,
    record: &T,
    version: Option<Version>,
) -> Result<Version, store::Error> {
    let document = Document::from_value(record)?;
    let write = match version {
        Some(version) => Write::Update { path, version, document },
        None => Write::Create { path, document },
    };
    store.write_one(write).await
}

/// What happens without [`StateObserved`](super::Safeguard::StateObserved).
#[cfg(feature = "planted-faults")]
mod planted {
    use super::{Cluster, ClusterCall, Request};

    /// Lets a write go to whatever is there under its object's name.
    pub(super) async fn unbound(client: &dyn Cluster, mut asked: ClusterCall) -> ClusterCall {
        let (kind, key, observed) = match &mut asked.request {
            Request::Delete { kind, key, observed }
            | Request::Release { kind, key, observed, .. }
            | Request::SetPart { kind, key, observed, .. } => (&*kind, &*key, observed),
            Request::Update { object, observed, .. } => {
                (object.manifest.kind(), object.manifest.key(), observed)
            }
            _ => return asked,
        };
        if asked.hits_whatever_is_there
            && let Ok(Some(found)) = client.get(&asked.call, kind, key).await
        {
            (observed.uid, observed.resource_version) = (found.uid, found.resource_version);
        }
        asked
    }
}
