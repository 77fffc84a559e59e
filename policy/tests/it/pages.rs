//! The pages that people read: how long the README is, where links lead, and that the index has every page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use dcm_policy::{root, tracked_files};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// Most words of the README, code and tables included.
const README_WORDS_MAX: usize = 900;

/// Most lines of a first program, blank ones not counted, and most imports.
const PROGRAM_LINES_MAX: usize = 20;
const PROGRAM_IMPORTS_MAX: usize = 3;

/// The page that has a link to each page of `docs`.
const INDEX: &str = "docs/README.md";

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The pages; what tests make pages of is none.
fn pages() -> Vec<String> {
    let is_page = |file: &String| file.ends_with(".md") && !file.contains("/tests/");
    tracked_files().unwrap().into_iter().filter(is_page).collect()
}

/// The blocks of Rust in a page.
fn programs(page: &str) -> Vec<String> {
    let mut programs = Vec::new();
    let mut is_rust = false;
    for event in Parser::new(page) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(kind))) => {
                is_rust = &*kind == "rust";
                programs.extend(is_rust.then(String::new));
            }
            Event::Text(text) if is_rust => programs.last_mut().unwrap().push_str(&text),
            Event::End(TagEnd::CodeBlock) => is_rust = false,
            _ => {}
        }
    }
    programs
}

/// The targets of the links and pictures in a page.
fn links(page: &str) -> Vec<String> {
    let target = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    };
    Parser::new(page).filter_map(target).collect()
}

/// The anchors of a page's headings, as they are made from their texts.
fn anchors(page: &str) -> BTreeSet<String> {
    let (mut anchors, mut heading) = (BTreeSet::new(), None);
    for event in Parser::new(page) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => anchors.extend(heading.take().map(|heading| anchor(&heading))),
            _ => {}
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let dashed = heading.to_lowercase().replace(' ', "-");
    dashed.chars().filter(|character| character.is_alphanumeric() || matches!(character, '-' | '_')).collect()
}

/// A path below the root without `.` and `..`; none outside of it.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => normal.pop().then_some(())?,
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    Some(normal)
}

#[test]
fn the_readme_is_short_and_its_program_is_small() {
    let readme = read("README.md");
    let words = readme.split_whitespace().count();
    assert!(words <= README_WORDS_MAX, "{words} words");
    let programs = programs(&readme);
    assert_eq!(programs.len(), 1);
    let embedding = read("docs/embedding.md");
    let first_of_clouds =
        self::programs(&embedding).into_iter().find(|one| one.contains("dcm_manager")).unwrap();
    for program in programs.iter().chain([&first_of_clouds]) {
        let lines: Vec<&str> = program.lines().filter(|line| !line.trim().is_empty()).collect();
        assert!(lines.len() <= PROGRAM_LINES_MAX, "{} lines: {program}", lines.len());
        let imports = lines.iter().filter(|line| line.starts_with("use ")).count();
        assert!(imports <= PROGRAM_IMPORTS_MAX, "{imports} imports: {program}");
    }
}

#[test]
fn each_link_in_a_page_leads_to_a_file_and_a_heading_that_are_there() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = read(&page);
        let folder = Path::new(&page).parent().unwrap();
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            let (file, anchor) =
                link.split_once('#').map_or((&**link, None), |(file, anchor)| (file, Some(anchor)));
            let target =
                if file.is_empty() { Some(PathBuf::from(&page)) } else { normal(&folder.join(file)) };
            let target = target.filter(|target| root().join(target).exists());
            let is_there = target.is_some_and(|target| {
                anchor.is_none_or(|anchor| anchors(&read(target.to_str().unwrap())).contains(anchor))
            });
            if !is_there {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_index_has_a_link_to_each_page_of_the_documentation() {
    let linked: BTreeSet<PathBuf> =
        links(&read(INDEX)).iter().filter_map(|link| normal(&Path::new("docs").join(link))).collect();
    let pages = pages().into_iter().filter(|page| page.starts_with("docs/") && page != INDEX);
    let missing: Vec<_> = pages.filter(|page| !linked.contains(Path::new(page))).collect();
    assert!(missing.is_empty(), "{INDEX} has no link to {missing:?}");
}

#[test]
fn the_glossary_is_in_alphabetical_order_with_a_line_for_each_word() {
    let glossary = read("docs/glossary.md");
    let rows = glossary.lines().filter(|line| line.starts_with("| ")).skip(1);
    let words: Vec<&str> = rows.filter_map(|row| row.split('|').nth(1)).map(str::trim).collect();
    let sorted: BTreeSet<&str> = words.iter().copied().collect();
    assert_eq!(words, sorted.into_iter().collect::<Vec<_>>());
}

#[test]
fn links_and_headings_are_found_in_text_alone() {
    let page = "# A *b*: `c`\n[x](y.md#z) `[no](no.md)`\n```sh\n# no\n[no](no.md)\n```\n";
    assert_eq!(links(page), ["y.md#z"]);
    assert_eq!(anchors(page), BTreeSet::from(["a-b-c".to_owned()]));
    assert_eq!(normal(Path::new("docs/../a/./b")), Some("a/b".into()));
    assert_eq!(normal(Path::new("../a")), None);
}
