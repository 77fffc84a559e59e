//! Proxies between us and a cluster. Only those that somebody names here: the environment's are not looked at.

/// URL of a proxy: `http://host:port` (tunnels by CONNECT) or `socks5://host:port`.
///
/// The connection to the cluster goes through it under TLS of its own. Proxies that want a password are not supported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyUrl(http::Uri);

/// Why a text is no [`ProxyUrl`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a proxy URL {rule}")]
pub struct InvalidProxyUrl {
    /// The rule that it breaks.
    pub rule: &'static str,
}

impl ProxyUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// [`InvalidProxyUrl`], without the text, as it may hold a password.
    pub fn new(text: &str) -> Result<Self, InvalidProxyUrl> {
        let rule = "must be http://host:port or socks5://host:port";
        let uri: http::Uri = text.parse().map_err(|_| InvalidProxyUrl { rule })?;
        if !matches!(uri.scheme_str(), Some("http" | "socks5")) || uri.host().is_none_or(str::is_empty) {
            return Err(InvalidProxyUrl { rule });
        }
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(InvalidProxyUrl { rule: "must not hold a user name or password" });
        }
        Ok(Self(uri))
    }

    /// The URL.
    pub(crate) fn uri(&self) -> &http::Uri {
        &self.0
    }

    /// True for SOCKS 5, false for HTTP.
    pub(crate) fn is_socks(&self) -> bool {
        self.0.scheme_str() == Some("socks5")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_and_socks5_without_credentials_are_taken() {
        for good in ["http://proxy:3128", "http://127.0.0.1:80/", "socks5://[::1]:1080"] {
            assert!(ProxyUrl::new(good).is_ok(), "{good}");
        }
        for bad in
            ["", "proxy:3128", "https://proxy", "socks4://p:1", "http://", "http://u:p@proxy:1", "http://a b"]
        {
            assert!(ProxyUrl::new(bad).is_err(), "{bad}");
        }
        assert!(ProxyUrl::new("socks5://p:1").unwrap().is_socks());
    }
}
