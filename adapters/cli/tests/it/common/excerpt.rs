//! Excerpts of output in pages.

use regex::Regex;

/// Checks that each line of an excerpt is in an output, white space apart. `…` stands for any text, and a line of it alone for any lines.
pub(crate) fn assert_excerpt(excerpt: &str, output: &str) {
    let dense = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in excerpt.lines().map(dense).filter(|line| line != "…") {
        let parts: Vec<String> = line.split('…').map(regex::escape).collect();
        let wanted = Regex::new(&format!("^{}$", parts.join(".*"))).unwrap();
        assert!(output.lines().any(|line| wanted.is_match(&dense(line))), "{line}\n{output}");
    }
}
