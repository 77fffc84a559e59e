//! The words of a cluster, and what the members of a project read of a failure.
//!
//! A message or an error of a connection can name what a tenant must not learn: hosts, certificates and webhooks of the operators, or
//! whatever is at an address that a cluster registrar chose. So members read a sentence of ours for each kind of failure
//! ([`Error::sentence`]). Of an answer they read one part, the [rule](Answer::rule) that their own object breaks, and only where the
//! request wrote that object ([`Error::sentence_of_write`]).

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::cluster::Error;
use crate::causes::{self, Reader};

/// Longest [rule](Answer::rule), in characters: a cluster can answer with anything.
pub const RULE_CHARS_MAX: usize = 768;

/// What a rule ends with that was longer.
const CUT: char = '…';

/// What a cluster answered to a request that it refused, or did not fulfil.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    text: String,
    rule: Option<String>,
    is_foreign: bool,
}

impl Answer {
    /// The answer of a server that does not answer as Kubernetes does.
    #[must_use]
    pub fn foreign(text: impl Into<String>) -> Self {
        Self { text: text.into(), rule: None, is_foreign: true }
    }

    /// An answer that is itself the rule that the object breaks.
    #[must_use]
    pub fn of_rule(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { rule: Some(clean(&text)), text, is_foreign: false }
    }

    /// The same answer, which names the rule that the object breaks: without control characters, and at most [`RULE_CHARS_MAX`] long.
    #[must_use]
    pub fn with_rule(self, rule: Option<&str>) -> Self {
        Self { rule: rule.map(clean), ..self }
    }

    /// The rule that the object of the request breaks, with the field of its manifest or the limit of its namespace.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        self.rule.as_deref()
    }

    /// True if a server answered that does not answer as Kubernetes does, such as a proxy.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.is_foreign
    }
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for Answer {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Deref for Answer {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One line of bounded length, without characters that control a terminal or the direction of writing.
#[must_use]
pub fn clean(text: &str) -> String {
    let is_direction = |character: char| matches!(character, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown =
        |character: char| if character.is_control() || is_direction(character) { ' ' } else { character };
    let mut shown = text.chars().map(shown);
    let mut line: String = shown.by_ref().take(RULE_CHARS_MAX - 1).collect();
    if shown.next().is_some() {
        line.push(CUT);
    }
    line
}

impl Error {
    /// What happened, as the members of a project read it: one of a closed set of sentences. It contains nothing that a server answered,
    /// and nothing of a connection or a kubeconfig.
    #[must_use]
    pub fn sentence(&self) -> String {
        let sentence = match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } => "the cluster can't be reached",
            Self::Unauthorized { .. } => "the cluster does not accept the engine's credential",
            Self::Kubeconfig { .. } => "the kubeconfig of the cluster can't be used",
            Self::Moved => "the kubeconfig of the cluster leads to another endpoint than the accepted one",
            Self::Forbidden { .. } => "the cluster does not allow this",
            Self::Invalid { .. } => "the cluster refuses this",
            Self::FieldConflict { .. } => "another field manager holds a field",
            Self::Server { .. } => "the cluster failed",
            Self::NotFound
            | Self::UnknownKind { .. }
            | Self::AlreadyExists
            | Self::Conflict
            | Self::Gone
            | Self::TooManyRequests { .. }
            | Self::Unsupported { .. } => return self.to_string(),
        };
        sentence.to_owned()
    }

    /// The [sentence](Self::sentence) about a write of an object of the project's own, with the rule that the object breaks, if the cluster
    /// named one.
    #[must_use]
    pub fn sentence_of_write(&self) -> String {
        match self {
            Self::Forbidden { message } | Self::Invalid { message } => match message.rule() {
                Some(rule) => format!("{}: {rule}", self.sentence()),
                None => self.sentence(),
            },
            Self::FieldConflict { .. } => clean(&self.to_string()),
            _ => self.sentence(),
        }
    }

    /// The [sentence](Self::sentence), or all details.
    #[must_use]
    pub fn words_for(&self, reader: Reader) -> String {
        match reader {
            Reader::Member => self.sentence(),
            Reader::PlatformAdmin => causes::told(self),
        }
    }

    /// The [sentence about a write](Self::sentence_of_write), or all details.
    #[must_use]
    pub fn words_of_write_for(&self, reader: Reader) -> String {
        match reader {
            Reader::Member => self.sentence_of_write(),
            Reader::PlatformAdmin => causes::told(self),
        }
    }

    /// The error of a request for the identity of a cluster. Until an address has answered as Kubernetes does, all that fails there is one
    /// error, [`Self::Unreachable`]: whether a port is open at an address, and which protocol it speaks, is for operators alone.
    #[must_use]
    pub fn of_identity(self) -> Self {
        match &self {
            Self::Unauthorized { message } | Self::Forbidden { message } if !message.is_foreign() => self,
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Kubeconfig { .. } | Self::Moved => self,
            _ => Self::Unreachable { source: Arc::new(self) },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::manifest::GroupVersionKind;

    const WORDS: &str = "hunter2";

    /// One of each kind of error, with words of a server wherever one can put some.
    fn each() -> Vec<Error> {
        let message = || Answer::from(WORDS);
        vec![
            Error::Unreachable { source: Arc::new(std::io::Error::other(WORDS)) },
            Error::TimedOut { limit: Duration::from_secs(30) },
            Error::Unauthorized { message: message() },
            Error::Forbidden { message: message() },
            Error::NotFound,
            Error::UnknownKind { kind: GroupVersionKind::new("a", "v1", "B") },
            Error::AlreadyExists,
            Error::Conflict,
            Error::FieldConflict { manager: WORDS.into(), field: WORDS.into() },
            Error::Gone,
            Error::Invalid { message: message() },
            Error::TooManyRequests { retry_after: None },
            Error::Server { code: 500, message: message() },
            Error::Unsupported { what: "a dry run".into() },
            Error::Kubeconfig { reason: WORDS.into() },
            Error::Moved,
        ]
    }

    #[test]
    fn a_sentence_has_no_words_of_a_server() {
        for error in each() {
            assert!(!error.sentence().contains(WORDS), "{error:?}");
            let is_held = matches!(error, Error::FieldConflict { .. });
            assert_eq!(error.sentence_of_write().contains(WORDS), is_held, "{error:?}");
        }
    }

    #[test]
    fn whatever_is_not_reached_has_one_sentence() {
        let unreached = |error: &&Error| matches!(error, Error::Unreachable { .. } | Error::TimedOut { .. });
        let errors = each();
        let sentences: Vec<_> = errors.iter().filter(unreached).map(Error::sentence).collect();
        assert_eq!(sentences, ["the cluster can't be reached"; 2]);
    }

    #[test]
    fn a_rule_is_one_bounded_line_and_stands_at_a_write_alone() {
        let message = Answer::from("all").with_rule(Some("spec.a:\n\u{1b}[31m\u{202e}no"));
        let error = Error::Invalid { message };
        assert_eq!(error.sentence_of_write(), "the cluster refuses this: spec.a:  [31m no");
        assert_eq!(error.sentence(), "the cluster refuses this");
        let long = Answer::of_rule("é".repeat(RULE_CHARS_MAX + 1));
        let rule = long.rule().unwrap();
        assert!(rule.ends_with(CUT) && rule.chars().count() == RULE_CHARS_MAX, "{rule}");
        assert_eq!(
            Answer::of_rule("é".repeat(RULE_CHARS_MAX - 1)).rule().unwrap().chars().count(),
            RULE_CHARS_MAX - 1
        );
    }
}
