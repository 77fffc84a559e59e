//! Tending logical clouds, for as long as a worker runs: credentials are renewed in time, and clouds deleted that were to be
//! once they are off their clusters.

use std::time::Duration;

use dcm_core::name::UserName;
use dcm_core::service::{Agenda, AgendaEvent, Caller, News};
use futures::future::{Either, select};
use futures::stream::{self, BoxStream, StreamExt as _};
use tracing::Instrument as _;

use crate::deployment::Deployment;
use crate::metrics::Ends;

/// How long to wait after clouds could not be listed, or not be followed.
const RETRY_WAIT: Duration = Duration::from_secs(10);

/// How long to wait for others after one cloud is to be deleted: a round lists all of them.
const DEPARTURES_WAIT: Duration = Duration::from_secs(1);

/// Tends all logical clouds, again and again. Never ends by itself; ending it anywhere is safe.
pub(crate) async fn keep_tended(deployment: Deployment, ends: Ends) {
    let caller = Caller::new("dcm serve").because("tending logical clouds");
    let mut agenda = Agenda::default();
    let mut departures = followed(&deployment).await;
    loop {
        let request = tracing::info_span!("request", caller = caller.who());
        let wait = match deployment.clouds().tend(&caller, &mut agenda).instrument(request).await {
            Ok(round) => {
                round.events.iter().for_each(log);
                ends.set(agenda.ends(), deployment.clock().now());
                let wait = round.next.duration_since(deployment.clock().now());
                Duration::try_from(wait).unwrap_or_default()
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "can't look for what is to be renewed or deleted"
                );
                RETRY_WAIT
            }
        };
        let sleep = deployment.clock().sleep(wait);
        match select(sleep, departures.next()).await {
            Either::Left(_) => {}
            // More may follow at once.
            Either::Right((Some(()), _)) => deployment.clock().sleep(DEPARTURES_WAIT).await,
            Either::Right((None, _)) => {
                deployment.clock().sleep(RETRY_WAIT).await;
                departures = followed(&deployment).await;
            }
        }
    }
}

/// Tells when a cloud is to be deleted; nothing where that can't be followed.
async fn followed(deployment: &Deployment) -> BoxStream<'static, ()> {
    match deployment.clouds().departures().await {
        Ok(departures) => departures,
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "it is not told at once when a cloud is to be deleted");
            stream::empty().boxed()
        }
    }
}

fn log(AgendaEvent { project, cloud, what }: &AgendaEvent) {
    match what {
        News::Renewed(users) => {
            let users: Vec<&str> = users.keys().map(UserName::as_str).collect();
            tracing::info!(%project, %cloud, users = users.join(","), "credentials renewed");
        }
        News::Ending(user, ending) => {
            let (at, cluster, clusters) = (ending.at, &ending.cluster, ending.clusters);
            tracing::warn!(%project, %cloud, %user, %at, %cluster, clusters, needs_user = ending.needs_user,
                "a credential ends soon, or has, and no newer one is there");
        }
        News::Deleted => tracing::info!(%project, %cloud, "deleted, as it is off its clusters"),
        News::Failed(error) => {
            let error = error as &dyn std::error::Error;
            tracing::warn!(%project, %cloud, error, "can't be tended");
        }
    }
}
