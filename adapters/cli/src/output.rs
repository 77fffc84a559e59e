//! What the command prints as its result, on standard output: tables for people, JSON and YAML for programs.

use std::borrow::Cow;
use std::io::{self, Write as _};

use anyhow::Context as _;
use comfy_table::{Table, presets};
use dcm_core::manifest::is_unprintable;
use serde::Serialize;

/// The form of results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Columns, or a tree, for people.
    #[default]
    Table,
    /// The same with more columns and every object.
    Wide,
    /// Indented JSON.
    Json,
    /// YAML.
    Yaml,
}

impl Format {
    /// The form for programs, when one was asked for.
    pub(crate) fn for_programs(self) -> Option<Notation> {
        match self {
            Self::Table | Self::Wide => None,
            Self::Json => Some(Notation::Json),
            Self::Yaml => Some(Notation::Yaml),
        }
    }
}

/// A notation of structured values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// Indented JSON.
    Json,
    /// YAML.
    Yaml,
}

impl Notation {
    /// A value as text, ending in a line break.
    pub(crate) fn write<T: Serialize>(self, value: &T) -> anyhow::Result<String> {
        let mut text = match self {
            Self::Json => {
                serde_json::to_string_pretty(value).context("the result can't be written as JSON")?
            }
            Self::Yaml => dcm_core::yaml::write(value).context("the result can't be written as YAML")?,
        };
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text)
    }
}

/// Stands between two documents of a stream of YAML.
pub(crate) const NEXT_DOCUMENT: &str = "---\n";

/// Whoever reads standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// May read more.
    There,
    /// Went away: it has read enough.
    Gone,
}

/// Prints a text as it is, and says whether anybody is there to read more.
///
/// # Errors
/// When standard output can't be written. That its reader went away is no error.
pub(crate) fn print_on(text: &str) -> anyhow::Result<Reader> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error).context("standard output can't be written"),
    }
}

/// Prints a text as it is, where nothing is printed after it or what follows is done all the same.
///
/// # Errors
/// Those of [`print_on`].
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    print_on(text).map(drop)
}

/// Prints a text with colours where standard output shows them: on terminals, unless `NO_COLOR` is set (also `CLICOLOR`
/// and `CLICOLOR_FORCE` are heeded).
///
/// # Errors
/// Those of [`print_on`].
pub(crate) fn print_painted(text: &str) -> anyhow::Result<()> {
    match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => print(&anstream::adapter::strip_str(text).to_string()),
        _ => print(text),
    }
}

/// Prints a value in the form for programs, or what people read.
pub(crate) fn print_either<T: Serialize>(
    format: Format,
    value: &T,
    for_people: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    match format.for_programs() {
        Some(notation) => print(&notation.write(value)?),
        None => print(&for_people()),
    }
}

/// Columns of texts, each as wide as it needs, ending in a line break.
pub(crate) fn columns<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    table(head.into_iter().map(str::to_owned), rows)
}

/// The same where the number of columns is known only when it is asked for.
pub(crate) fn table<R: IntoIterator<Item = String>>(
    head: impl IntoIterator<Item = String>,
    rows: impl IntoIterator<Item = R>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head);
    for row in rows {
        table.add_row(row.into_iter().map(|cell| visible(&cell).into_owned()));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A text with the characters that a terminal obeys written out. Tenants give names and reasons, clusters give causes, and whoever reads
/// them has more rights than either: none of them moves a cursor, changes a colour or turns a line around.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return text.into();
    }
    let written = |character: char| match is_unprintable(character) {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    text.chars().map(written).collect::<String>().into()
}

/// Says something on standard error, beside the result. It may have several lines.
pub(crate) fn note(text: impl std::fmt::Display) {
    let text = text.to_string();
    let lines: Vec<_> = text.split('\n').map(visible).collect();
    // Nobody reads it when standard error is gone; the result does not depend on it.
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_need_and_have_no_frames() {
        let rows = [["a", "long value"], ["longer", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(columns(["NAME", "VALUE"], rows), "NAME    VALUE\na       long value\nlonger\n");
    }

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        for (text, shown) in [
            ("ä: 5 → 6", "ä: 5 → 6"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\nb\rc", "a\\nb\\rc"),
            ("\u{9b}1m\u{7f}", "\\u{9b}1m\\u{7f}"),
            ("\u{202e}evil\u{2069}", "\\u{202e}evil\\u{2069}"),
        ] {
            assert_eq!(visible(text), shown);
        }
        let row = [["a".to_owned(), "two\nlines\u{1b}[31m".to_owned()]];
        assert_eq!(columns(["NAME", "WHY"], row), "NAME  WHY\na     two\\nlines\\u{1b}[31m\n");
    }

    #[test]
    fn each_notation_ends_with_one_line_break() {
        let value = serde_json::json!({"a": [1]});
        assert_eq!(Notation::Json.write(&value).unwrap(), "{\n  \"a\": [\n    1\n  ]\n}\n");
        assert_eq!(Notation::Yaml.write(&value).unwrap(), "a:\n- 1\n");
    }
}
