//! What a cluster says of itself.

use std::sync::Arc;

use dcm_core::port::cluster::{Call, ClusterUid, Error, ServerInfo};
use jiff::Timestamp;
use serde::Deserialize;

use crate::resource::Resource;
use crate::transport::{Request, Transport};

/// The namespace that every cluster has, for ever.
const SYSTEM_NAMESPACE: &str = "kube-system";

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

/// The UID of the system's namespace.
pub(crate) async fn uid(transport: &Transport, call: &Call) -> Result<ClusterUid, Error> {
    let namespaces =
        Resource { group: "".into(), version: "v1".into(), plural: "namespaces".into(), namespaced: false };
    let uri = format!("{}/{SYSTEM_NAMESPACE}", namespaces.collection(None));
    let named: Named = transport.send(call, Request::get(uri)).await?.read()?;
    Ok(ClusterUid(named.metadata.uid))
}

/// Its version, and its time.
pub(crate) async fn info(transport: &Transport, call: &Call) -> Result<ServerInfo, Error> {
    let answer = transport.send(call, Request::get("/version".to_owned())).await?;
    let version: Version = answer.read()?;
    Ok(ServerInfo { version: version.git_version, time: answer.date().and_then(http_date) })
}

/// Reads a `Date` header.
fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_header_is_read() {
        let expected = "2026-11-21T01:02:03Z".parse().unwrap();
        assert_eq!(http_date("Sat, 21 Nov 2026 01:02:03 GMT"), Some(expected));
        assert_eq!(http_date("yesterday"), None);
    }
}
