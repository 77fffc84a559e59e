//! The known name that is most similar to an unknown one, for messages that ask "did you mean …?".

/// Least similarity (Jaro-Winkler, 0 to 1) of a name that is suggested. At 0.9 a letter may be missing, doubled, wrong or out of
/// place; `namespace` is not suggested for `name`, with 0.889.
const SIMILARITY_MIN: f64 = 0.9;

/// Returns the most similar of the known names; none where no name is similar enough. Case, `-` and `_` make no difference, so
/// `cluster_selector` is similar to `clusterSelector`.
#[must_use]
pub fn most_similar<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = folded(unknown);
    let rated = known.into_iter().map(|name| (strsim::jaro_winkler(&wanted, &folded(name)), name));
    let best = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(similarity, _)| *similarity >= SIMILARITY_MIN).map(|(_, name)| name)
}

/// Returns the question that ends a message: `; did you mean users?`, or nothing where no known name is similar enough.
#[must_use]
pub fn did_you_mean<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    most_similar(unknown, known).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

fn folded(name: &str) -> String {
    name.chars().filter(|character| !matches!(character, '-' | '_')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_another_word_is_not() {
        let known = ["name", "users", "permissions", "clusterSelector", "quotas"];
        for (unknown, expected) in [
            ("user", Some("users")),
            ("permision", Some("permissions")),
            ("cluster_selector", Some("clusterSelector")),
            ("CLUSTERSELECTOR", Some("clusterSelector")),
            ("qoutas", Some("quotas")),
            ("namespace", None),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(most_similar(unknown, known), expected, "{unknown}");
        }
        assert_eq!(most_similar("users", []), None);
        assert_eq!(did_you_mean("user", known), "; did you mean users?");
        assert_eq!(did_you_mean("colour", known), "");
    }
}
