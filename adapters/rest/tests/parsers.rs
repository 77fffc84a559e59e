//! Whatever is sent, no parser panics: known bodies are changed at random, a bounded number of times.
//!
//! `scripts/check-fuzz` does so for longer, and knows which changes lead to new code.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::path::{Path, PathBuf};

use dcm_rest::parsers::{self, Parser};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// How many changed bodies each parser is given.
const CASES: u32 = 2000;

/// Texts that mean something to some parser.
const WORDS: [&str; 24] = [
    "null",
    "true",
    "-1",
    "1e999",
    "18446744073709551616",
    "\"\"",
    "{}",
    "[]",
    "\\u0000",
    "\\ud800",
    "&a ",
    "*a",
    "!!binary ",
    "<<: ",
    "---\n",
    "|\n",
    "\u{feff}",
    "\r\n--x",
    "--",
    "%00",
    "=",
    ",",
    "'",
    "é",
];

/// A change of a text.
#[derive(Debug, Clone)]
enum Change {
    Cut { at: usize, bytes: usize },
    Put { at: usize, word: &'static str },
    Set { at: usize, byte: u8 },
    Again { at: usize, bytes: usize, times: usize },
}

fn change() -> impl Strategy<Value = Change> {
    let place = 0usize..4096;
    prop_oneof![
        (place.clone(), 1usize..64).prop_map(|(at, bytes)| Change::Cut { at, bytes }),
        (place.clone(), prop::sample::select(&WORDS[..])).prop_map(|(at, word)| Change::Put { at, word }),
        (place.clone(), any::<u8>()).prop_map(|(at, byte)| Change::Set { at, byte }),
        (place, 1usize..32, 1usize..300).prop_map(|(at, bytes, times)| Change::Again { at, bytes, times }),
    ]
}

impl Change {
    fn made(&self, mut text: Vec<u8>) -> Vec<u8> {
        let length = text.len().max(1);
        let end = |at: usize, bytes: usize| (at + bytes).min(text.len());
        match *self {
            Self::Cut { at, bytes } => {
                let at = at % length;
                text.drain(at.min(text.len())..end(at, bytes));
            }
            Self::Put { at, word } => {
                let at = (at % length).min(text.len());
                text.splice(at..at, word.bytes());
            }
            Self::Set { at, byte } => {
                if let Some(old) = text.get_mut(at % length) {
                    *old = byte;
                }
            }
            Self::Again { at, bytes, times } => {
                let at = (at % length).min(text.len());
                let piece = text[at..end(at, bytes)].repeat(times);
                text.splice(at..at, piece);
            }
        }
        text
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/first").join(name)
}

/// What a parser is given first, each text as it is.
fn first(name: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder(name)).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn no_parser_panics_whatever_is_changed() {
    for (name, parse) in parsers::ALL {
        let texts = first(name);
        assert!(!texts.is_empty(), "{name}");
        texts.iter().for_each(|text| parse(text));
        let changed = (prop::sample::select(texts), prop::collection::vec(change(), 1..12));
        let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
        let outcome = TestRunner::new(config).run(&changed, |(text, changes)| {
            parse(&changes.iter().fold(text, |text, change| change.made(text)));
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{name}: {error}");
        }
    }
}

#[test]
fn every_parser_has_a_fuzz_target() {
    let file = |file: PathBuf| file.file_stem().unwrap().to_str().unwrap().to_owned();
    let targets = std::fs::read_dir(folder("../fuzz_targets")).unwrap();
    let mut targets: Vec<String> = targets.map(|target| file(target.unwrap().path())).collect();
    targets.sort();
    let mut names: Vec<&str> = parsers::ALL.iter().map(|(name, _): &Parser| *name).collect();
    names.sort_unstable();
    assert_eq!(targets, names);
}
