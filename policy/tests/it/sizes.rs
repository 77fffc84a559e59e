//! Files and functions stay small enough to be read at one go. Lines of code count; blank lines, comments and tests
//! do not.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use dcm_policy::source::Source;
use dcm_policy::{root, tracked_files};

/// A file should have no more than 300 lines of code, and never has more than this.
const FILE_LINES_MAX: usize = 500;

/// A function should have no more than 40 lines, and never has more than this.
const FUNCTION_LINES_MAX: usize = 70;

/// True for files that hold nothing but tests by their place or name.
fn is_for_tests(file: &str) -> bool {
    let path = Path::new(file);
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    path.components().any(|part| part.as_os_str() == "tests") || stem == "tests" || stem.ends_with("_tests")
}

/// The Rust files that are not for tests, without the tests inside.
fn sources() -> Vec<(String, Source)> {
    let files = tracked_files().unwrap_or_else(|error| panic!("{error}"));
    let files: Vec<_> =
        files.into_iter().filter(|file| file.ends_with(".rs") && !is_for_tests(file)).collect();
    let mut sources = Vec::new();
    let mut only_tests = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(root().join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let source = Source::read_without_tests(&text);
        only_tests.extend(source.test_modules().iter().map(|module| module_file(&file, module)));
        sources.push((file, source));
    }
    sources.retain(|(file, _)| !only_tests.contains(file));
    sources
}

/// Where a module lies that `file` declares.
fn module_file(file: &str, module: &str) -> String {
    let path = Path::new(file);
    let folder = match path.file_name().and_then(|name| name.to_str()) {
        Some("lib.rs" | "main.rs" | "mod.rs") => path.parent().unwrap_or(path).to_owned(),
        _ => path.with_extension(""),
    };
    format!("{}/{module}.rs", folder.display())
}

#[test]
fn no_file_is_too_long() {
    let sizes = sources().into_iter().map(|(file, source)| (file, source.code_lines()));
    let long: Vec<_> = sizes.filter(|(_, lines)| *lines > FILE_LINES_MAX).collect();
    assert!(long.is_empty(), "more than {FILE_LINES_MAX} lines of code: {long:#?}");
}

#[test]
fn no_function_is_too_long() {
    let mut long = Vec::new();
    for (file, source) in sources() {
        for function in source.functions().iter().filter(|function| function.code_lines > FUNCTION_LINES_MAX)
        {
            long.push(format!("{file}:{}: {} has {}", function.line, function.name, function.code_lines));
        }
    }
    assert!(long.is_empty(), "more than {FUNCTION_LINES_MAX} lines of code: {long:#?}");
}

#[test]
fn modules_are_looked_for_where_the_compiler_does() {
    assert_eq!(module_file("a/src/b/mod.rs", "c"), "a/src/b/c.rs");
    assert_eq!(module_file("a/src/b.rs", "c"), "a/src/b/c.rs");
    assert_eq!(module_file("a/src/lib.rs", "c"), "a/src/c.rs");
}
