//! Label selectors: which registered clusters a logical cloud is in, and what of a list is asked for.

mod text;

use std::collections::{BTreeMap, BTreeSet};

use crate::name::is_label_value;
use crate::refusal::{Checks, Path};

use super::draft::{ExpressionDraft, SelectorDraft};
use super::labels::{LABEL_VALUE_RULE, QUALIFIED_NAME_RULE, is_qualified_name};
use super::limits::{SELECTOR_TERMS_MAX, SELECTOR_VALUES_MAX};
pub use text::InvalidSelector;

/// Selects clusters and other things by their labels, with the meaning that Kubernetes gives to label selectors: one is selected
/// when all terms hold, so a selector without terms selects all. The order of terms means nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector {
    match_labels: BTreeMap<String, String>,
    match_expressions: BTreeSet<Expression>,
}

/// One term of a selector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Expression {
    key: String,
    operator: Operator,
}

/// What a term asks of the label with its key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Operator {
    /// It is there, with one of these values.
    In(BTreeSet<String>),
    /// It isn't there, or has none of these values.
    NotIn(BTreeSet<String>),
    /// It is there.
    Exists,
    /// It isn't there.
    DoesNotExist,
}

impl LabelSelector {
    /// True when what has these labels is selected.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|expression| expression.holds(labels))
    }

    /// True when this has all terms of another selector, so that it selects nothing that the other one does not.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        let labels = |(key, value): (&String, &String)| self.match_labels.get(key) == Some(value);
        other.match_labels.iter().all(labels) && other.match_expressions.is_subset(&self.match_expressions)
    }

    /// Checks a selector at a path; makes nothing only if it refuses something.
    pub(super) fn check(draft: SelectorDraft, at: &Path, checks: &mut Checks) -> Option<Self> {
        let before = checks.count();
        if draft.match_labels.len() + draft.match_expressions.len() > SELECTOR_TERMS_MAX {
            checks.refuse(at, "", format!("must have at most {SELECTOR_TERMS_MAX} terms"));
            return None;
        }
        for (key, value) in &draft.match_labels {
            let at = at.field("matchLabels").key(key);
            check_key(key, &at, checks);
            check_value(value, &at, checks);
        }
        let mut match_expressions = BTreeSet::new();
        for (index, expression) in draft.match_expressions.into_iter().enumerate() {
            let at = at.field("matchExpressions").item(index);
            match_expressions.extend(Expression::check(expression, &at, checks));
        }
        (checks.count() == before).then_some(Self { match_labels: draft.match_labels, match_expressions })
    }
}

impl Expression {
    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let found = labels.get(&self.key);
        match &self.operator {
            Operator::In(values) => found.is_some_and(|value| values.contains(value)),
            Operator::NotIn(values) => found.is_none_or(|value| !values.contains(value)),
            Operator::Exists => found.is_some(),
            Operator::DoesNotExist => found.is_none(),
        }
    }

    fn check(draft: ExpressionDraft, at: &Path, checks: &mut Checks) -> Option<Self> {
        let before = checks.count();
        let ExpressionDraft { key, operator, values } = draft;
        check_key(&key, &at.field("key"), checks);
        let at_values = at.field("values");
        if values.len() > SELECTOR_VALUES_MAX {
            checks.refuse(&at_values, "", format!("must have at most {SELECTOR_VALUES_MAX} entries"));
            return None;
        }
        for (index, value) in values.iter().enumerate() {
            check_value(value, &at_values.item(index), checks);
        }
        let takes_values = matches!(operator.as_str(), "In" | "NotIn");
        let values: BTreeSet<String> = values.into_iter().collect();
        let made = match operator.as_str() {
            "In" => Some(Operator::In(values.clone())),
            "NotIn" => Some(Operator::NotIn(values.clone())),
            "Exists" => Some(Operator::Exists),
            "DoesNotExist" => Some(Operator::DoesNotExist),
            other => {
                let rule = "must be In, NotIn, Exists or DoesNotExist";
                checks.refuse(&at.field("operator"), other, rule);
                None
            }
        };
        if made.is_some() && takes_values == values.is_empty() {
            let rule = if takes_values {
                "must not be empty for In and NotIn"
            } else {
                "must be empty for Exists and DoesNotExist"
            };
            checks.refuse(&at_values, "", rule);
        }
        let operator = made?;
        (checks.count() == before).then_some(Self { key, operator })
    }
}

fn check_key(key: &str, at: &Path, checks: &mut Checks) {
    if !is_qualified_name(key) {
        checks.refuse(at, key, QUALIFIED_NAME_RULE);
    }
}

fn check_value(value: &str, at: &Path, checks: &mut Checks) {
    if !value.is_empty() && !is_label_value(value) {
        checks.refuse(at, value, LABEL_VALUE_RULE);
    }
}

impl From<LabelSelector> for SelectorDraft {
    fn from(selector: LabelSelector) -> Self {
        let expression = |Expression { key, operator }| {
            let (operator, values) = match operator {
                Operator::In(values) => ("In", values),
                Operator::NotIn(values) => ("NotIn", values),
                Operator::Exists => ("Exists", BTreeSet::new()),
                Operator::DoesNotExist => ("DoesNotExist", BTreeSet::new()),
            };
            ExpressionDraft { key, operator: operator.to_owned(), values: values.into_iter().collect() }
        };
        Self {
            match_labels: selector.match_labels,
            match_expressions: selector.match_expressions.into_iter().map(expression).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn selector(draft: Value) -> Result<LabelSelector, Vec<String>> {
        let draft = serde_json::from_value(draft).unwrap();
        crate::logical_cloud::checked(|checks| LabelSelector::check(draft, &Path::root(), checks))
            .map_err(|refusals| refusals.into_iter().map(|refusal| refusal.path).collect())
    }

    fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
        json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
    }

    #[test]
    fn a_cluster_is_selected_when_all_terms_hold() {
        let edge = json!({"site": "edge", "zone": "a"});
        let both = json!({"matchLabels": {"site": "edge"},
            "matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["b"]}]});
        for (draft, labels, selected) in [
            (json!({}), json!({}), true),
            (json!({}), edge.clone(), true),
            (json!({"matchLabels": {"site": "edge"}}), edge.clone(), true),
            (json!({"matchLabels": {"site": "core"}}), edge.clone(), false),
            (json!({"matchLabels": {"site": "edge", "zone": "b"}}), edge.clone(), false),
            (json!({"matchLabels": {"site": ""}}), json!({}), false),
            (json!({"matchLabels": {"site": ""}}), json!({"site": ""}), true),
            (expression("zone", "In", &["a", "b"]), edge.clone(), true),
            (expression("zone", "In", &["b"]), edge.clone(), false),
            (expression("rack", "In", &["a"]), edge.clone(), false),
            (expression("zone", "NotIn", &["b"]), edge.clone(), true),
            (expression("zone", "NotIn", &["a"]), edge.clone(), false),
            (expression("rack", "NotIn", &["a"]), edge.clone(), true),
            (expression("zone", "Exists", &[]), edge.clone(), true),
            (expression("rack", "Exists", &[]), edge.clone(), false),
            (expression("zone", "DoesNotExist", &[]), edge.clone(), false),
            (expression("rack", "DoesNotExist", &[]), edge.clone(), true),
            (both.clone(), edge, true),
            (both, json!({"site": "edge", "zone": "b"}), false),
        ] {
            let labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap();
            assert_eq!(selector(draft.clone()).unwrap().matches(&labels), selected, "{draft} {labels:?}");
        }
    }

    #[test]
    fn what_kubernetes_would_refuse_is_refused_at_its_field() {
        let terms: Vec<Value> = (0..=SELECTOR_TERMS_MAX)
            .map(|index| json!({"key": format!("k{index}"), "operator": "Exists"}))
            .collect();
        for (draft, paths) in [
            (json!({"matchLabels": {"a b": "c"}}), vec![r#"matchLabels["a b"]"#]),
            (json!({"matchLabels": {"a": "-"}}), vec![r#"matchLabels["a"]"#]),
            (expression("a", "in", &["b"]), vec!["matchExpressions[0].operator"]),
            (expression("a", "In", &[]), vec!["matchExpressions[0].values"]),
            (expression("a", "NotIn", &[]), vec!["matchExpressions[0].values"]),
            (expression("a", "Exists", &["b"]), vec!["matchExpressions[0].values"]),
            (
                expression("/", "In", &["a", "b c"]),
                vec!["matchExpressions[0].key", "matchExpressions[0].values[1]"],
            ),
            (json!({"matchExpressions": terms}), vec![""]),
        ] {
            assert_eq!(selector(draft.clone()).unwrap_err(), paths, "{draft}");
        }
    }

    #[test]
    fn the_order_of_terms_and_values_means_nothing() {
        let one = json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}, {"key": "b", "operator": "Exists"}]});
        let other = json!({"matchExpressions": [{"key": "b", "operator": "Exists"}, {"key": "a", "operator": "In", "values": ["y", "x", "y"]}]});
        assert_eq!(selector(one), selector(other));
    }
}
