//! The admission policy that `dcm cluster role --guard` prints, on real API servers.

use dcm_testenv::Cluster;

use super::installation::{kubectl, until};
use super::{Ran, User, fed};

/// How each refusal by the guard begins.
pub(crate) const REFUSAL: &str = "denied request: the guard of dcm: ";

/// Applies what `dcm cluster role` prints. The ClusterRole for namespaces is the same for all users, which may apply it at once.
#[track_caller]
pub(crate) fn apply(cluster: &Cluster, printed: &str) {
    fed(cluster.kubectl().args(["apply", "--server-side", "-f", "-"]), printed).done();
}

/// Gives a user the least role and no other right, under the guard, and waits until the cluster goes by both.
pub(crate) async fn confine(cluster: &Cluster, name: &str, user: &str) {
    let printed = User::new().run(["cluster", "role", "--name", name, "--guard", "--user", user]).done();
    apply(cluster, &printed);
    let [role, member] = [format!("--clusterrole={name}"), format!("--user={user}")];
    kubectl(cluster, &["create", "clusterrolebinding", name, &role, &member]);
    is_in_force(cluster, user).await;
}

/// Waits until the API server confines a user that may make namespaces: it follows policies by watches.
pub(crate) async fn is_in_force(cluster: &Cluster, user: &str) {
    until("the guard", async || {
        let made = ["create", "namespace", "unmarked", "--dry-run=server", "--as", user];
        Ran::of(cluster.kubectl().args(made).output().unwrap()).err.contains(REFUSAL).then_some(())
    })
    .await;
}
