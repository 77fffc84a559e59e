//! What a server accepts and warns of (`Warning: 299 - "text"`).

use http::HeaderMap;
use http::header::WARNING;

/// The texts of all warnings.
pub(crate) fn warnings(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(WARNING).iter();
    values.filter_map(|value| text(value.to_str().ok()?)).collect()
}

fn text(value: &str) -> Option<String> {
    let quoted = value.strip_prefix("299 - \"")?.strip_suffix('"')?;
    let mut text = String::with_capacity(quoted.len());
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        text.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_read_as_it_was_meant() {
        let told = text(r#"299 - "second is left out: \"no\" \\ yet""#);
        assert_eq!(told.as_deref(), Some(r#"second is left out: "no" \ yet"#));
        assert_eq!(text("110 - stale"), None);
    }
}
