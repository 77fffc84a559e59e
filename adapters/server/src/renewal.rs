//! Renewing credentials in time, for as long as a worker runs.

use std::time::Duration;

use dcm_core::name::UserName;
use dcm_core::service::{Caller, RenewalAgenda, RenewalEvent, RenewalNews};

use tracing::Instrument as _;

use crate::deployment::Deployment;
use crate::metrics::Ends;

/// How long to wait after clouds could not be listed.
const RETRY_WAIT: Duration = Duration::from_secs(10);

/// Renews what is due, again and again. Never ends by itself; ending it anywhere is safe.
pub(crate) async fn keep_renewed(deployment: Deployment, ends: Ends) {
    let caller = Caller::new("dcm serve").because("renewal");
    let request = tracing::info_span!("request", caller = caller.who());
    let mut agenda = RenewalAgenda::default();
    loop {
        let wait = match deployment.clouds().renew_due(&caller, &mut agenda).instrument(request.clone()).await
        {
            Ok(round) => {
                round.events.iter().for_each(log);
                ends.set(agenda.ends(), deployment.clock().now());
                let wait = round.next.duration_since(deployment.clock().now());
                Duration::try_from(wait).unwrap_or_default()
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "can't look for credentials to renew"
                );
                RETRY_WAIT
            }
        };
        deployment.clock().sleep(wait).await;
    }
}

fn log(RenewalEvent { project, cloud, what }: &RenewalEvent) {
    match what {
        RenewalNews::Renewed(users) => {
            let users: Vec<&str> = users.keys().map(UserName::as_str).collect();
            tracing::info!(%project, %cloud, users = users.join(","), "credentials renewed");
        }
        RenewalNews::Ending(user, ending) => {
            let (at, cluster, clusters) = (ending.at, &ending.cluster, ending.clusters);
            tracing::warn!(%project, %cloud, %user, %at, %cluster, clusters, needs_user = ending.needs_user,
                "a credential ends soon, or has, and no newer one is there");
        }
        RenewalNews::Failed(error) => {
            let error = error as &dyn std::error::Error;
            tracing::warn!(%project, %cloud, error, "credentials can't be renewed");
        }
    }
}
