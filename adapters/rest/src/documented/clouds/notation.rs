//! JSON or YAML, as the caller accepts them.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// What YAML is called.
pub(super) const YAML_TYPES: [&str; 3] = ["application/yaml", "application/x-yaml", "text/yaml"];

/// What a document is sent as, and what it is answered as.
pub(super) const MEDIA_TYPES: [&str; 2] = ["application/json", YAML_TYPES[0]];

/// How an answer is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Notation {
    Json,
    Yaml,
}

impl Notation {
    /// YAML for who accepts that and does not accept JSON before it.
    pub(super) fn accepted(headers: &HeaderMap) -> Self {
        let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let ranges = accepted
            .flat_map(|value| value.split(','))
            .map(|range| range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        for range in ranges {
            match &*range {
                range if YAML_TYPES.contains(&range) => return Self::Yaml,
                "application/json" => return Self::Json,
                _ => {}
            }
        }
        Self::Json
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => YAML_TYPES[0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_is_for_who_asks_for_it() {
        let of =
            |accept: &str| Notation::accepted(&HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]));
        for (accept, expected) in [
            ("application/yaml", Notation::Yaml),
            ("text/html, Application/YAML;q=0.9, */*", Notation::Yaml),
            ("application/json, application/yaml", Notation::Json),
            ("*/*", Notation::Json),
        ] {
            assert_eq!(of(accept), expected, "{accept}");
        }
        assert_eq!(Notation::accepted(&HeaderMap::new()), Notation::Json);
    }
}
