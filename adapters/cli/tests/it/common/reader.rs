//! A reader of the documentation, who types what a page has.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use dcm_testenv::Environment;
use regex::Regex;

use super::{Ran, User};

/// A page of the documentation, by its path in the repository.
pub(crate) fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// The blocks of code in a page: the words after the fence, and the text.
pub(crate) fn blocks(page: &str) -> Vec<(&str, &str)> {
    let within = page.split("\n```").skip(1).step_by(2);
    within.map(|block| block.split_once('\n').unwrap()).collect()
}

/// Puts `dcm` and `kubectl` into the reader's folder of programs.
pub(crate) fn install(user: &User, environment: &Environment) {
    let programs = user.home().join("bin");
    std::fs::create_dir(&programs).unwrap();
    symlink(env!("CARGO_BIN_EXE_dcm"), programs.join("dcm")).unwrap();
    symlink(environment.kubectl(), programs.join("kubectl")).unwrap();
}

/// Runs lines of a shell in the reader's home folder, to the first that fails.
pub(crate) fn run(user: &User, lines: &str) -> Ran {
    let path = format!("{}:/usr/bin:/bin", user.home().join("bin").display());
    let mut shell = Command::new("bash");
    shell.args(["-e", "-o", "pipefail", "-c", lines]).env_clear().env("HOME", user.home()).env("PATH", path);
    Ran::of(shell.current_dir(user.home()).stdin(Stdio::null()).output().unwrap())
}

/// Checks that each line of an excerpt is in an output, white space apart. `…` stands for any text, and a line of it alone for any lines.
pub(crate) fn assert_excerpt(excerpt: &str, output: &str) {
    let dense = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rest = output.lines().map(dense);
    for line in excerpt.lines().map(dense).filter(|line| line != "…") {
        let parts: Vec<String> = line.split('…').map(regex::escape).collect();
        let wanted = Regex::new(&format!("^{}$", parts.join(".*"))).unwrap();
        assert!(rest.any(|line| wanted.is_match(&line)), "not in this order: {line}\n{output}");
    }
}
