//! Another cluster takes the place of the one that a name stood for.

use dcm_testenv::{Cluster, Route};

use crate::common::confined::Confined;
use crate::common::installation::kubectl;
use crate::rest::EXCHANGES;
use crate::rest::server;

#[tokio::test(flavor = "multi_thread")]
async fn another_cluster_is_told_by_a_check_and_taken_by_its_uid_alone() {
    let (environment, server) = server::on_clusters(2, "rest-accept").await;
    let [one, other] = environment.clusters() else { panic!("two clusters are asked for") };
    let uid = |cluster: &Cluster| {
        kubectl(cluster, &["get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"])
    };
    let kubeconfig = Confined::Standard.kubeconfig(other, "dcm-rest-accept", Route::Direct);
    let uids = [uid(one), uid(other)];
    let texts = [("other", &*kubeconfig), ("uid of one", &uids[0]), ("uid of other", &uids[1])];
    EXCHANGES.play_with(&server, "accept.http", &texts).await;
    server.stop();
}
