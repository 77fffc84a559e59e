//! What is asked for beside a path.

use std::fmt::Display;

use form_urlencoded::Serializer;

/// A query of these values.
pub(crate) fn query(values: impl IntoIterator<Item = (&'static str, impl Display)>) -> String {
    let mut pairs = Serializer::new(String::new());
    for (name, value) in values {
        pairs.append_pair(name, &value.to_string());
    }
    match pairs.finish() {
        none if none.is_empty() => none,
        some => format!("?{some}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_what_is_said_and_no_more() {
        assert_eq!(query(None::<(&str, &str)>), "");
        assert_eq!(query([("a", "1"), ("b", "x & y")]), "?a=1&b=x+%26+y");
    }
}
