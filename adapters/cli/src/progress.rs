//! How work is shown while it goes on, on standard error: bars on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use dcm_core::name::ClusterId;
use dcm_core::status::{Cause, LaneState, LaneStatus, ObjectState, RequestState};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use jiff::Timestamp;

use crate::lane_tree::cause_text;
use crate::output::visible;
use crate::work::Worked;

/// Clusters with a bar of their own: as many as fit a small terminal; the others are counted in one more.
const BARS_MAX: usize = 16;

/// How often a bar's sign of life moves.
const TICK: Duration = Duration::from_millis(120);

/// Shows how far the clusters of logical clouds are.
pub(crate) struct Progress {
    /// Lines about several clouds say which one they are about.
    names_clouds: bool,
    shown: Shown,
}

enum Shown {
    Bars(Bars),
    /// What was last said of each cluster: only a change is said.
    Lines(BTreeMap<String, String>),
}

/// A bar for each of the first clusters, and one that counts the others.
struct Bars {
    all: MultiProgress,
    own: BTreeMap<String, ProgressBar>,
    others: Option<ProgressBar>,
    /// Whether each of the others is at its end.
    ended: BTreeMap<String, bool>,
}

impl Progress {
    /// For so many clouds: bars where standard error is a terminal, else lines.
    pub(crate) fn new(clouds: usize) -> Self {
        let shown = if std::io::stderr().is_terminal() {
            let (all, own) = (MultiProgress::new(), BTreeMap::new());
            Shown::Bars(Bars { all, own, others: None, ended: BTreeMap::new() })
        } else {
            Shown::Lines(BTreeMap::new())
        };
        Self { names_clouds: clouds > 1, shown }
    }

    /// Shows the status of one cloud.
    pub(crate) fn show(&mut self, worked: &Worked, lanes: &BTreeMap<ClusterId, LaneStatus>, now: Timestamp) {
        let Worked { project, cloud, .. } = worked;
        for (cluster, lane) in lanes {
            // What is shown of a lane is known by its title, and two projects may have clouds of one name.
            let title = if self.names_clouds {
                format!("{project}/{cloud} on {cluster}")
            } else {
                cluster.to_string()
            };
            match &mut self.shown {
                Shown::Lines(said) => say(said, title, lane),
                Shown::Bars(bars) => bars.show(title, lane, now),
            }
        }
    }
}

impl Drop for Progress {
    /// Leaves what was shown on the screen.
    fn drop(&mut self) {
        if let Shown::Bars(Bars { own, others, .. }) = &self.shown {
            own.values().chain(others).for_each(ProgressBar::abandon);
        }
    }
}

fn say(said: &mut BTreeMap<String, String>, title: String, lane: &LaneStatus) {
    let line = line_of(lane);
    if said.get(&title) != Some(&line) {
        // Nobody reads it when standard error is gone; the work goes on.
        let _ = writeln!(std::io::stderr(), "{title}: {}", visible(&line));
        said.insert(title, line);
    }
}

impl Bars {
    fn show(&mut self, title: String, lane: &LaneStatus, now: Timestamp) {
        if let Some(bar) = self.own.get(&title) {
            return show_in(bar, lane, now);
        }
        if self.own.len() < BARS_MAX {
            let bar = new_bar(&self.all, title.clone());
            show_in(&bar, lane, now);
            self.own.insert(title, bar);
            return;
        }
        self.ended.insert(title, is_at_end(lane.state));
        let bar = self.others.get_or_insert_with(|| new_bar(&self.all, "other clusters".to_owned()));
        bar.set_length(counted(self.ended.values(), |_| true));
        bar.set_position(counted(self.ended.values(), |ended| **ended));
    }
}

fn new_bar(all: &MultiProgress, title: String) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {prefix:24} [{bar:20}] {pos}/{len} {msg}");
    // First among the others, then drawn: it would draw itself elsewhere.
    let bar = all.add(ProgressBar::new(0));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar.set_prefix(title);
    bar.enable_steady_tick(TICK);
    bar
}

fn show_in(bar: &ProgressBar, lane: &LaneStatus, now: Timestamp) {
    bar.set_length(counted(steps(lane), |_| true));
    bar.set_position(counted(steps(lane), |done| *done));
    let cause = lane.cause.as_ref().map(|cause| format!(" ({})", text_of(cause, now)));
    let message = format!("{}{}", lane.state.as_str(), cause.unwrap_or_default());
    bar.set_message(visible(&message).into_owned());
    if is_at_end(lane.state) {
        bar.abandon();
    }
}

/// Which steps are done, of those that are known.
fn steps(lane: &LaneStatus) -> impl Iterator<Item = bool> {
    let objects = lane.objects.iter().map(|object| {
        matches!(
            object.state,
            ObjectState::Applied
                | ObjectState::Adopted
                | ObjectState::Edited
                | ObjectState::Drifted
                | ObjectState::Kept
        )
    });
    objects.chain(lane.requests.iter().map(|request| request.state == RequestState::Issued))
}

fn counted<T>(items: impl Iterator<Item = T>, counts: impl Fn(&T) -> bool) -> u64 {
    items.fold(0, |count, item| count + u64::from(counts(&item)))
}

fn is_at_end(state: LaneState) -> bool {
    matches!(state, LaneState::Done | LaneState::Removed | LaneState::Abandoned)
}

/// What a plain line says: no counts and no times, so that only news are written.
fn line_of(lane: &LaneStatus) -> String {
    match &lane.cause {
        Some(cause) if !matches!(lane.state, LaneState::Done | LaneState::Removed) => {
            format!("{}, {}", lane.state.as_str(), text_of(&without_time(cause), Timestamp::MAX))
        }
        Some(_) | None => lane.state.as_str().to_owned(),
    }
}

/// A cause with the object that it is about: nothing else on a line of progress names it.
fn text_of(cause: &Cause, now: Timestamp) -> String {
    match &cause.object {
        Some(object) => format!("{object}: {}", cause_text(cause, now)),
        None => cause_text(cause, now),
    }
}

fn without_time(cause: &Cause) -> Cause {
    Cause { next_try: None, ..cause.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dcm_core::app_context::Generation;
    use dcm_core::status::Reason;

    fn lane(state: LaneState, cause: Option<Cause>) -> LaneStatus {
        LaneStatus {
            observed_generation: Generation(1),
            state,
            since: Timestamp::UNIX_EPOCH,
            seen: None,
            cause,
            objects: Vec::new(),
            requests: Vec::new(),
        }
    }

    #[test]
    fn a_line_says_what_changed_and_no_times() {
        let cause = |second| Cause {
            next_try: Timestamp::from_second(second).ok(),
            ..Cause::new(Reason::Unreachable, "connection refused")
        };
        let one = line_of(&lane(LaneState::Working, Some(cause(5))));
        assert_eq!(one, "working, unreachable: connection refused");
        assert_eq!(line_of(&lane(LaneState::Working, Some(cause(9)))), one);
        assert_eq!(line_of(&lane(LaneState::Done, None)), "done");
    }
}
