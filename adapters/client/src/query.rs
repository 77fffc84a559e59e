//! What is asked for beside a path.

use std::fmt::Display;

/// A query of values that need no escapes: names, numbers, times and truth values.
pub(crate) fn query(values: impl IntoIterator<Item = (&'static str, impl Display)>) -> String {
    let pairs: Vec<String> = values.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_what_is_said_and_no_more() {
        assert_eq!(query(None::<(&str, &str)>), "");
        assert_eq!(query([("a", "1"), ("b", "true")]), "?a=1&b=true");
    }
}
