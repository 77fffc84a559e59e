//! How work is shown while it goes on, on standard error: bars on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use dcm_core::name::ClusterId;
use dcm_core::status::{ContextStatus, LaneState, LaneStatus, ObjectState, RequestState};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use jiff::Timestamp;

use crate::lane_tree::{cause_text, state_of};

/// Clusters with a bar of their own: as many as fit a small terminal; the others are counted in one more.
const BARS_MAX: usize = 16;

/// How often a bar's sign of life moves.
const TICK: Duration = Duration::from_millis(120);

/// Shows how far the clusters of an app context are.
pub(crate) struct Progress {
    shown: Shown,
    /// What was last said of each cluster: a change is said once.
    said: BTreeMap<ClusterId, String>,
}

enum Shown {
    Bars { all: MultiProgress, bars: BTreeMap<ClusterId, ProgressBar>, others: Option<ProgressBar> },
    Lines,
}

impl Progress {
    /// Bars where standard error is a terminal, else lines.
    pub(crate) fn new() -> Self {
        let shown = if std::io::stderr().is_terminal() {
            Shown::Bars { all: MultiProgress::new(), bars: BTreeMap::new(), others: None }
        } else {
            Shown::Lines
        };
        Self { shown, said: BTreeMap::new() }
    }

    /// Shows a status.
    pub(crate) fn show(&mut self, status: &ContextStatus, now: Timestamp) {
        for (cluster, lane) in &status.lanes {
            self.show_lane(cluster, lane, now);
        }
        if let Shown::Bars { others: Some(bar), bars, .. } = &self.shown {
            let others = status.lanes.iter().filter(|(cluster, _)| !bars.contains_key(*cluster));
            let (mut done, mut count) = (0, 0);
            for (_, lane) in others {
                count += 1;
                done += u64::from(is_at_end(lane.state));
            }
            bar.set_length(count);
            bar.set_position(done);
        }
    }

    fn show_lane(&mut self, cluster: &ClusterId, lane: &LaneStatus, now: Timestamp) {
        match &mut self.shown {
            Shown::Lines => {
                let line = line_of(lane);
                if self.said.get(cluster) != Some(&line) {
                    // Nobody reads it when standard error is gone; the work goes on.
                    let _ = writeln!(std::io::stderr(), "{cluster}: {line}");
                    self.said.insert(cluster.clone(), line);
                }
            }
            Shown::Bars { all, bars, others } => {
                if let Some(bar) = bar_of(all, bars, others, cluster) {
                    show_in(bar, lane, now);
                }
            }
        }
    }

    /// Leaves what was shown on the screen.
    pub(crate) fn finish(&mut self) {
        if let Shown::Bars { bars, others, .. } = &self.shown {
            bars.values().chain(others).for_each(ProgressBar::abandon);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

fn bar_of<'a>(
    all: &MultiProgress,
    bars: &'a mut BTreeMap<ClusterId, ProgressBar>,
    others: &mut Option<ProgressBar>,
    cluster: &ClusterId,
) -> Option<&'a ProgressBar> {
    if !bars.contains_key(cluster) {
        if bars.len() == BARS_MAX {
            others.get_or_insert_with(|| new_bar(all, "other clusters"));
            return None;
        }
        bars.insert(cluster.clone(), new_bar(all, &cluster.to_string()));
    }
    bars.get(cluster)
}

fn new_bar(all: &MultiProgress, title: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {prefix:24} [{bar:20}] {pos}/{len} {msg}");
    let bar = ProgressBar::new(0).with_prefix(title.to_owned());
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar.enable_steady_tick(TICK);
    all.add(bar)
}

fn show_in(bar: &ProgressBar, lane: &LaneStatus, now: Timestamp) {
    let (done, all) = counted(lane);
    bar.set_length(all);
    bar.set_position(done);
    let cause = lane.cause.as_ref().map(|cause| format!(" ({})", cause_text(cause, now)));
    bar.set_message(format!("{}{}", state_of(lane.state), cause.unwrap_or_default()));
    if is_at_end(lane.state) {
        bar.abandon();
    }
}

/// Steps that are done, of those that are known.
fn counted(lane: &LaneStatus) -> (u64, u64) {
    let objects = lane.objects.iter().map(|object| {
        matches!(object.state, ObjectState::Applied | ObjectState::Adopted | ObjectState::Kept)
    });
    let requests = lane.requests.iter().map(|request| request.state == RequestState::Issued);
    objects.chain(requests).fold((0, 0), |(done, all), is_done| (done + u64::from(is_done), all + 1))
}

fn is_at_end(state: LaneState) -> bool {
    matches!(state, LaneState::Done | LaneState::Removed)
}

/// What a plain line says: no counts and no times, so that only news are written.
fn line_of(lane: &LaneStatus) -> String {
    match &lane.cause {
        Some(cause) if !is_at_end(lane.state) => {
            format!("{}, {}", state_of(lane.state), cause_text(&without_time(cause), Timestamp::MAX))
        }
        Some(_) | None => state_of(lane.state).to_owned(),
    }
}

fn without_time(cause: &dcm_core::status::Cause) -> dcm_core::status::Cause {
    dcm_core::status::Cause { next_try: None, ..cause.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dcm_core::app_context::Generation;
    use dcm_core::status::{Cause, Reason};

    fn lane(state: LaneState, cause: Option<Cause>) -> LaneStatus {
        LaneStatus {
            observed_generation: Generation(1),
            state,
            since: Timestamp::UNIX_EPOCH,
            cause,
            objects: Vec::new(),
            requests: Vec::new(),
        }
    }

    #[test]
    fn a_line_says_what_changed_and_no_times() {
        let cause = |second| Cause {
            reason: Reason::Unreachable,
            message: "connection refused".into(),
            object: None,
            next_try: Timestamp::from_second(second).ok(),
        };
        let one = line_of(&lane(LaneState::Working, Some(cause(5))));
        assert_eq!(one, "working, unreachable: connection refused");
        assert_eq!(line_of(&lane(LaneState::Working, Some(cause(9)))), one);
        assert_eq!(line_of(&lane(LaneState::Done, None)), "done");
    }
}
