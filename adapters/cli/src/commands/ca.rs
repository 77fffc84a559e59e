//! `dcm ca`: the certificate authorities of a logical cloud's service mesh.

use dcm_core::service::{MeshAuthority, ServiceMeshDocument};
use jiff::Timestamp;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::{Named, Session};

/// Digits of a fingerprint that a table shows.
const FINGERPRINT_SHOWN: usize = 16;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Shows the certificate authorities of the service mesh: the root, and that of each cluster.
    ///
    /// `-o json` has the certificates in PEM, with full fingerprints, and the trust domain. Private keys are not shown: that of a cluster is
    /// in its secret cacerts. `dcm serve` renews the authority of a cluster after two thirds of its validity, as do `dcm renew` and `dcm apply`.
    Status(Named),
}

pub(crate) async fn run(global: &Global, command: &Command) -> anyhow::Result<Exit> {
    let Command::Status(Named { name, .. }) = command;
    let session = Session::open(global).await?;
    let mesh = session.clouds().service_mesh(&session.project, name).await?;
    output::print_either(session.format, &mesh, || table(&mesh))?;
    if mesh.root.is_none() {
        output::note(format_args!("{name}: authorities are made by the first apply"));
    }
    Ok(Exit::Done)
}

fn table(mesh: &ServiceMeshDocument) -> String {
    let time = |time: Option<Timestamp>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
    let row = |holder: String, MeshAuthority { facts, renewal, .. }: &MeshAuthority| {
        let fingerprint = facts.fingerprint_sha256.chars().take(FINGERPRINT_SHOWN).collect();
        [holder, fingerprint, facts.subject.clone(), time(*renewal), facts.not_after.to_string()]
    };
    let root = mesh.root.iter().map(|root| row("(root)".to_owned(), root));
    let clusters = mesh.clusters.iter().map(|(cluster, authority)| row(cluster.to_string(), authority));
    output::columns(["CLUSTER", "SHA-256", "SUBJECT", "RENEWAL", "END"], root.chain(clusters))
}
