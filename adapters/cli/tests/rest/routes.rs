//! Which route is asked where: `docs/rest.md` has the table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dcm_rest::documented::routes;

use crate::exchange;

/// Where the table begins and ends in the page.
const MARKS: (&str, &str) = ("<!-- routes -->\n", "<!-- end of routes -->");

/// True when a path is one of a route.
fn is_of(route: &str, path: &str) -> bool {
    let path = path.split('?').next().unwrap().trim_end_matches('/');
    let (route, path): (Vec<&str>, Vec<&str>) = (route.split('/').collect(), path.split('/').collect());
    route.len() == path.len()
        && route.iter().zip(&path).all(|(one, other)| one.starts_with('{') || one == other)
}

/// The statuses and the files of each route.
fn table() -> String {
    let mut told: BTreeMap<usize, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    let routes = routes();
    for file in exchange::files() {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        for (request, status) in exchange::asked(&file) {
            let (method, path) = request.split_once(' ').unwrap();
            let is_asked =
                |route: &&dcm_rest::documented::Route| route.method() == method && is_of(route.path(), path);
            for (index, _) in routes.iter().enumerate().filter(|(_, route)| is_asked(route)) {
                let (statuses, files) = told.entry(index).or_default();
                statuses.insert(status.clone());
                files.insert(name.clone());
            }
        }
    }
    let mut table = "| Route | Answers | Asked in |\n|---|---|---|\n".to_owned();
    for (index, route) in routes.iter().enumerate() {
        let (statuses, files) = told.remove(&index).unwrap_or_default();
        assert!(!files.is_empty(), "{} {} is asked nowhere", route.method(), route.path());
        let list = |of: BTreeSet<String>| of.into_iter().collect::<Vec<_>>().join(", ");
        let (method, path) = (route.method(), route.path());
        table += &format!("| {method} `{path}` | {} | {} |\n", list(statuses), list(files));
    }
    table
}

#[test]
fn every_route_is_asked_and_in_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rest.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(MARKS.0).unwrap();
    let (_, after) = rest.split_once(MARKS.1).unwrap();
    let wanted = format!("{before}{}{}{}{after}", MARKS.0, table(), MARKS.1);
    if std::env::var_os("DCM_REGENERATE_REST").is_some() {
        std::fs::write(&file, wanted).unwrap();
    } else {
        assert_eq!(
            page, wanted,
            "DCM_REGENERATE_REST=1 cargo test -p dcm-cli --test rest writes the table anew"
        );
    }
}
