//! Reading what was recorded.

/// What was recorded of EMCO's own services.
const TRANSCRIPT: &str = include_str!("recorded.txt");

/// A request, and what it was answered.
pub(super) struct Recorded {
    /// Which one it is.
    pub(super) title: String,
    /// Its first line, its headers, an empty line and its body.
    pub(super) request: String,
    pub(super) answer: Answer,
}

/// What is compared of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

impl Answer {
    /// What a server answered: its status, its headers, an empty line and its body.
    pub(super) fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\n\n").unwrap();
        Self { status: head.lines().next().unwrap().parse().unwrap(), body: body.to_owned() }
    }
}

/// All of them, in their order.
pub(super) fn all() -> Vec<Recorded> {
    let mut all = Vec::new();
    for part in TRANSCRIPT.split("\n######## ").skip(1) {
        let (section, exchanges) = part.split_once('\n').unwrap();
        all.extend(exchanges.split("\n==== ").skip(1).map(|exchange| recorded(section, exchange)));
    }
    all
}

fn recorded(section: &str, exchange: &str) -> Recorded {
    let (asked, answered) = exchange.split_once("\n---- ").unwrap();
    let (title, sent) = asked.split_once('\n').unwrap_or((asked, ""));
    // The number, the service, the method and the path.
    let line: Vec<&str> = title.splitn(3, ' ').collect();
    let (headers, body) = parts("> ", sent);
    let head = format!("{}\n{}", line[2], headers.join("\n"));
    let (status, answer) = answered.split_once('\n').unwrap();
    let (_, answer) = parts("< ", answer);
    Recorded {
        title: format!("{section}, {}", line[0]),
        request: format!("{}\n\n{body}", head.trim_end()),
        answer: Answer { status: status.split(' ').next().unwrap().parse().unwrap(), body: answer },
    }
}

/// Headers, by the mark before each, and the body behind them.
fn parts<'a>(mark: &str, text: &'a str) -> (Vec<&'a str>, String) {
    let is_header = |line: &&str| line.starts_with(mark.trim_end());
    let headers = text.lines().take_while(is_header).filter_map(|line| line.strip_prefix(mark));
    let body: Vec<&str> = text.lines().skip_while(is_header).collect();
    (headers.filter(|header| !header.is_empty()).collect(), body.join("\n").trim_end().to_owned())
}
