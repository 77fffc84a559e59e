//! `dcm cluster check`: whether a cluster is ready.

use std::path::PathBuf;

use anyhow::Context as _;
use dcm_core::document::Document;
use dcm_core::logical_cloud::{LogicalCloud, LogicalCloudUid};
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::Cluster;
use dcm_core::preflight::{self, CLOCK_SKEW_SECONDS_MAX, Findings, MINOR_VERSION_MIN, Needs};
use serde::Serialize;

use super::LevelArgument;
use crate::arguments::Global;
use crate::commands::documents;
use crate::exit::Exit;
use crate::output::{self, Notation};
use crate::session::Session;

/// Name of the ClusterRole that is printed for missing rights.
const MISSING_ROLE: &str = "dcm-missing";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The cluster.
    #[arg(value_name = "PROVIDER/CLUSTER")]
    id: ClusterId,
    #[command(flatten)]
    pub(super) wanted: Wanted,
}

/// What the cluster is to be ready for.
#[derive(Debug, clap::Args)]
pub(super) struct Wanted {
    /// The highest level of logical clouds that will be on it.
    #[arg(long, value_enum, default_value = "standard")]
    level: LevelArgument,
    /// Also what the logical clouds of these documents need.
    #[arg(long = "for", value_name = "FILE")]
    documents: Vec<PathBuf>,
}

/// What is found, for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    cluster: &'a ClusterId,
    is_ready: bool,
    #[serde(flatten)]
    findings: &'a Findings,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let needs = arguments.wanted.needs(global)?;
    let session = Session::open(global).await?;
    let id = &arguments.id;
    // Whether it is registered is told before whether it answers.
    session.here()?.registered().get(id).await?;
    let cluster = session.here()?.clusters().connect(id).await;
    let cluster = cluster.with_context(|| format!("{id} can't be asked"))?;
    let findings = ask(&session, id, &*cluster, &needs).await?;
    print(&session, id, &findings)?;
    Ok(if findings.is_ready() { Exit::Done } else { Exit::Stuck })
}

impl Wanted {
    /// The accesses that are needed for it.
    pub(super) fn needs(&self, global: &Global) -> anyhow::Result<Needs> {
        let mut needs = Needs::of_level(self.level.into());
        for sourced in documents::read(&self.documents, &global.project)? {
            let uid = LogicalCloudUid::from_random(0);
            let title = sourced.title();
            let Document { project, draft, .. } = sourced.document;
            let (cloud, _) = LogicalCloud::new(project, uid, draft).with_context(|| title)?;
            needs = needs.and(Needs::of_cloud(&cloud));
        }
        Ok(needs)
    }
}

/// Asks a cluster all that is to be known.
pub(super) async fn ask(
    session: &Session,
    id: &ClusterId,
    cluster: &dyn Cluster,
    needs: &Needs,
) -> anyhow::Result<Findings> {
    let deployment = session.here()?;
    let asked = preflight::check(cluster, &deployment.call(), needs, &**deployment.clock()).await;
    asked.with_context(|| format!("{id} can't be asked"))
}

/// Prints the findings, in the form that was asked for.
pub(super) fn print(session: &Session, id: &ClusterId, findings: &Findings) -> anyhow::Result<()> {
    let shown = Shown { cluster: id, is_ready: findings.is_ready(), findings };
    match session.format.for_programs() {
        Some(notation) => output::print(&notation.write(&shown)?),
        None => output::print(&in_words(id, findings)?),
    }
}

/// The findings, and the missing rights as a ClusterRole.
fn in_words(id: &ClusterId, findings: &Findings) -> anyhow::Result<String> {
    let ready = if findings.is_ready() { "ready" } else { "not ready" };
    let old =
        if findings.too_old { format!(": too old, 1.{MINOR_VERSION_MIN} is needed") } else { String::new() };
    let mut text = format!("{id}: {ready}\nversion {}{old}\nclock   {}\n", findings.version, clock(findings));
    if findings.missing.is_empty() {
        text.push_str("rights  complete\n");
    } else {
        text.push_str("rights  missing, at least these:\n---\n");
        let role = preflight::cluster_role(MISSING_ROLE, findings.missing.clone());
        text.push_str(&Notation::Yaml.write(&role)?);
    }
    Ok(text)
}

fn clock(findings: &Findings) -> String {
    let wrong = if findings.is_skewed() {
        format!(": more than {CLOCK_SKEW_SECONDS_MAX} s, certificates and tokens will be refused")
    } else {
        String::new()
    };
    match findings.clock_skew_seconds {
        None => "not told".to_owned(),
        Some(0) => "in step".to_owned(),
        Some(ahead @ 1..) => format!("{ahead} s ahead of ours{wrong}"),
        Some(behind) => format!("{} s behind ours{wrong}", behind.unsigned_abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dcm_core::logical_cloud::Level;

    #[test]
    fn missing_rights_are_told_as_a_role_to_apply() {
        let needs = Needs::of_level(Level::Admin);
        let missing = preflight::rules(needs.accesses());
        let findings =
            Findings { version: "v1.21.0".into(), too_old: true, clock_skew_seconds: Some(-90), missing };
        let text = in_words(&"p/c".parse().unwrap(), &findings).unwrap();
        assert_eq!(
            text,
            "p/c: not ready\nversion v1.21.0: too old, 1.22 is needed\n\
             clock   90 s behind ours: more than 60 s, certificates and tokens will be refused\n\
             rights  missing, at least these:\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n\
             metadata:\n  name: dcm-missing\nrules:\n- apiGroups:\n  - \"\"\n  resources:\n  - namespaces\n  verbs:\n  - get\n"
        );
    }

    #[test]
    fn a_ready_cluster_is_told_in_four_lines() {
        let findings = Findings {
            version: "v1.36.0".into(),
            too_old: false,
            clock_skew_seconds: Some(0),
            missing: Vec::new(),
        };
        let text = in_words(&"p/c".parse().unwrap(), &findings).unwrap();
        assert_eq!(text, "p/c: ready\nversion v1.36.0\nclock   in step\nrights  complete\n");
    }
}
