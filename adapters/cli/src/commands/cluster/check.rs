//! `dcm cluster check`: whether a cluster is ready.

use std::path::PathBuf;

use anyhow::Context as _;
use dcm_client::ClusterCheck;
use dcm_core::document::{self, Document};
use dcm_core::logical_cloud::{Level, LogicalCloud};
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{ClusterUid, Error};
use dcm_core::preflight::{
    self, CLOCK_SKEW_SECONDS_MAX, Findings, Guard, Guess, Inspection, MINOR_VERSION_MIN, Needs, Other,
    PodSecurityLevel,
};
use dcm_core::secret::Secret;
use dcm_server::Installation as _;
use serde::Serialize;

use super::{LevelArgument, ready};
use crate::arguments::Global;
use crate::commands::documents::{self, Sourced};
use crate::exit::Exit;
use crate::output::{self, Notation};
use crate::place::{self, Place, drafted};
use crate::session::Session;

/// What is reported of a kubeconfig whose endpoint is not accepted.
pub(super) const MOVED: &str = "the kubeconfig leads to another server, or trusts other authorities, than the accepted one; it is used once you accept it";

/// Name of the ClusterRole that is printed for missing rights.
const MISSING_ROLE: &str = "dcm-missing";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Name of the cluster.
    #[arg(value_name = "PROVIDER/CLUSTER")]
    id: ClusterId,
    #[command(flatten)]
    pub(super) wanted: Wanted,
}

/// What the cluster is to be ready for.
#[derive(Debug, clap::Args)]
pub(super) struct Wanted {
    /// Highest level of the logical clouds on this cluster.
    #[arg(long, value_enum, default_value = "standard")]
    level: LevelArgument,
    /// File of documents whose logical clouds will be on this cluster: adds the rights that they need.
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
    /// The cluster that was found in the place of the one that its name stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<&'a ClusterUid>,
    /// With `other`: the one that its name stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<&'a ClusterUid>,
    /// The other name under which the cluster is registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    registered_as: Option<&'a ClusterId>,
    /// The kubeconfig leads to another endpoint than the accepted one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    moved: bool,
    /// With `moved`: the cluster that was found there.
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<&'a ClusterUid>,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let purpose = arguments.wanted.purpose(global)?;
    let session = Session::open(global).await?;
    let id = &arguments.id;
    let inspection = match session.place() {
        Place::Here(deployment) => {
            let registration = deployment.registered().get(id).await?.registration;
            let inspected = deployment.inspect(&registration, &purpose.needs()).await;
            inspected.map_err(|error| ready::of_inspection(error, |error| unasked(id, error)))?
        }
        Place::There(client) => {
            let check = purpose.asked(None)?;
            client.clusters().check(id, &check).await.map_err(place::Error::from)?
        }
    };
    print(&session, id, &inspection)?;
    Ok(if inspection.is_ready() { Exit::Done } else { Exit::Stuck })
}

impl Wanted {
    /// What is needed of a cluster, and for what.
    pub(super) fn purpose(&self, global: &Global) -> anyhow::Result<Purpose> {
        let documents = documents::read(&self.documents, &global.project)?;
        let cloud = |sourced: &Sourced| {
            let Document { project, draft, .. } = &sourced.document;
            drafted(project, draft).with_context(|| sourced.title())
        };
        let clouds = documents.iter().map(cloud).collect::<anyhow::Result<_>>()?;
        Ok(Purpose { level: self.level.into(), clouds })
    }
}

/// What a cluster is to be ready for.
pub(super) struct Purpose {
    level: Level,
    clouds: Vec<LogicalCloud>,
}

impl Purpose {
    /// The highest level of logical clouds.
    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// The highest level that it names, or that one of its documents has.
    pub(super) fn highest_level(&self) -> Level {
        let is_privileged = |cloud: &LogicalCloud| cloud.level() == Level::Privileged;
        if self.clouds.iter().any(is_privileged) { Level::Privileged } else { self.level }
    }

    /// The default level of Pod Security, or the lowest one that its documents ask for.
    pub(super) fn lowest_pod_security(&self) -> PodSecurityLevel {
        let default = PodSecurityLevel::default();
        let labels = self.clouds.iter().filter_map(|cloud| cloud.labels().get(PodSecurityLevel::LABEL));
        labels.filter_map(|level| level.parse().ok()).fold(default, PodSecurityLevel::min)
    }

    /// True where a document has a service mesh with names.
    pub(super) fn has_mesh_names(&self) -> bool {
        self.clouds.iter().any(|cloud| cloud.service_mesh().is_some_and(|mesh| mesh.dns().is_some()))
    }

    /// The accesses that are needed for it.
    pub(super) fn needs(&self) -> Needs {
        let of_clouds = self.clouds.iter().map(Needs::of_cloud);
        of_clouds.fold(Needs::of_level(self.level), Needs::and)
    }

    /// What a server is asked: by the kubeconfig that is registered, or by another one.
    pub(super) fn asked(&self, kubeconfig: Option<Secret>) -> Result<ClusterCheck, place::Error> {
        let documents: Vec<String> = self.clouds.iter().map(document::to_yaml).collect::<Result<_, _>>()?;
        Ok(ClusterCheck { kubeconfig, level: self.level, documents: documents.join(output::NEXT_DOCUMENT) })
    }
}

/// Why a cluster that is registered could not be asked.
pub(super) fn unasked(id: &ClusterId, error: Error) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("{id} can't be asked"))
}

/// Prints what was seen, in the form that was asked for.
pub(super) fn print(session: &Session, id: &ClusterId, inspection: &Inspection) -> anyhow::Result<()> {
    let Inspection { findings, other, twin, uid, is_moved: moved } = inspection;
    let (moved, uid) = (*moved, uid.as_ref().filter(|_| *moved));
    let (other, known) = other.as_ref().map(|Other { known, found }| (found, known)).unzip();
    let (is_ready, registered_as) = (inspection.is_ready(), twin.as_ref().map(|twin| &twin.first));
    let shown = Shown { cluster: id, is_ready, findings, other, known, registered_as, moved, uid };
    match session.format.for_programs() {
        Some(notation) => output::print(&notation.write(&shown)?),
        None => output::print(&in_words(id, inspection)?),
    }
}

/// What was seen, and the missing rights as a ClusterRole.
fn in_words(id: &ClusterId, inspection: &Inspection) -> anyhow::Result<String> {
    let ready = if inspection.is_ready() { "ready" } else { "not ready" };
    let Inspection { findings, other, twin, uid: _, is_moved } = inspection;
    let old =
        if findings.too_old { format!(": too old, 1.{MINOR_VERSION_MIN} is needed") } else { String::new() };
    let mut text = format!("{id}: {ready}\nversion {}{old}\nclock   {}\n", findings.version, clock(findings));
    if let Some(twin) = twin {
        text.push_str(&format!("{twin}: unregister one of the two names\n"));
    }
    if let Some(other) = other {
        text.push_str(&format!(
            "cluster {other}; where it takes that one's place: dcm cluster accept {id}\n"
        ));
    } else if *is_moved {
        text.push_str(&format!("cluster {MOVED}: dcm cluster accept {id}\n"));
    }
    text.push_str(&format!("guard   {}\n", guard(findings.guard)));
    for Guess { kind, resource } in &findings.guessed {
        text.push_str(&format!("guess   {resource}: the cluster is not known to serve {kind}\n"));
    }
    text.push_str(&rights(findings)?);
    Ok(text)
}

/// What is missing, as ClusterRoles to apply. The one for namespaces has a name of its own, so it is whole.
fn rights(findings: &Findings) -> anyhow::Result<String> {
    if findings.has_rights() {
        return Ok("rights  complete\n".to_owned());
    }
    let mut roles = Vec::new();
    if !findings.missing.is_empty() {
        let role = preflight::cluster_role(MISSING_ROLE, findings.missing.clone());
        roles.push(preflight::marked(role, &findings.guessed));
    }
    if !findings.missing_in_namespaces.is_empty() {
        roles.push(preflight::namespace_role());
    }
    let mut text = "rights  missing, at least these:\n".to_owned();
    for role in &roles {
        text.push_str(output::NEXT_DOCUMENT);
        text.push_str(&Notation::Yaml.write(role)?);
    }
    Ok(text)
}

fn guard(guard: Guard) -> &'static str {
    match guard {
        Guard::InForce => "in force",
        Guard::Absent => "not in force: dcm cluster role --guard prints it",
        Guard::Unknown => "unknown",
    }
}

fn clock(findings: &Findings) -> String {
    let wrong = if findings.is_skewed() {
        format!(": more than {CLOCK_SKEW_SECONDS_MAX} s, certificates and tokens will be refused")
    } else {
        String::new()
    };
    match findings.clock_skew_seconds {
        None => "unknown".to_owned(),
        Some(0) => "in step".to_owned(),
        Some(ahead @ 1..) => format!("{ahead} s ahead of ours{wrong}"),
        Some(behind) => format!("{} s behind ours{wrong}", behind.unsigned_abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_rights_are_told_as_a_role_to_apply() {
        let needs = Needs::of_level(Level::Admin);
        let missing = preflight::rules(needs.accesses());
        let findings = Findings {
            version: "v1.21.0".into(),
            too_old: true,
            clock_skew_seconds: Some(-90),
            missing,
            missing_in_namespaces: Vec::new(),
            guessed: Vec::new(),
            guard: Guard::Unknown,
        };
        let text = in_words(&"p/c".parse().unwrap(), &inspection(findings, None)).unwrap();
        assert_eq!(
            text,
            "p/c: not ready\nversion v1.21.0: too old, 1.22 is needed\n\
             clock   90 s behind ours: more than 60 s, certificates and tokens will be refused\n\
             guard   unknown\nrights  missing, at least these:\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n\
             metadata:\n  name: dcm-missing\nrules:\n- apiGroups:\n  - \"\"\n  resources:\n  - namespaces\n  verbs:\n  - get\n"
        );
    }

    fn inspection(findings: Findings, other: Option<Other>) -> Inspection {
        Inspection { findings, uid: None, twin: None, other, is_moved: false }
    }

    #[test]
    fn a_cluster_at_another_endpoint_is_not_ready() {
        let moved = Inspection { is_moved: true, ..inspection(sound(), None) };
        let text = in_words(&"p/c".parse().unwrap(), &moved).unwrap();
        assert_eq!(
            text,
            "p/c: not ready\nversion v1.36.0\nclock   in step\n\
             cluster the kubeconfig leads to another server, or trusts other authorities, than the accepted one; it is used once you \
             accept it: dcm cluster accept p/c\nguard   in force\nrights  complete\n"
        );
    }

    fn sound() -> Findings {
        Findings {
            version: "v1.36.0".into(),
            too_old: false,
            clock_skew_seconds: Some(0),
            missing: Vec::new(),
            missing_in_namespaces: Vec::new(),
            guessed: Vec::new(),
            guard: Guard::InForce,
        }
    }

    #[test]
    fn a_ready_cluster_is_told_in_five_lines() {
        let text = in_words(&"p/c".parse().unwrap(), &inspection(sound(), None)).unwrap();
        assert_eq!(
            text,
            "p/c: ready\nversion v1.36.0\nclock   in step\nguard   in force\nrights  complete\n"
        );
    }

    #[test]
    fn another_cluster_than_before_is_not_ready() {
        let other = Some(Other { known: ClusterUid("1".into()), found: ClusterUid("2".into()) });
        let text = in_words(&"p/c".parse().unwrap(), &inspection(sound(), other)).unwrap();
        assert_eq!(
            text,
            "p/c: not ready\nversion v1.36.0\nclock   in step\n\
             cluster the kubeconfig leads to another cluster (2) than before (1); \
             where it takes that one's place: dcm cluster accept p/c\nguard   in force\nrights  complete\n"
        );
    }
}
