//! No parser panics, whatever is sent: each takes the first inputs of its fuzz target (`fuzz/first`) as they are, and a bounded number of
//! changed ones.
//!
//! The changes are the same in each run. `DCM_PROVE=all` tries more of them, and chooses them by chance; `DCM_SEED` repeats such a run.
//! `scripts/fuzz` does so for longer, and knows which changes lead to new code.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use dcm_rest::parsers::{self, Parser};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// How many changed inputs each parser is given by default.
const CASES: u32 = 2_000;

/// How many with `DCM_PROVE=all`.
const CASES_ALL: u32 = 50_000;

/// The seed of the changes by default.
const SEED: u64 = 1;

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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(name)
}

/// The names in a folder, in order; those of files without their ending.
fn names_in(name: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// The first inputs of a parser, by the names of their files.
fn first(name: &str) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder("first").join(name)).unwrap().map(|file| file.unwrap());
    let inputs: BTreeMap<_, _> = files
        .map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap()))
        .collect();
    assert!(!inputs.is_empty(), "fuzz/first/{name} has no inputs");
    inputs
}

#[test]
fn no_parser_panics_at_its_first_inputs() {
    let mut failed = Vec::new();
    for (name, parse) in parsers::ALL {
        let inputs = first(name);
        println!("{name}: {} inputs", inputs.len());
        let panics = inputs.into_iter().filter(|(_, input)| catch_unwind(|| parse(input)).is_err());
        failed.extend(panics.map(|(file, _)| format!("fuzz/first/{name}/{file}")));
    }
    assert!(failed.is_empty(), "parsers panic at {failed:#?}");
}

/// How many changed inputs each parser is given, and the seed of the changes.
fn effort() -> (u32, u64) {
    let is_all = std::env::var("DCM_PROVE").is_ok_and(|value| value == "all");
    let seed = match std::env::var("DCM_SEED") {
        Ok(seed) => seed.parse().expect("DCM_SEED is a number"),
        // The hash of nothing differs by the keys of the hasher, which are random.
        Err(_) if is_all => RandomState::new().build_hasher().finish(),
        Err(_) => SEED,
    };
    (if is_all { CASES_ALL } else { CASES }, seed)
}

#[test]
fn no_parser_panics_whatever_is_changed() {
    let (cases, seed) = effort();
    println!("seed {seed}; to repeat: DCM_SEED={seed}");
    for (name, parse) in parsers::ALL {
        let texts: Vec<_> = first(name).into_values().collect();
        let changed = (prop::sample::select(texts), prop::collection::vec(change(), 1..12));
        let rng_seed = RngSeed::Fixed(seed);
        let config = Config { cases, rng_seed, failure_persistence: None, ..Config::default() };
        let outcome = TestRunner::new(config).run(&changed, |(text, changes)| {
            parse(&changes.iter().fold(text, |text, change| change.made(text)));
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{name}, DCM_SEED={seed}: {error}");
        }
    }
}

#[test]
fn every_parser_has_a_fuzz_target_and_first_inputs() {
    let mut names: Vec<&str> = parsers::ALL.iter().map(|(name, _): &Parser| *name).collect();
    names.sort_unstable();
    assert_eq!(names_in("fuzz_targets"), names);
    assert_eq!(names_in("first"), names);
}
