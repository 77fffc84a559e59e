//! The admission policy that `dcm cluster role --guard` prints, on real API servers.

use dcm_testenv::Cluster;

use super::Ran;
use super::installation::until;

/// How each refusal by the guard begins.
pub(crate) const REFUSAL: &str = "denied request: the guard of dcm: ";

/// Waits until the API server confines a user that may make namespaces: it follows policies by watches.
pub(crate) async fn is_in_force(cluster: &Cluster, user: &str) {
    until("the guard", async || {
        let made = ["create", "namespace", "unmarked", "--dry-run=server", "--as", user];
        Ran::of(cluster.kubectl().args(made).output().unwrap()).err.contains(REFUSAL).then_some(())
    })
    .await;
}
