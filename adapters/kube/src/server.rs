//! What a cluster says of itself.

use std::sync::Arc;

use dcm_core::port::cluster::{Call, ClusterUid, Error, ServerInfo};
use http::Uri;
use jiff::Timestamp;
use serde::Deserialize;

use crate::failure::{UNREADABLE, unreadable};
use crate::resource::Resource;
use crate::transport::{Request, Transport};

/// The namespace that every cluster has, for ever.
const SYSTEM_NAMESPACE: &str = "kube-system";

/// Longest version of a server, in bytes.
const VERSION_BYTES_MAX: usize = 64;

/// Longest UID, in bytes. API servers make UIDs of 36.
const UID_BYTES_MAX: usize = 64;

#[derive(Deserialize)]
struct Named {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    uid: Arc<str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    git_version: String,
}

/// The UID of the system's namespace. The first one that a client gets is what it expects from then on.
pub(crate) async fn uid(transport: &Transport, call: &Call) -> Result<ClusterUid, Error> {
    let answer = transport.send(call, Request::get(system_namespace()).identifying()).await?;
    let named: Named = answer.read().await?;
    let uid = uid_of(named.metadata.uid)?;
    transport.identified(&uid, &answer)?;
    Ok(uid)
}

/// Asks for the UID again, where one is expected. [`Error::Moved`] for another one.
pub(crate) async fn confirm(transport: &Transport, call: &Call) -> Result<(), Error> {
    if transport.expects_uid()? {
        uid(transport, call).await?;
    }
    Ok(())
}

fn system_namespace() -> String {
    let namespaces =
        Resource { group: "".into(), version: "v1".into(), plural: "namespaces".into(), namespaced: false };
    format!("{}/{SYSTEM_NAMESPACE}", namespaces.collection(None))
}

/// Where a server answers with the namespace: below the path of its URL, if it has one.
pub(crate) fn question(server: &Uri) -> Result<Uri, http::Error> {
    let mut parts = server.clone().into_parts();
    parts.path_and_query =
        Some(format!("{}{}", server.path().trim_end_matches('/'), system_namespace()).parse()?);
    Ok(Uri::from_parts(parts)?)
}

/// The UID in the text of the namespace.
pub(crate) fn read_uid(text: &[u8]) -> Result<ClusterUid, Error> {
    let named: Named = serde_json::from_slice(text).map_err(|error| unreadable(&error))?;
    uid_of(named.metadata.uid)
}

/// A UID, if the text can be one: any other text may be an answer that is not for the caller.
fn uid_of(text: Arc<str>) -> Result<ClusterUid, Error> {
    let is_uid = !text.is_empty()
        && text.len() <= UID_BYTES_MAX
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_uid {
        return Ok(ClusterUid(text));
    }
    let message = format!("the UID of {SYSTEM_NAMESPACE} must be 1 to {UID_BYTES_MAX} letters, digits and -");
    Err(Error::Server { code: UNREADABLE, message: message.into() })
}

/// Its version, and its time.
pub(crate) async fn info(transport: &Transport, call: &Call) -> Result<ServerInfo, Error> {
    let answer = transport.send(call, Request::get("/version".to_owned())).await?;
    let version: Version = answer.read().await?;
    Ok(ServerInfo { version: version_text(version.git_version), time: answer.date().and_then(http_date) })
}

/// What a server calls its version, if that is one: any other text may be an answer that is not for the caller.
fn version_text(text: String) -> String {
    let is_version = text.len() <= VERSION_BYTES_MAX
        && text.starts_with('v')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-_~".contains(&byte));
    if is_version { text } else { "unknown".to_owned() }
}

/// Reads a `Date` header.
fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_version_is_not_passed_on() {
        for version in ["v1.36.3", "v1.31.2+k3s1", "v1.30.0-gke.100"] {
            assert_eq!(version_text(version.to_owned()), version);
        }
        for text in ["", "1.36", "v1 hunter2", "vé", &format!("v{}", "1".repeat(VERSION_BYTES_MAX))] {
            assert_eq!(version_text((*text).to_owned()), "unknown");
        }
    }

    #[test]
    fn a_text_that_is_no_uid_is_refused_and_not_passed_on() {
        let uid = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";
        assert_eq!(&*uid_of(uid.into()).unwrap().0, uid);
        for text in ["", "a hunter2", "a/b", &"1".repeat(UID_BYTES_MAX + 1)] {
            let error = uid_of(text.into()).unwrap_err();
            assert!(matches!(error, Error::Server { code: UNREADABLE, .. }));
            assert!(!error.to_string().contains("hunter2"));
        }
    }

    #[test]
    fn a_server_is_asked_below_the_path_of_its_url() {
        for (server, expected) in [
            ("https://c:6443", "https://c:6443/api/v1/namespaces/kube-system"),
            ("https://c/", "https://c/api/v1/namespaces/kube-system"),
            ("https://c/k8s/clusters/a/", "https://c/k8s/clusters/a/api/v1/namespaces/kube-system"),
        ] {
            assert_eq!(question(&server.parse().unwrap()).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn the_date_header_is_read() {
        let expected = "2026-11-21T01:02:03Z".parse().unwrap();
        assert_eq!(http_date("Sat, 21 Nov 2026 01:02:03 GMT"), Some(expected));
        assert_eq!(http_date("yesterday"), None);
    }
}
