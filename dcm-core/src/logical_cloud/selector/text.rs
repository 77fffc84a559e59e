//! Label selectors in one line, as Kubernetes' API and `kubectl` take them: `tier=edge,zone in (a, b),!old`.

use std::str::FromStr;

use crate::logical_cloud::draft::{ExpressionDraft, SelectorDraft};
use crate::refusal::{Checks, Path, Refusals};

use super::LabelSelector;

/// A text that is no label selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSelector(String);

impl FromStr for LabelSelector {
    type Err = InvalidSelector;

    /// Reads terms with commas between them, all of which hold: `key`, `!key`, `key=value` (or `==`), `key!=value`, `key in
    /// (value, …)` and `key notin (value, …)`. An empty text has none, and selects all.
    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        let match_expressions = terms(text)?.into_iter().map(term).collect::<Result<_, _>>()?;
        let draft = SelectorDraft { match_expressions, ..SelectorDraft::default() };
        let mut checks = Checks::default();
        let made = Self::check(draft, &Path::root(), &mut checks);
        checks.finish(made).map_err(|refusals: Refusals| {
            let told = refusals.into_iter().map(|one| format!("{} (found {:?})", one.rule, one.value));
            InvalidSelector(told.collect::<Vec<_>>().join("; "))
        })
    }
}

/// The terms of a selector; a comma in parentheses divides values.
fn terms(text: &str) -> Result<Vec<&str>, InvalidSelector> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let (mut terms, mut begin, mut is_open) = (Vec::new(), 0, false);
    for (index, character) in text.char_indices() {
        match (character, is_open) {
            ('(', false) => is_open = true,
            (')', true) => is_open = false,
            ('(' | ')', _) => return Err(malformed(text)),
            (',', false) => {
                terms.push(text[begin..index].trim());
                begin = index + 1;
            }
            _ => {}
        }
    }
    terms.push(text[begin..].trim());
    if is_open || terms.contains(&"") { Err(malformed(text)) } else { Ok(terms) }
}

fn term(text: &str) -> Result<ExpressionDraft, InvalidSelector> {
    let expression = |key: &str, operator: &str, values: Vec<String>| {
        Ok(ExpressionDraft { key: key.trim().to_owned(), operator: operator.to_owned(), values })
    };
    if let Some(key) = text.strip_prefix('!') {
        return expression(key, "DoesNotExist", Vec::new());
    }
    if let Some((key, values)) = text.split_once('(') {
        let values = values.strip_suffix(')').ok_or_else(|| malformed(text))?;
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        return match key.trim().rsplit_once(char::is_whitespace) {
            Some((key, "in")) => expression(key, "In", values),
            Some((key, "notin")) => expression(key, "NotIn", values),
            _ => Err(malformed(text)),
        };
    }
    for (sign, operator) in [("!=", "NotIn"), ("==", "In"), ("=", "In")] {
        if let Some((key, value)) = text.split_once(sign) {
            return expression(key, operator, vec![value.trim().to_owned()]);
        }
    }
    expression(text, "Exists", Vec::new())
}

fn malformed(text: &str) -> InvalidSelector {
    InvalidSelector(format!(
        "a label selector has terms such as tier=edge, zone!=a, zone in (a, b), zone notin (a), tier and !tier (found {text:?})"
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn selectors_are_read_as_kubectl_reads_them() {
        let labels: BTreeMap<String, String> = [("tier", "edge"), ("zone", "a"), ("example.org/new", "")]
            .map(|(key, value)| (key.into(), value.into()))
            .into();
        for (text, selected) in [
            ("", true),
            ("tier=edge", true),
            ("tier == edge , zone=a", true),
            ("tier=edge,zone=b", false),
            ("tier!=core", true),
            ("rack!=x", true),
            ("zone!=a", false),
            ("zone in (a, b)", true),
            ("zone in (b)", false),
            ("zone notin (b,c),tier", true),
            ("tier", true),
            ("rack", false),
            ("!rack", true),
            ("!tier", false),
            ("example.org/new=", true),
        ] {
            assert_eq!(text.parse::<LabelSelector>().unwrap().matches(&labels), selected, "{text}");
        }
    }

    #[test]
    fn what_is_no_selector_is_told() {
        for text in [",", "a,", "a in b", "a in (b", "a)b(", "(a)", "a within (b)", "a b", "-=x", "a=b c"] {
            let told = text.parse::<LabelSelector>().unwrap_err().to_string();
            assert!(told.contains("found"), "{text}: {told}");
        }
    }
}
