//! `dcm store check`: whether all that is stored fits together.

use dcm_server::{CheckReport, StoreCheck};

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::configuration_of;

pub(crate) async fn run(global: &Global) -> anyhow::Result<Exit> {
    let report = StoreCheck::open(&configuration_of(global)?).await?.run().await?;
    output::print_either(global.output, &report, || said(&report))?;
    Ok(if report.is_sound() { Exit::Done } else { Exit::Stuck })
}

fn said(report: &CheckReport) -> String {
    let rows = report.findings.iter().map(|finding| {
        let cleared_by = finding.cleared_by.unwrap_or("-");
        [finding.path.to_string(), finding.rule.to_string(), finding.what.clone(), cleared_by.to_owned()]
    });
    let table = match report.findings.is_empty() {
        true => String::new(),
        false => output::columns(["PATH", "RULE", "WHAT", "CLEARED BY"], rows) + "\n",
    };
    table + &summary(report)
}

/// How much was looked at, and what somebody has to do.
fn summary(report: &CheckReport) -> String {
    let rooms: Vec<String> = report.documents.iter().map(|(room, count)| format!("{count} {room}")).collect();
    let all: usize = report.documents.values().sum();
    let lasting = report.findings.iter().filter(|finding| finding.cleared_by.is_none()).count();
    let findings = match report.findings.len() {
        1 => "1 finding".to_owned(),
        several => format!("{several} findings"),
    };
    let found = match lasting {
        _ if report.findings.is_empty() => "nothing is wrong".to_owned(),
        0 => format!("{findings}, cleared by the work that goes on"),
        lasting => format!("{findings}, {lasting} of which require action"),
    };
    format!("{all} documents looked at ({}): {found}\n", rooms.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dcm_core::check::{Finding, Rule};
    use dcm_core::port::store::Path;

    use super::*;

    #[test]
    fn people_read_what_is_wrong_and_how_much_was_looked_at() {
        let finding = |path: &str, rule, what: &str, cleared_by| {
            let path = Path::new(path).unwrap();
            Finding { path, rule, what: what.to_owned(), cleared_by }
        };
        let mut report =
            CheckReport { documents: BTreeMap::from([("lanes", 2), ("parts", 3)]), findings: vec![] };
        assert_eq!(said(&report), "5 documents looked at (2 lanes, 3 parts): nothing is wrong\n");
        report.findings.push(finding("parts/a", Rule::Unused, "nothing names it", Some("the next edit")));
        assert!(said(&report).contains(": 1 finding, cleared by the work that goes on"));
        report.findings.push(finding("lanes/a", Rule::Unreadable, "it is no such document", None));
        let expected = "\
PATH     RULE        WHAT                    CLEARED BY
parts/a  unused      nothing names it        the next edit
lanes/a  unreadable  it is no such document  -

5 documents looked at (2 lanes, 3 parts): 2 findings, 1 of which require action
";
        assert_eq!(said(&report), expected);
    }
}
