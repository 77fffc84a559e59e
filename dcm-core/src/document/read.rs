//! From bytes to JSON values, one a document.

use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DuplicateKeyPolicy, Error, MergeKeyPolicy, NonFiniteFloatPolicy, Options};

use super::outline::EVENTS_MAX;
use super::refused::{Place, RefusedText, Unreadable};
use super::{Limits, NODES_MAX};

/// Takes a text that is not too large, in UTF-8.
pub(super) fn utf8<'a>(text: &'a [u8], limits: &Limits) -> Result<&'a str, RefusedText> {
    if text.len() > limits.text_bytes_max {
        let rule = format!("the text must be at most {} bytes long", limits.text_bytes_max);
        return Err(RefusedText::of_text(Place::START, &rule));
    }
    std::str::from_utf8(text).map_err(|error| {
        let before = String::from_utf8_lossy(&text[..error.valid_up_to()]);
        let line = 1 + before.matches('\n').count() as u64;
        let column = 1 + before.chars().rev().take_while(|character| *character != '\n').count() as u64;
        RefusedText::of_text(Place { line, column }, "the text must be UTF-8")
    })
}

/// Reads the documents of a text, each as its items when it is a list and as one value when not. Empty ones are passed
/// over. After one that breaks the syntax there is none.
pub(super) fn documents(
    text: &str,
    limits: &Limits,
) -> Result<Vec<Result<Vec<Value>, Unreadable>>, RefusedText> {
    let mut reader = text.as_bytes();
    let mut documents = Vec::new();
    let mut count = 0;
    for read in serde_saphyr::read_with_options::<_, Value>(&mut reader, options(limits)) {
        let read = read.map_err(|error| unreadable(&error, limits)).map(|value| match value {
            Value::Array(items) => items,
            value => vec![value],
        });
        count += read.as_ref().map_or(1, Vec::len);
        if count > limits.documents_max {
            let rule = format!("the text must hold at most {} documents", limits.documents_max);
            return Err(RefusedText::of_text(Place::START, &rule));
        }
        documents.push(read);
    }
    Ok(documents)
}

fn options(limits: &Limits) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: None,
            max_depth: limits.depth_max,
            max_nodes: NODES_MAX,
            max_events: EVENTS_MAX,
            max_recorded_anchor_events: limits.aliased_nodes_max,
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: limits.aliased_nodes_max },
        emit_comments: false,
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        with_snippet: false,
    }
}

/// Says in our own words what is wrong: the reader's messages quote what they don't like.
fn unreadable(error: &Error, limits: &Limits) -> Unreadable {
    let place = error.location().map_or(Place::START, |location| Place {
        line: location.line().max(1),
        column: location.column().max(1),
    });
    let mut cause = error;
    while let Error::AliasError { error, .. } | Error::WithSnippet { error, .. } = cause {
        cause = error;
    }
    let rule = match cause {
        Error::DuplicateMappingKey { .. } => "has a key twice".to_owned(),
        Error::MergeKeyNotAllowed { .. } => "must not have merge keys (<<): write the fields out".to_owned(),
        Error::UnsupportedTag { .. } => "must not have tags (!…)".to_owned(),
        Error::NonFiniteFloat { .. } => "must be a finite number, or a text in quotes".to_owned(),
        Error::UnknownAnchor { .. } => "names an anchor (&…) that isn't there".to_owned(),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::Budget {
            breach:
                BudgetBreach::Aliases { .. }
                | BudgetBreach::Anchors { .. }
                | BudgetBreach::RecordedAnchorEvents { .. }
                | BudgetBreach::RecordedAnchorBytes { .. },
            ..
        } => {
            format!("must have aliases (*…) for at most {} nodes in all", limits.aliased_nodes_max)
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            format!("must be nested at most {} deep", limits.depth_max)
        }
        Error::Budget { .. } => format!("must have at most {NODES_MAX} nodes"),
        _ => return Unreadable { place, rule: None },
    };
    Unreadable { place, rule: Some(rule) }
}
