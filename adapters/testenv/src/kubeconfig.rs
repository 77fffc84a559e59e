//! Kubeconfigs as YAML text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::certificates::Identity;

/// The kubeconfig of one identity at one server.
///
/// Only the URL and base64 text go in, so nothing in here needs quoting.
pub(crate) fn render(url: &str, certificate_authority: &str, identity: &Identity) -> String {
    let authority = STANDARD.encode(certificate_authority);
    let certificate = STANDARD.encode(identity.certificate());
    let key = STANDARD.encode(identity.key());
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: testenv\n\
         \x20 cluster:\n\
         \x20   server: {url}\n\
         \x20   certificate-authority-data: {authority}\n\
         users:\n\
         - name: testenv\n\
         \x20 user:\n\
         \x20   client-certificate-data: {certificate}\n\
         \x20   client-key-data: {key}\n\
         contexts:\n\
         - name: testenv\n\
         \x20 context:\n\
         \x20   cluster: testenv\n\
         \x20   user: testenv\n\
         current-context: testenv\n"
    )
}
