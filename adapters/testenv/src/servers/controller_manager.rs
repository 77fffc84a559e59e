//! kube-controller-manager: the controllers that matter where no pod runs.

use std::path::Path;

use super::api_server::Keys;
use super::{file_flag, write};
use crate::Error;
use crate::process::Launch;

/// The user of the controller manager, so that an audit log tells its requests from those of a test.
pub(crate) const USER: &str = "system:kube-controller-manager";

/// Signing, approving and clearing away requests for certificates; namespaces; quotas; what every namespace gets;
/// owner references; aggregated roles; endpoints of Services, which carry the labels of those; finished Jobs.
const CONTROLLERS: [&str; 13] = [
    "certificatesigningrequest-signing-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "namespace-controller",
    "resourcequota-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "garbage-collector-controller",
    "clusterrole-aggregation-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "endpointslice-mirroring-controller",
    "ttl-after-finished-controller",
];

pub(crate) fn launch(
    executable: &Path,
    folder: &Path,
    keys: &Keys,
    kubeconfig: &str,
) -> Result<Launch, Error> {
    let kubeconfig = write(folder, "controller-manager.kubeconfig", kubeconfig)?;
    let arguments = vec![
        file_flag("kubeconfig", &kubeconfig),
        file_flag("cluster-signing-cert-file", &keys.signer_file),
        file_flag("cluster-signing-key-file", &keys.signer_key_file),
        file_flag("root-ca-file", &keys.serving_authority_file),
        file_flag("service-account-private-key-file", &keys.service_account_key_file),
        format!("--controllers={}", CONTROLLERS.join(",")),
        "--leader-elect=false".to_owned(),
        // No port of its own: what it does in the cluster tells whether it works.
        "--secure-port=0".to_owned(),
        // It must not be slower than the tests.
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
    ];
    let log = folder.join("kube-controller-manager.log");
    Ok(Launch { program: "kube-controller-manager", executable: executable.to_owned(), arguments, log })
}
