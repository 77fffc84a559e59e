//! By which name a listener was asked, and by whose page.
//!
//! A page from elsewhere can make its own name resolve to a loopback address after it was loaded (DNS rebinding). Its
//! scripts may then read what is answered there: for the browser it is the page's own origin. So whatever is asked by another
//! name than one of this machine's own is refused.

use dcm_core::host::is_loopback;
use dcm_rest::access::NotAdmitted;
use hyper::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{Request, StatusCode, Version};

/// Why a request is refused before it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It names no host, or several, or something else.
    NoHost,
    /// It names another host than this machine.
    Misdirected,
    /// It comes from a page of another site.
    OtherSite,
}

impl Refusal {
    /// The status of the answer.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::NoHost => StatusCode::BAD_REQUEST,
            Self::Misdirected => StatusCode::MISDIRECTED_REQUEST,
            Self::OtherSite => StatusCode::FORBIDDEN,
        }
    }
}

impl From<Refusal> for NotAdmitted {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoHost => Self::NoHost,
            Refusal::Misdirected => Self::Misdirected,
            Refusal::OtherSite => Self::OtherSite,
        }
    }
}

/// Why a request is refused for the host that it names.
pub(crate) fn refusal<B>(request: &Request<B>) -> Option<Refusal> {
    let hosts: Vec<_> = request.headers().get_all(HOST).iter().collect();
    let host = match hosts[..] {
        [] if request.version() < Version::HTTP_11 => None,
        [host] => match Authority::try_from(host.as_bytes()) {
            Ok(authority) => Some(authority),
            Err(_) => return Some(Refusal::NoHost),
        },
        _ => return Some(Refusal::NoHost),
    };
    // What a proxy is asked for names its target in the first line as well.
    let mut named = host.iter().chain(request.uri().authority());
    (!named.all(is_of_this_machine)).then_some(Refusal::Misdirected)
}

/// Tells where a request comes from, in browsers.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Why a request of a page from elsewhere is refused: browsers send it, and only keep the answer from the page. A page of
/// another port of this machine is from elsewhere, too.
pub(crate) fn page_refusal<B>(request: &Request<B>, is_tls: bool) -> Option<Refusal> {
    let header = |name| request.headers().get(name).map(HeaderValue::as_bytes);
    // Without TLS here there may be some before this, where the same host is asked over it.
    let schemes: &[&str] = if is_tls { &["https://"] } else { &["http://", "https://"] };
    let is_own = |origin: &[u8]| {
        let host = schemes.iter().find_map(|scheme| origin.strip_prefix(scheme.as_bytes()));
        host.is_some() && host == header(HOST)
    };
    let is_other_origin = header(ORIGIN).is_some_and(|origin| !is_own(origin));
    let is_other_site = header(FETCH_SITE).is_some_and(|site| matches!(site, b"cross-site" | b"same-site"));
    (is_other_origin || is_other_site).then_some(Refusal::OtherSite)
}

/// True for `localhost` and loopback addresses, whatever the port: it may have been forwarded. No page can take these names.
pub(crate) fn is_of_this_machine(authority: &Authority) -> bool {
    is_loopback(authority.host())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(version: Version, target: &str, hosts: &[&str]) -> Option<u16> {
        let mut request = Request::builder().version(version).uri(target);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        refusal(&request.body(()).unwrap()).map(|refusal| refusal.status().as_u16())
    }

    #[test]
    fn pages_from_elsewhere_are_refused() {
        let refused = |headers: &[(HeaderName, &str)]| {
            let request = Request::builder().uri("/v2/projects").header(HOST, "localhost:9077");
            let request = headers.iter().fold(request, |request, (name, value)| request.header(name, *value));
            page_refusal(&request.body(()).unwrap(), false).map(|refusal| refusal.status().as_u16())
        };
        assert_eq!(refused(&[]), None);
        assert_eq!(refused(&[(ORIGIN, "http://localhost:9077"), (FETCH_SITE, "same-origin")]), None);
        assert_eq!(refused(&[(FETCH_SITE, "none")]), None);
        assert_eq!(refused(&[(ORIGIN, "https://localhost:9077")]), None);
        for origin in ["http://example.com", "http://localhost:9078", "null", ""] {
            assert_eq!(refused(&[(ORIGIN, origin)]), Some(403), "{origin}");
        }
        for site in ["cross-site", "same-site"] {
            assert_eq!(refused(&[(FETCH_SITE, site)]), Some(403), "{site}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        let own = [
            "localhost",
            "LocalHost:9464",
            "127.0.0.1",
            "127.9.9.9:1",
            "[::1]",
            "[::1]:9464",
            "[::ffff:127.0.0.1]",
        ];
        for host in own {
            assert_eq!(refused(Version::HTTP_11, "/metrics", &[host]), None, "{host}");
        }
        let others = [
            "example.com",
            "localhost.example.com",
            "127.0.0.1.example.com:9464",
            "0.0.0.0",
            "[::]",
            "192.0.2.1:9464",
            "127.1",
            "[::ffff:192.0.2.1]",
        ];
        for host in others {
            assert_eq!(refused(Version::HTTP_11, "/metrics", &[host]), Some(421), "{host}");
        }
    }

    #[test]
    fn a_request_names_one_host_and_its_target_no_other() {
        let table = [
            (Version::HTTP_11, "/metrics", &[][..], Some(400)),
            (Version::HTTP_10, "/metrics", &[], None),
            (Version::HTTP_10, "/metrics", &["example.com"], Some(421)),
            (Version::HTTP_11, "/metrics", &["localhost", "localhost"], Some(400)),
            (Version::HTTP_11, "/metrics", &[""], Some(400)),
            (Version::HTTP_11, "/metrics", &["a b"], Some(400)),
            (Version::HTTP_11, "http://localhost/metrics", &["localhost"], None),
            (Version::HTTP_11, "http://example.com/metrics", &["localhost"], Some(421)),
            (Version::HTTP_11, "http://localhost/metrics", &["example.com"], Some(421)),
        ];
        for (version, target, hosts, expected) in table {
            assert_eq!(refused(version, target, hosts), expected, "{version:?} {target} {hosts:?}");
        }
    }
}
