//! URLs of issuers and of their keys.

use dcm_core::host::is_loopback;
use http::Uri;

use crate::settings::TEXT_BYTES_MAX;

/// What a URL must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// It is none.
    #[error("it is an absolute URL of at most {TEXT_BYTES_MAX} bytes")]
    Form,
    /// Somebody on the way could read and change what is said there.
    #[error("it begins with https://, or, for a loopback address alone, with http://")]
    Scheme,
    /// It has what is not compared, or a password.
    #[error("it has no user, no query and no fragment")]
    Parts,
}

/// Checks the URL of an issuer.
pub(crate) fn check(text: &str) -> Result<(), Rule> {
    check_document(text)?;
    if text.len() > TEXT_BYTES_MAX {
        return Err(Rule::Form);
    }
    if text.contains('?') { Err(Rule::Parts) } else { Ok(()) }
}

/// Checks the URL of a document that an issuer names.
pub(super) fn check_document(text: &str) -> Result<Uri, Rule> {
    let uri: Uri = text.parse().map_err(|_| Rule::Form)?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return Err(Rule::Form) };
    if authority.host().is_empty() {
        return Err(Rule::Form);
    }
    // A fragment is dropped when a URI is read.
    if authority.as_str().contains('@') || text.contains('#') {
        return Err(Rule::Parts);
    }
    match scheme {
        "https" => Ok(uri),
        "http" if is_loopback(authority.host()) => Ok(uri),
        _ => Err(Rule::Scheme),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_that_nobody_can_listen_in_to_are_asked() {
        let table = [
            ("https://login.example.com", Ok(())),
            ("https://login.example.com:8443/realms/edge/", Ok(())),
            ("http://127.0.0.1:5556/dex", Ok(())),
            ("http://[::1]:5556", Ok(())),
            ("http://localhost", Ok(())),
            ("http://login.example.com", Err(Rule::Scheme)),
            ("http://127.0.0.1.example.com", Err(Rule::Scheme)),
            ("http://192.0.2.1", Err(Rule::Scheme)),
            ("ftp://127.0.0.1", Err(Rule::Scheme)),
            ("login.example.com", Err(Rule::Form)),
            ("/realms/edge", Err(Rule::Form)),
            ("", Err(Rule::Form)),
            ("https://a b", Err(Rule::Form)),
            ("https://user@login.example.com", Err(Rule::Parts)),
            ("https://login.example.com?a=b", Err(Rule::Parts)),
            ("https://login.example.com/#x", Err(Rule::Parts)),
        ];
        for (text, expected) in table {
            assert_eq!(check(text), expected, "{text}");
        }
        assert!(check_document("https://login.example.com/keys?version=1").is_ok());
    }
}
