//! Tending logical clouds, for as long as a worker runs: credentials are renewed in time, and clouds that wait for deletion are
//! deleted once they are off their clusters.

use std::time::Duration;

use dcm_core::name::UserName;
use dcm_core::port::clock::Clock;
use dcm_core::service::{Agenda, AgendaEvent, Caller, LogicalClouds, News, Renewed};
use futures::future::{Either, select};
use futures::stream::{self, BoxStream, StreamExt as _};
use tracing::Instrument as _;

/// How long to wait after clouds could not be listed, or not be followed.
const RETRY_WAIT: Duration = Duration::from_secs(10);

/// How long to wait for others after one logical cloud waits for deletion: a round lists all of them.
const DEPARTURES_WAIT: Duration = Duration::from_secs(1);

/// Renews credentials in time, and deletes logical clouds that wait for deletion once they are off their clusters, in the name of a caller.
/// `seen` is called after each round that could list the logical clouds. Never ends by itself; dropping it at any point is safe.
pub async fn keep_tended(
    clouds: &LogicalClouds,
    clock: &dyn Clock,
    caller: &Caller,
    mut seen: impl FnMut(&Agenda) + Send,
) {
    let mut agenda = Agenda::default();
    let mut departures = followed(clouds).await;
    loop {
        let request = tracing::info_span!("request", caller = caller.who());
        let wait = match clouds.tend(caller, &mut agenda).instrument(request).await {
            Ok(round) => {
                round.events.iter().for_each(log);
                seen(&agenda);
                let wait = round.next.duration_since(clock.now());
                Duration::try_from(wait).unwrap_or_default()
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "can't list logical clouds for renewal and deletion"
                );
                RETRY_WAIT
            }
        };
        match select(clock.sleep(wait), departures.next()).await {
            Either::Left(_) => {}
            // More may follow at once.
            Either::Right((Some(()), _)) => clock.sleep(DEPARTURES_WAIT).await,
            Either::Right((None, _)) => {
                clock.sleep(RETRY_WAIT).await;
                departures = followed(clouds).await;
            }
        }
    }
}

/// Yields an item for each logical cloud that waits for deletion; ends at once where the store can't be watched.
async fn followed(clouds: &LogicalClouds) -> BoxStream<'static, ()> {
    match clouds.departures().await {
        Ok(departures) => departures,
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "can't watch for logical clouds that wait for deletion; the next round finds them"
            );
            stream::empty().boxed()
        }
    }
}

fn log(AgendaEvent { project, cloud, what }: &AgendaEvent) {
    match what {
        News::Renewed(Renewed { users, authorities, .. }) => {
            if !users.is_empty() {
                let users: Vec<&str> = users.keys().map(UserName::as_str).collect();
                tracing::info!(%project, %cloud, users = users.join(","), "credentials renewed");
            }
            if !authorities.is_empty() {
                let clusters = authorities.len();
                tracing::info!(%project, %cloud, clusters, "certificate authorities of the mesh renewed");
            }
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
