//! What is accepted and perhaps not meant, as `Warning` headers: as Kubernetes' API servers have them (`299 - "text"`).

use std::fmt::Display;

use axum::http::header::WARNING;
use axum::http::{HeaderMap, HeaderValue};

/// Most warnings of one answer.
const WARNINGS_MAX: usize = 16;

/// Longest warning, in characters.
const WARNING_MAX: usize = 512;

/// The headers that tell some warnings.
pub(super) fn headers(warnings: impl IntoIterator<Item = impl Display>) -> HeaderMap {
    let mut told: Vec<String> = warnings.into_iter().map(|warning| warning.to_string()).collect();
    if told.len() > WARNINGS_MAX {
        let more = told.split_off(WARNINGS_MAX - 1).len();
        told.push(format!("and {more} more"));
    }
    let values = told.iter().filter_map(|warning| HeaderValue::from_str(&quoted(warning)).ok());
    values.map(|value| (WARNING, value)).collect()
}

/// A quoted string of visible ASCII.
fn quoted(text: &str) -> String {
    let visible = |character: char| if matches!(character, ' '..='~') { character } else { '?' };
    let cut: String = text.chars().take(WARNING_MAX).map(visible).collect();
    format!("299 - \"{}\"", cut.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_one_line_of_ascii() {
        let headers = headers(["spec: \"a\\b\"\r\nSet-Cookie: x", "naïve"]);
        let told: Vec<_> = headers.get_all(WARNING).iter().collect();
        assert_eq!(told, [r#"299 - "spec: \"a\\b\"??Set-Cookie: x""#, r#"299 - "na?ve""#]);
        let many = super::headers(["x"; 20]);
        let last = many.get_all(WARNING).iter().next_back().unwrap();
        assert_eq!((many.len(), last.to_str().unwrap()), (WARNINGS_MAX, "299 - \"and 5 more\""));
    }
}
