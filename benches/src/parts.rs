//! What a bench was asked for on its command line.

use anyhow::{Context as _, Result};

use crate::child::CHILD;

/// What a bench is to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// To measure what its parent ordered, in this process.
    Child(String),
    /// To measure these parts; all when there are none.
    Parts(Vec<String>),
    /// Nothing: `cargo test --benches` runs benches too, without optimisation.
    Nothing,
}

impl Asked {
    /// What this process was asked for.
    ///
    /// # Errors
    /// For a child process without an order.
    pub fn read() -> Result<Self> {
        Self::of(std::env::args().skip(1).collect())
    }

    fn of(mut arguments: Vec<String>) -> Result<Self> {
        if arguments.first().is_some_and(|first| first == CHILD) {
            return Ok(Self::Child(arguments.pop().filter(|order| order != CHILD).context("an order")?));
        }
        if !arguments.iter().any(|argument| argument == "--bench") {
            eprintln!("measured by `cargo bench` only");
            return Ok(Self::Nothing);
        }
        arguments.retain(|argument| !argument.starts_with('-'));
        Ok(Self::Parts(arguments))
    }
}

/// True when a part is to be measured.
#[must_use]
pub fn wanted(parts: &[String], part: &str) -> bool {
    parts.is_empty() || parts.iter().any(|wanted| wanted == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str]) -> Result<Asked> {
        Asked::of(arguments.iter().map(|argument| (*argument).to_owned()).collect())
    }

    #[test]
    fn without_parts_all_are_wanted() {
        let Ok(Asked::Parts(parts)) = of(&["--bench"]) else { panic!("parts") };
        assert!(wanted(&parts, "lists"));
        let Ok(Asked::Parts(parts)) = of(&["lists", "--bench"]) else { panic!("parts") };
        assert!(wanted(&parts, "lists") && !wanted(&parts, "engines"));
    }

    #[test]
    fn a_child_has_an_order_and_tests_measure_nothing() {
        assert_eq!(of(&[CHILD, "{}"]).unwrap(), Asked::Child("{}".to_owned()));
        assert!(of(&[CHILD]).is_err());
        assert_eq!(of(&["--nocapture"]).unwrap(), Asked::Nothing);
    }
}
