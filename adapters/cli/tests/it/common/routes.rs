//! Which route is asked where: a page of the documentation has the table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dcm_rest::Route;

use super::exchange::{Exchanges, asked};

/// Where the table begins and ends in the page.
const MARKS: (&str, &str) = ("<!-- routes -->\n", "<!-- end of routes -->");

/// True when a path is one of a route.
pub(crate) fn is_of(route: &str, path: &str) -> bool {
    let path = path.split('?').next().unwrap().trim_end_matches('/');
    let (route, path): (Vec<&str>, Vec<&str>) = (route.split('/').collect(), path.split('/').collect());
    route.len() == path.len()
        && route.iter().zip(&path).all(|(one, other)| one.starts_with('{') || one == other)
}

/// What is told of a route in the table: the cells before those of its answers.
pub(crate) type Cells<'a> = &'a dyn Fn(&Route) -> String;

/// The table with the heads of its columns: of each route what is told of it, its statuses and its files.
fn table(exchanges: &Exchanges, routes: &[Route], heads: &str, cells: Cells<'_>) -> String {
    let mut told: BTreeMap<usize, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for file in exchanges.files() {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        for (request, status) in asked(&file) {
            let (method, path) = request.split_once(' ').unwrap();
            let is_asked = |route: &&Route| route.method() == method && is_of(route.path(), path);
            for (index, _) in routes.iter().enumerate().filter(|(_, route)| is_asked(route)) {
                let (statuses, files) = told.entry(index).or_default();
                statuses.insert(status.clone());
                files.insert(name.clone());
            }
        }
    }
    let columns = heads.matches('|').count() - 1;
    let mut table = format!("{heads}\n|{}\n", "---|".repeat(columns));
    for (index, route) in routes.iter().enumerate() {
        let (statuses, files) = told.remove(&index).unwrap_or_default();
        assert!(!files.is_empty(), "{} {} is asked nowhere", route.method(), route.path());
        let list = |of: BTreeSet<String>| of.into_iter().collect::<Vec<_>>().join(", ");
        table += &format!("| {} | {} | {} |\n", cells(route), list(statuses), list(files));
    }
    table
}

/// Holds the table of a page against the routes and what is asked of them, or writes it anew.
pub(crate) fn hold(page: &str, exchanges: &Exchanges, routes: &[Route], heads: &str, cells: Cells<'_>) {
    replace(page, MARKS, exchanges, &table(exchanges, routes, heads, cells));
}

/// Holds what is between two marks of a page against what it is to be, or writes it anew.
pub(crate) fn replace(page: &str, marks: (&str, &str), exchanges: &Exchanges, between: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let found = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = found.split_once(marks.0).unwrap();
    let (_, after) = rest.split_once(marks.1).unwrap();
    let wanted = format!("{before}{}{between}{}{after}", marks.0, marks.1);
    if exchanges.is_regenerating() {
        std::fs::write(&file, wanted).unwrap();
    } else {
        assert_eq!(found, wanted, "with {}=1 in the environment it is written anew", exchanges.regenerate);
    }
}
