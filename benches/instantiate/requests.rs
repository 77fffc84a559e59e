//! How many requests the engine sends to a cluster, by the API servers' own audit logs.

use std::collections::BTreeSet;

use anyhow::Result;
use dcm_benches::cloud::Cloud;
use dcm_core::app_context::AppContext;
use dcm_testenv::AuditEvent;
use dcm_testenv::audit::Position;

use super::servers::Servers;
use super::wall::{Contest, OWNER_MEMORY, rest};

/// Verbs that change nothing.
const READS: [&str; 3] = ["get", "list", "watch"];

/// Requests to all clusters.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Requests {
    pub(crate) reads: usize,
    pub(crate) writes: usize,
}

/// Requests to all clusters for each kind of change. Those of the clearing away that follows are among them.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) clusters: usize,
    pub(crate) instantiate: Requests,
    pub(crate) unchanged: Requests,
    pub(crate) permission_changed: Requests,
}

/// Makes a cloud, applies it again, and applies it with one permission changed. The engine is warm.
pub(crate) async fn count(servers: &Servers, contest: &Contest<'_>) -> Result<Counts> {
    let cloud = Cloud::new("counted")?;
    let context = cloud.app_context(servers.ids()?)?;
    let changed = cloud.with_one_permission_changed()?.app_context(servers.ids()?)?;
    Ok(Counts {
        clusters: servers.clusters().len(),
        instantiate: applied(servers, contest, &context).await?,
        unchanged: applied(servers, contest, &context).await?,
        permission_changed: applied(servers, contest, &changed).await?,
    })
}

/// A review is created, and is stored nowhere.
fn is_read(event: &AuditEvent) -> bool {
    READS.contains(&&*event.verb) || event.resource.as_deref() == Some("selfsubjectreviews")
}

async fn applied(servers: &Servers, contest: &Contest<'_>, context: &AppContext) -> Result<Requests> {
    let before: Result<Vec<Position>, _> =
        servers.clusters().iter().map(|cluster| cluster.audit_log().position()).collect();
    contest.memory.instantiate(std::slice::from_ref(context)).await?;
    rest(contest.size, 1).await;
    let mut requests = Requests::default();
    for (cluster, position) in servers.clusters().iter().zip(before?) {
        let events = cluster.audit_log().events_since(position)?;
        let ours =
            events.iter().filter(|event| event.user_agent.contains(&format!(" owner={OWNER_MEMORY} ")));
        // A watch has an event for its beginning and one for its end.
        let asked: BTreeSet<(&str, bool)> = ours.map(|event| (&*event.audit_id, is_read(event))).collect();
        let reads = asked.iter().filter(|(_, read)| *read).count();
        requests.reads += reads;
        requests.writes += asked.len() - reads;
    }
    Ok(requests)
}
