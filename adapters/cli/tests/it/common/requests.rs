//! What an installation asked of its clusters, by the API servers' own audit logs.

use std::collections::BTreeSet;

use dcm_testenv::audit::Position;
use dcm_testenv::{AuditEvent, Stage};

use super::installation::Installation;

/// Verbs that change nothing.
const READS: [&str; 3] = ["get", "list", "watch"];

/// Questions of the caller about itself, which are made like objects.
const QUESTIONS: [&str; 2] = ["selfsubjectaccessreviews", "selfsubjectreviews"];

/// Where the audit logs of all clusters were at one moment.
pub(crate) struct Moment(Vec<Position>);

impl Installation<'_> {
    pub(crate) fn moment(&self) -> Moment {
        Moment(self.clusters().iter().map(|cluster| cluster.audit_log().position().unwrap()).collect())
    }

    /// The events of this installation's requests since then, for each cluster.
    pub(crate) fn events(&self, since: &Moment) -> Vec<Vec<AuditEvent>> {
        let clusters = self.clusters().iter().zip(&since.0);
        let of = |(cluster, position): (&dcm_testenv::Cluster, &Position)| {
            let mut events = cluster.audit_log().events_since(*position).unwrap();
            events.retain(|event| event.user == self.identity);
            events
        };
        clusters.map(of).collect()
    }

    /// The answered writes since then, for each cluster: verb, resource and name, sorted.
    pub(crate) fn writes(&self, since: &Moment) -> Vec<Vec<String>> {
        let write = |event: &&AuditEvent| {
            event.stage == Stage::ResponseComplete
                && !READS.contains(&&*event.verb)
                && !event.dry_run
                && !is_question(event)
        };
        let words = |events: Vec<AuditEvent>| {
            let mut words: Vec<String> = events.iter().filter(write).map(told).collect();
            words.sort();
            words
        };
        self.events(since).into_iter().map(words).collect()
    }

    /// The requests since then, for each cluster, but for watches that were open.
    pub(crate) fn requests(&self, since: &Moment) -> Vec<Vec<String>> {
        let mut seen = BTreeSet::new();
        let mut begun = |events: Vec<AuditEvent>| {
            let begun = events
                .iter()
                .filter(|event| event.stage == Stage::RequestReceived && seen.insert(event.audit_id.clone()));
            begun.map(told).collect()
        };
        self.events(since).into_iter().map(&mut begun).collect()
    }
}

/// True for a question of the caller about itself.
pub(crate) fn is_question(event: &AuditEvent) -> bool {
    event.resource.as_deref().is_some_and(|resource| QUESTIONS.contains(&resource))
}

fn told(event: &AuditEvent) -> String {
    let resource = event.resource.as_deref().unwrap_or(&event.request_uri);
    let below = event.subresource.as_deref().map(|below| format!("/{below}")).unwrap_or_default();
    format!("{} {resource}{below} {}", event.verb, event.name.as_deref().unwrap_or("-"))
}
