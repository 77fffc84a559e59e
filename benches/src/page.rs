//! The page with the tables, which the benches write.

use std::env;
use std::fs;

use anyhow::{Context as _, Result};

/// Set, a whole run of a bench writes its table into the page.
pub const WRITE: &str = "DCM_WRITE_BENCHMARKS";

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks.md");

/// Writes the table of a bench into the page, where [`WRITE`] is set.
///
/// # Errors
/// When the page has no place for it, or can't be read or written.
pub fn write(bench: &str, table: &str) -> Result<()> {
    if env::var_os(WRITE).is_none() {
        return Ok(());
    }
    let page = fs::read_to_string(PAGE).context(PAGE)?;
    let page = with_table(&page, bench, table).with_context(|| format!("{PAGE} has no place for {bench}"))?;
    fs::write(PAGE, page).context(PAGE)
}

/// The page with another table between the marks of a bench; none without such marks.
fn with_table(page: &str, bench: &str, table: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {bench}: begin -->\n"), format!("<!-- {bench}: end -->\n"));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some([before, &begin, table.trim_end(), "\n", &end, after].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_the_place_of_the_one_before() {
        let page = "a\n<!-- store: begin -->\n| old |\n<!-- store: end -->\nb\n";
        let expected = "a\n<!-- store: begin -->\n| new |\n<!-- store: end -->\nb\n";
        assert_eq!(with_table(page, "store", "| new |\n").as_deref(), Some(expected));
        assert_eq!(with_table(page, "rest", "| new |\n"), None);
    }

    #[test]
    fn the_page_has_a_place_for_each_bench_that_writes_it() {
        let page = fs::read_to_string(PAGE).unwrap();
        for bench in ["instantiate", "store"] {
            assert!(with_table(&page, bench, "").is_some(), "{bench}");
        }
    }
}
