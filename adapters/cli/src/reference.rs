//! `docs/cli.md`, which is generated from the command line.

use clap_markdown::{MarkdownOptions, help_markdown_command_custom};

use crate::arguments::Arguments;

/// Set to write the page instead of comparing it.
const REGENERATE: &str = "DCM_REGENERATE_CLI";

/// The first sentence of the generator, and ours.
const GENERATED: &str = "This document contains the help content for the `dcm` command-line program.";
const INTRODUCTION: &str = "Each command with its options and an example, as `--help` shows them. Each command takes the options of `dcm` \
                            itself, too.";

fn page() -> String {
    let options = MarkdownOptions::new().title("The command line".to_owned()).show_footer(false);
    let page = help_markdown_command_custom(&Arguments::described(), &options);
    let page = page.replace(GENERATED, INTRODUCTION);
    let lines: Vec<&str> = page.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned() + "\n"
}

#[test]
fn the_page_of_the_command_line_is_generated_from_it() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
    let page = page();
    if std::env::var_os(REGENERATE).is_some() {
        std::fs::write(file, &page).unwrap();
    }
    let written = std::fs::read_to_string(file).unwrap_or_default();
    assert!(written == page, "docs/cli.md is out of date: run this test with {REGENERATE}=1");
}
