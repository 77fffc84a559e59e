//! Where a server is.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use dcm_core::host::is_loopback;
use http::Uri;
use http::uri::Authority;

/// What the address of a Unix socket begins with.
const UNIX: &str = "unix:";

/// The URL below which paths are asked at a Unix socket: a server takes the host for this machine.
const SOCKET_BASE: &str = "http://localhost";

/// The URL of a server's documented API: `https://HOST[:PORT][/PATH]`, `http://` for a loopback address alone, or `unix:PATH` for a Unix
/// socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerUrl(String);

/// What the URL of a server must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidUrl {
    /// It is none.
    #[error("must be a URL such as https://dcm.example.com:9077")]
    Form,
    /// Somebody on the way could read credentials and change answers.
    #[error("must begin with https://, or, for a loopback address alone, with http://")]
    Scheme,
    /// What stands behind the host is no port. Without this rule a credential would go to the scheme's own port.
    #[error("must have a port from 1 to 65535, or none")]
    Port,
    /// A path that is found from one folder alone, or that a terminal would obey. Of a system without Unix sockets: any.
    #[error("must be the absolute path of a socket, such as unix:/run/dcm/api.sock")]
    Socket,
    /// It has what a server's URL has not.
    #[error("must have no user, no query and no fragment")]
    Parts,
}

impl ServerUrl {
    /// The URL, without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path of the Unix socket, if the server is at one.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        self.0.strip_prefix(UNIX).map(Path::new)
    }

    /// The URL that the paths of requests are put behind.
    pub(crate) fn base(&self) -> &str {
        if self.socket().is_some() { SOCKET_BASE } else { &self.0 }
    }

    /// Whether TLS is spoken.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.0.starts_with("https:")
    }
}

impl FromStr for ServerUrl {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<Self, InvalidUrl> {
        if let Some(path) = text.strip_prefix(UNIX) {
            let is_path = cfg!(unix) && path.starts_with('/') && !path.contains(char::is_control);
            return is_path.then(|| Self(text.to_owned())).ok_or(InvalidUrl::Socket);
        }
        let uri: Uri = text.parse().map_err(|_| InvalidUrl::Form)?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(InvalidUrl::Form);
        };
        if authority.host().is_empty() {
            return Err(InvalidUrl::Form);
        }
        // A fragment is dropped when a URI is read.
        if authority.as_str().contains('@') || text.contains(['#', '?']) {
            return Err(InvalidUrl::Parts);
        }
        match scheme {
            "https" => {}
            "http" if is_loopback(authority.host()) => {}
            _ => return Err(InvalidUrl::Scheme),
        }
        // One server has one text.
        let host = authority.host().to_ascii_lowercase();
        let port = port(authority)?.filter(|port| *port != if scheme == "https" { 443 } else { 80 });
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        Ok(Self(format!("{scheme}://{host}{port}{}", uri.path().trim_end_matches('/'))))
    }
}

/// The port that is named; none where there is none.
fn port(authority: &Authority) -> Result<Option<u16>, InvalidUrl> {
    let behind = authority.as_str().strip_prefix(authority.host()).ok_or(InvalidUrl::Form)?;
    if behind.is_empty() {
        return Ok(None);
    }
    let digits = behind.strip_prefix(':').filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    let port = digits.and_then(|port| port.parse().ok()).filter(|port| *port != 0);
    port.map(Some).ok_or(InvalidUrl::Port)
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_one_of_which_nobody_on_the_way_reads_credentials() {
        for (text, parsed) in [
            ("https://dcm.example.com", Ok("https://dcm.example.com")),
            ("https://dcm.example.com:9077/", Ok("https://dcm.example.com:9077")),
            ("https://example.com/dcm/", Ok("https://example.com/dcm")),
            ("https://DCM.example.com:443/a", Ok("https://dcm.example.com/a")),
            ("http://127.0.0.1:9077", Ok("http://127.0.0.1:9077")),
            ("http://[::1]:9077", Ok("http://[::1]:9077")),
            ("http://localhost", Ok("http://localhost")),
            ("unix:/run/dcm/api.sock", Ok("unix:/run/dcm/api.sock")),
            ("unix:api.sock", Err(InvalidUrl::Socket)),
            ("unix:", Err(InvalidUrl::Socket)),
            ("unix:/a\nb", Err(InvalidUrl::Socket)),
            ("http://dcm.example.com", Err(InvalidUrl::Scheme)),
            ("http://127.0.0.1.example.com", Err(InvalidUrl::Scheme)),
            ("ftp://127.0.0.1", Err(InvalidUrl::Scheme)),
            ("dcm.example.com", Err(InvalidUrl::Form)),
            ("127.0.0.1:9077", Err(InvalidUrl::Form)),
            ("", Err(InvalidUrl::Form)),
            ("https://dcm.example.com:65535", Ok("https://dcm.example.com:65535")),
            ("https://dcm.example.com:90777", Err(InvalidUrl::Port)),
            ("https://dcm.example.com:0", Err(InvalidUrl::Port)),
            ("https://dcm.example.com:", Err(InvalidUrl::Port)),
            ("https://dcm.example.com:+9077", Err(InvalidUrl::Port)),
            ("http://[::1]:70000", Err(InvalidUrl::Port)),
            ("http://127.0.0.1:99999", Err(InvalidUrl::Port)),
            ("https://me@dcm.example.com", Err(InvalidUrl::Parts)),
            ("https://dcm.example.com/?a=b", Err(InvalidUrl::Parts)),
            ("https://dcm.example.com/#a", Err(InvalidUrl::Parts)),
        ] {
            let found: Result<ServerUrl, _> = text.parse();
            assert_eq!(found.as_ref().map(ServerUrl::as_str), parsed.as_ref().copied(), "{text}");
        }
    }
}
