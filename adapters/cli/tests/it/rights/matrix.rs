//! What was expected of every request and what came back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use futures::StreamExt as _;

use crate::rights::answer::Answer;
use crate::rights::asked::Asked;
use crate::rights::caller::Caller;

/// Requests under way at a time: enough to keep the servers busy.
const CONCURRENT: usize = 24;

/// One request of one user to one cluster.
struct Cell<'a> {
    caller: &'a Caller,
    asked: &'a Asked,
    expected: Answer,
    got: Answer,
}

/// All cells.
pub(crate) struct Matrix<'a>(Vec<Cell<'a>>);

impl<'a> Matrix<'a> {
    /// Every caller asks everything.
    pub(crate) async fn ask(
        callers: &'a [Caller],
        grid: &'a [Asked],
        expected: impl Fn(&str, &Asked) -> Answer,
    ) -> Self {
        let cells = grid.iter().flat_map(|asked| callers.iter().map(move |caller| (caller, asked)));
        let cells = cells.map(|(caller, asked)| {
            let expected = expected(&caller.user, asked);
            async move { Cell { caller, asked, expected, got: caller.ask(asked).await } }
        });
        Self(futures::stream::iter(cells).buffered(CONCURRENT).collect().await)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Every answer is the expected one.
    #[track_caller]
    pub(crate) fn is_as_expected(&self) {
        self.has_none("wrong", |cell| cell.got != cell.expected);
    }

    /// Nothing is allowed that is not expected to be; a user who is no longer known is allowed nothing.
    #[track_caller]
    pub(crate) fn allows_nothing_more(&self) {
        let refused = [Answer::Forbidden, Answer::Unauthorized];
        self.has_none("too many", |cell| cell.got != cell.expected && !refused.contains(&cell.got));
    }

    #[track_caller]
    fn has_none(&self, what: &str, is_bad: impl Fn(&Cell<'_>) -> bool) {
        let bad: Vec<String> = self.0.iter().filter(|cell| is_bad(cell)).map(ToString::to_string).collect();
        assert!(bad.is_empty(), "{} of {} cells are {what}:\n{}", bad.len(), self.len(), bad.join("\n"));
    }

    /// Both answers came this often for a user, and on each cluster as often as on the others.
    #[track_caller]
    pub(crate) fn has_at_least(&self, user: &str, each: usize) {
        let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        for cell in self.0.iter().filter(|cell| cell.caller.user == user) {
            let count = counts.entry(&cell.caller.cluster).or_default();
            count[usize::from(cell.got == Answer::Allowed)] += 1;
        }
        let least = counts.values().flatten().min().copied().unwrap_or_default();
        assert!(least >= each, "{user}: forbidden and allowed by cluster: {counts:?}");
        assert_eq!(counts.values().collect::<BTreeSet<_>>().len(), 1, "{user}: {counts:?}");
    }

    /// What was answered about a namespace.
    pub(crate) fn answers_in(&self, namespace: &str) -> BTreeSet<&Answer> {
        let cells = self.0.iter().filter(|cell| cell.asked.place() == Some(namespace));
        cells.map(|cell| &cell.got).collect()
    }
}

impl fmt::Display for Cell<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { caller, asked, expected, got } = self;
        write!(formatter, "{} at {}: {asked}: ", caller.user, caller.cluster)?;
        write!(formatter, "expected {expected:?}, got {got:?}")
    }
}
