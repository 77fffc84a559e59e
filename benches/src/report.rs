//! What is printed: a table for people, and one line of JSON for programs.

use anyhow::{Result, ensure};
use comfy_table::{Table, presets};
use serde_json::{Map, Value};

use crate::page;

/// Figures by key, with what they are and what they are to be, in the order of their table.
#[derive(Debug, Default)]
pub struct Report(Vec<Row>);

/// What a figure is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

/// One line of the table: a figure, or the same for several sizes.
#[derive(Debug)]
struct Row {
    about: String,
    key: String,
    figures: Vec<Figure>,
}

#[derive(Debug)]
struct Figure {
    size: Option<u32>,
    value: f64,
    bound: Option<Bound>,
}

impl Bound {
    fn at_most(self) -> Option<f64> {
        if let Self::AtMost(bound) = self { Some(bound) } else { None }
    }

    fn at_least(self) -> Option<f64> {
        if let Self::AtLeast(bound) = self { Some(bound) } else { None }
    }

    /// No number at all is within nothing.
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(bound) => value <= bound,
            Self::AtLeast(bound) => value >= bound,
        }
    }
}

impl Report {
    /// Adds a figure.
    pub fn add(
        &mut self,
        key: impl Into<String>,
        about: impl Into<String>,
        value: f64,
        bound: impl Into<Option<Bound>>,
    ) {
        let figures = vec![Figure { size: None, value, bound: bound.into() }];
        self.0.push(Row { about: about.into(), key: key.into(), figures });
    }

    /// Adds figures of several sizes as one line. The key of each is `key`, `_` and its size.
    pub fn add_sizes(
        &mut self,
        key: impl Into<String>,
        about: impl Into<String>,
        figures: impl IntoIterator<Item = (u32, f64, Option<Bound>)>,
    ) {
        let figures =
            figures.into_iter().map(|(size, value, bound)| Figure { size: Some(size), value, bound });
        self.0.push(Row { about: about.into(), key: key.into(), figures: figures.collect() });
    }

    /// Returns the table. A column that no figure needs is left out.
    #[must_use]
    pub fn table(&self) -> String {
        let bounds = [("at most", Bound::at_most as fn(Bound) -> Option<f64>), ("at least", Bound::at_least)];
        let is_there = |of: fn(Bound) -> Option<f64>| {
            self.figures().any(|figure| figure.bound.is_some_and(|bound| of(bound).is_some()))
        };
        let bounds: Vec<_> = bounds.into_iter().filter(|(_, of)| is_there(*of)).collect();
        let held = (!bounds.is_empty()).then_some("held");
        let heads = ["measured", "value"].into_iter().chain(bounds.iter().map(|(head, _)| *head)).chain(held);
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN).set_header(heads.chain(["key"]));
        for row in &self.0 {
            let mut cells = vec![row.about.clone(), row.cell(|figure| Some(text(figure.value)))];
            cells.extend(bounds.iter().map(|(_, of)| row.cell(|figure| figure.bound.and_then(of).map(text))));
            cells.extend(held.map(|_| row.cell(|figure| figure.held().map(yes_or_no))));
            cells.push(row.keys());
            table.add_row(cells);
        }
        table.to_string()
    }

    /// Returns each key with its value.
    pub fn values(&self) -> impl Iterator<Item = (String, f64)> {
        self.0.iter().flat_map(|row| row.figures.iter().map(|figure| (row.key_of(figure), figure.value)))
    }

    /// Returns all keys with their values, as a JSON object.
    #[must_use]
    pub fn json(&self) -> String {
        let members = self.values().map(|(key, value)| (key, Value::from(rounded(value))));
        Value::Object(Map::from_iter(members)).to_string()
    }

    /// Prints the table, and as the last line the JSON.
    ///
    /// # Errors
    /// When a figure is not what it is to be: all of these, by their keys.
    #[allow(clippy::print_stdout, reason = "a bench prints what it measured")]
    pub fn print(&self) -> Result<()> {
        println!("{}\n{}", self.table(), self.json());
        let broken = self.broken();
        ensure!(broken.is_empty(), "not what they are to be: {}", broken.join(", "));
        Ok(())
    }

    /// Prints the report ([`Report::print`]). The table of a whole run goes into the page of the benches, too ([`page::write`]).
    ///
    /// # Errors
    /// Those of both.
    pub fn publish(&self, bench: &str, parts: &[String]) -> Result<()> {
        let printed = self.print();
        if parts.is_empty() {
            page::write(bench, &self.table())?;
        }
        printed
    }

    /// The keys of the figures that are not what they are to be.
    fn broken(&self) -> Vec<String> {
        let is_broken = |figure: &&Figure| figure.held() == Some(false);
        let keys = self
            .0
            .iter()
            .flat_map(|row| row.figures.iter().filter(is_broken).map(|figure| row.key_of(figure)));
        keys.collect()
    }

    fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.0.iter().flat_map(|row| &row.figures)
    }
}

impl Figure {
    /// Whether its bound holds; none without a bound.
    fn held(&self) -> Option<bool> {
        self.bound.map(|bound| bound.holds(self.value))
    }
}

impl Row {
    fn key_of(&self, figure: &Figure) -> String {
        match figure.size {
            Some(size) => format!("{}_{size}", self.key),
            None => self.key.clone(),
        }
    }

    /// The keys as a shell would write them.
    fn keys(&self) -> String {
        let sizes: Vec<String> =
            self.figures.iter().filter_map(|figure| Some(figure.size?.to_string())).collect();
        match sizes.len() {
            0 => self.key.clone(),
            1 => format!("{}_{}", self.key, sizes.concat()),
            _ => format!("{}_{{{}}}", self.key, sizes.join(",")),
        }
    }

    /// The text of each figure; one text where all figures have the same.
    fn cell(&self, text: impl Fn(&Figure) -> Option<String>) -> String {
        let texts: Vec<String> = self.figures.iter().map(|figure| text(figure).unwrap_or_default()).collect();
        match texts.first() {
            Some(first) if texts.iter().all(|other| other == first) => first.clone(),
            _ => texts.join(" / "),
        }
    }
}

/// Three decimals say more than the measurement knows.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn yes_or_no(held: bool) -> String {
    if held { "yes" } else { "no" }.to_owned()
}

fn text(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { rounded(value).to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(report: &Report) -> Value {
        serde_json::from_str(&report.json()).unwrap()
    }

    #[test]
    fn each_size_has_a_key_in_json_and_all_have_one_line_in_the_table() {
        let mut report = Report::default();
        let writes = [(1, 2.0, Some(Bound::AtMost(3.0))), (10, 2.5, Some(Bound::AtMost(3.0)))];
        report.add_sizes("writes", "writes", writes);
        assert_eq!(values(&report), json!({"writes_1": 2.0, "writes_10": 2.5}));
        let table = report.table();
        let line = "| writes   | 2 / 2.5 | 3       | yes  | writes_{1,10} |";
        assert!(table.contains(line) && !table.contains("at least"), "{table}");
    }

    #[test]
    fn figures_that_are_not_what_they_are_to_be_are_named() {
        let mut report = Report::default();
        report.add_sizes(
            "writes",
            "writes",
            [(1, 3.0, Some(Bound::AtMost(3.0))), (10, 4.0, Some(Bound::AtMost(3.0)))],
        );
        report.add("ratio", "two over one", 1.6, Bound::AtLeast(1.7));
        report.add("share", "nothing of nothing", f64::NAN, Bound::AtLeast(0.9));
        report.add("cost", "cost", 120.04, None);
        assert_eq!(report.broken(), ["writes_10", "ratio", "share"]);
        assert!(report.print().unwrap_err().to_string().ends_with(": writes_10, ratio, share"));
        let table = report.table();
        let held =
            ["| yes / no | writes_{1,10} |", "| no       | ratio         |", "|          | cost          |"];
        assert!(held.iter().all(|cells| table.contains(cells)), "{table}");
    }

    #[test]
    fn a_figure_stands_beside_its_bound() {
        let mut report = Report::default();
        report.add("ratio", "two over one", 1.9, Bound::AtLeast(1.7));
        report.add("cost", "cost", 120.04, None);
        let lines = [
            "| two over one | 1.9   | 1.7      | yes  | ratio |",
            "| cost         | 120   |          |      | cost  |",
        ];
        let table = report.table();
        assert!(lines.iter().all(|line| table.contains(line)) && !table.contains("at most"), "{table}");
        assert_eq!(values(&report), json!({"cost": 120.04, "ratio": 1.9}));
    }
}
