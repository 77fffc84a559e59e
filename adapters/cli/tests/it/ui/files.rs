//! What is in the files.

use dcm_rest::ui::ASSETS;
use regex::Regex;

/// Names a language of drawings; nobody asks there for anything.
const SVG: &str = "http://www.w3.org/2000/svg";

/// Lines that a person reads at one go; as those of programs in Rust.
const LINES_MAX: usize = 300;

fn found(pattern: &str, text: &str) -> Vec<String> {
    Regex::new(pattern).unwrap().find_iter(text).map(|found| found.as_str().to_owned()).collect()
}

#[test]
fn no_file_names_an_address_elsewhere() {
    for asset in ASSETS {
        let addresses =
            found(r#"(?i)\b(https?|wss?|blob):[^\s"']*|\bdata:\w+/|["'(]//\w[^\s"')]*"#, asset.text);
        let others: Vec<_> = addresses.iter().filter(|address| *address != SVG).collect();
        assert!(others.is_empty(), "{}: {others:?}", asset.name);
        assert!(found(r"@import|url\(", asset.text).is_empty(), "{}", asset.name);
    }
}

#[test]
fn no_text_becomes_markup_or_a_program() {
    let ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTML|srcdoc|\beval\b|new Function|javascript:";
    for asset in ASSETS {
        assert!(found(ways, asset.text).is_empty(), "{}: {:?}", asset.name, found(ways, asset.text));
    }
}

#[test]
fn the_markup_holds_with_its_own_policy() {
    let index = ASSETS.iter().find(|asset| asset.name == "index.html").unwrap().text;
    assert_eq!(found("<script[^>]*>", index), [r#"<script type="module" src="main.mjs">"#]);
    assert!(found(r#"<style|\sstyle=|\son\w+="#, index).is_empty());
}

#[test]
fn every_file_that_is_named_is_there_and_every_file_is_named() {
    let names: Vec<&str> = ASSETS.iter().map(|asset| asset.name).collect();
    let mut named = vec!["index.html".to_owned()];
    for asset in ASSETS {
        let imports = found(r"(from|import\() ?'\./[\w.]+'", asset.text);
        named.extend(imports.iter().map(|import| import.split('\'').nth(1).unwrap()[2..].to_owned()));
        if asset.name == "index.html" {
            named.extend(
                found(r#"\b(src|href)="[\w.]+""#, asset.text)
                    .iter()
                    .map(|name| name.split('"').nth(1).unwrap().to_owned()),
            );
        }
    }
    for name in &named {
        assert!(names.contains(&name.as_str()), "{name} is named, and is not there");
    }
    for name in names {
        assert!(named.iter().any(|one| one == name), "{name} is there, and nobody names it");
    }
}

#[test]
fn no_module_is_too_long() {
    for asset in ASSETS.iter().filter(|asset| asset.name.ends_with(".mjs")) {
        let lines = asset.text.lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines", asset.name);
    }
}
