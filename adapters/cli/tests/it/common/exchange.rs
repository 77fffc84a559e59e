//! Exchanges that are written down: what is asked, and the whole answer.
//!
//! A file has, line by line:
//!
//! | Line | What it is |
//! |---|---|
//! | `# …` | a word on what follows |
//! | `> …` | a line of a request: method and path, headers, an empty line, the body; `{etag}` is the last tag that was answered, `{hash}` the last hash of a plan, other names are texts, as JSON or as they are (`{raw …}`); of `…/events?` the first event is taken |
//! | `< …` | a line of the answer: status, headers in order, an empty line, the body |
//! | `~ PATH … TEXT` | `GET PATH` is asked again and again, until `TEXT` is in the answer |
//!
//! What differs from run to run is written as `UID`, `HASH`, `TIME`, `MOMENT`, `REVISION`, `DIGEST`, `BASE64`, `PEM`, `TOKEN` and `SERVER`. With a variable of the dialect in the
//! environment ([`Exchanges::regenerate`]) the answers are written into the file anew, to be looked at.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::installation::until;
use super::server::Server;

/// The exchanges of a dialect.
pub(crate) struct Exchanges {
    /// Where the files are, below the tests.
    pub(crate) folder: &'static str,
    /// The variable by which answers are written anew.
    pub(crate) regenerate: &'static str,
    /// What differs from run to run in this dialect alone, and what is written for it.
    pub(crate) varying: &'static [(&'static str, &'static str)],
}

/// What differs from run to run, and what is written for it.
static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let varying = [
        (r"\bsha256-[A-Za-z0-9+/=]{44}", "sha256-DIGEST"),
        (r#"etag: "[0-9a-f]{32}""#, "etag: \"REVISION\""),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "CLUSTER-UID"),
        (r"\b\d{8}T\d{6}\.\d{9}Z\b", "MOMENT"),
        (r"\b[0-9a-f]{64}\b", "HASH"),
        (r"\b[0-9a-f]{16}\b", "UID"),
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z", "TIME"),
        (r#"(-data"?: ?"?)[A-Za-z0-9+/=]{64,}"#, "${1}BASE64"),
        (r"-----BEGIN [A-Z ]+-----[^-]*-----END [A-Z ]+-----(\\n)?", "PEM"),
        (r"https://127\.0\.0\.1:\d+", "SERVER"),
        (r"\beyJ[-\w]+\.[-\w]+\.[-\w]+", "TOKEN"),
    ];
    varying.into_iter().map(|(pattern, word)| (Regex::new(pattern).unwrap(), word)).collect()
});

/// The hash of a plan.
static HASH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""hash":"([0-9a-f]{64})""#).unwrap());

/// One thing that a file says.
enum Step {
    Comment(String),
    Exchange { request: String, answer: String },
    Until { path: String, text: String },
}

impl Exchanges {
    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(self.folder)
    }

    /// All files.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.folder()).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<_> = files.collect();
        files.sort();
        files
    }

    /// True when answers are to be written anew.
    pub(crate) fn is_regenerating(&self) -> bool {
        std::env::var_os(self.regenerate).is_some()
    }

    /// Plays a file at a server.
    pub(crate) async fn play(&self, server: &Server, name: &str) {
        self.play_with(server, name, &[]).await;
    }

    /// The same; in requests `{name}` stands for a text, written as JSON, and `{raw name}` for the text as it is.
    pub(crate) async fn play_with(&self, server: &Server, name: &str, texts: &[(&str, &str)]) {
        let file = self.folder().join(name);
        let text = std::fs::read_to_string(&file).unwrap();
        let (mut played, mut tag, mut hash) = (String::new(), String::new(), String::new());
        for step in read(&text) {
            match step {
                Step::Comment(text) => played.push_str(&format!("{text}\n")),
                Step::Until { path, text } => {
                    let is_there = async || server.ask(&format!("GET {path}")).contains(&text).then_some(());
                    until(&text, is_there).await;
                    played.push_str(&format!("~ {path} … {text}\n"));
                }
                Step::Exchange { request, .. } => {
                    let mut asked = request.replace("{etag}", &tag);
                    for (name, text) in texts {
                        asked = asked.replace(&format!("{{{name}}}"), &serde_json::to_string(text).unwrap());
                        asked = asked.replace(&format!("{{raw {name}}}"), text);
                    }
                    let asked = asked.replace("{hash}", &hash);
                    let answer = answered(server, &asked);
                    if let Some(told) = HASH.captures(&answer) {
                        told[1].clone_into(&mut hash);
                    }
                    if let Some(told) = answer.lines().find_map(|line| line.strip_prefix("etag: ")) {
                        told.clone_into(&mut tag);
                    }
                    played.push_str(&written('>', &request));
                    played.push_str(&written('<', &self.settled(&answer)));
                }
            }
        }
        if self.is_regenerating() {
            std::fs::write(&file, played).unwrap();
        } else {
            let lines = played.lines().zip(text.lines()).enumerate();
            for (number, (played, written)) in lines {
                assert_eq!(played, written, "{name}, line {}; {}", number + 1, self.regenerate);
            }
            assert_eq!(played.len(), text.len(), "{name}");
        }
    }

    /// An answer without what differs from run to run.
    fn settled(&self, answer: &str) -> String {
        let settle =
            |text: String, (pattern, word): &(Regex, &str)| pattern.replace_all(&text, *word).into_owned();
        let own = self.varying.iter().map(|(pattern, word)| (Regex::new(pattern).unwrap(), *word));
        let settled = own.fold(answer.trim_end().to_owned(), |text, one| settle(text, &one));
        VARYING.iter().fold(settled, settle)
    }
}

/// The requests of a file with their answers.
pub(crate) fn recorded(file: &Path) -> Vec<(String, String)> {
    let of = |step| match step {
        Step::Exchange { request, answer } => Some((request, answer)),
        Step::Comment(_) | Step::Until { .. } => None,
    };
    read(&std::fs::read_to_string(file).unwrap()).into_iter().filter_map(of).collect()
}

/// The requests of a file with the statuses of their answers.
pub(crate) fn asked(file: &Path) -> Vec<(String, String)> {
    let first = |text: String| text.lines().next().unwrap().to_owned();
    recorded(file).into_iter().map(|(request, answer)| (first(request), first(answer))).collect()
}

/// What a server answers; of events the first.
fn answered(server: &Server, asked: &str) -> String {
    match asked.strip_prefix("GET ").filter(|path| path.ends_with("/events?")) {
        Some(path) => {
            let mut events = server.follow(path.trim_end_matches('?'));
            let first = events.next().unwrap();
            format!("{}\n\n{first}", events.head)
        }
        None => server.ask(asked),
    }
}

fn written(mark: char, text: &str) -> String {
    text.lines().map(|line| format!("{mark} {line}").trim_end().to_owned() + "\n").collect()
}

fn read(text: &str) -> Vec<Step> {
    static LINE: LazyLock<Regex> = LazyLock::new(|| Regex::new("^([><~]) ?(.*)$").unwrap());
    static FIRST: LazyLock<Regex> = LazyLock::new(|| Regex::new("^[A-Z]+ /").unwrap());
    let mut steps = Vec::new();
    for line in text.lines() {
        let mark = LINE.captures(line);
        let part = |captures: &Captures<'_>| (captures[1].to_owned(), captures[2].to_owned());
        match mark.as_ref().map(part) {
            Some((mark, rest)) if mark == "~" => {
                let (path, text) = rest.split_once(" … ").unwrap();
                steps.push(Step::Until { path: path.to_owned(), text: text.to_owned() });
            }
            Some((mark, rest)) if mark == ">" => match steps.last_mut() {
                Some(Step::Exchange { request, answer }) if answer.is_empty() && !FIRST.is_match(&rest) => {
                    request.push_str(&format!("\n{rest}"));
                }
                _ => steps.push(Step::Exchange { request: rest, answer: String::new() }),
            },
            Some((_, rest)) => match steps.last_mut() {
                Some(Step::Exchange { answer, .. }) => answer.push_str(&format!("{rest}\n")),
                _ => panic!("an answer without a request: {line}"),
            },
            None => steps.push(Step::Comment(line.to_owned())),
        }
    }
    steps
}
