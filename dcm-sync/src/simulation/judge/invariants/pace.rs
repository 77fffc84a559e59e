//! When something is sent, and how much.

use std::time::Duration;

use super::super::super::engine::options;
use super::{Scene, handled};
use crate::simulation::events::{Event, Halt, Sent};

/// How long it may take until nothing more of what is paused arrives: a late watch, and a late request.
const PAUSED: Duration = Duration::from_secs(90);

/// While an app context is paused nothing of it is written, but for what was on its way.
pub(super) fn paused_work_stands_still(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some(handled) = handled(event) else { return Ok(()) };
    let Some(context) = &handled.context else { return Ok(()) };
    match scene.facts.paused_since(context) {
        Some(since) if handled.at > since + PAUSED => {
            Err(format!("a write for {context} on {}, paused since {since}", handled.cluster))
        }
        _ => Ok(()),
    }
}

/// Whoever paused an app context or a cluster, and was told that nothing is under way, can rely on it.
pub(super) fn nothing_begins_once_a_stop_has_returned(
    scene: &Scene<'_>,
    event: &Event,
) -> Result<(), String> {
    let Event::Sent(sent) = event else { return Ok(()) };
    let cluster = Halt::Cluster(sent.cluster.clone());
    let context = sent.context.clone().map(Halt::Context);
    match [Some(cluster), context].into_iter().flatten().find(|halt| scene.facts.is_halted(halt)) {
        Some(halt) => Err(format!("{:?} was sent to {}, and {halt:?} stands still", sent.verb, sent.cluster)),
        None => Ok(()),
    }
}

/// No process sends more writes to a cluster than a burst and its rate.
pub(super) fn the_write_budget_is_kept(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Event::Sent(Sent { process, at, cluster, .. }) = event else { return Ok(()) };
    let options = options();
    let (burst, rate) = (u64::from(options.writes_burst), u64::from(options.writes_per_second));
    let mut count = 1;
    for sent in scene.facts.sent(*process, cluster).rev() {
        count += 1;
        // A clock that is fast gives a little more.
        let seconds = u64::try_from(at.duration_since(sent).as_secs()).unwrap_or(0) + 2;
        if count > burst + rate * seconds {
            return Err(format!("{count} writes to {cluster} within {seconds} s"));
        }
    }
    Ok(())
}

/// A process that makes call after call while time stands still would never leave the processor to others.
pub(super) fn nobody_goes_round_in_circles(_: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Event::Spun(process) = event else { return Ok(()) };
    Err(format!("process {} makes call after call in no time", process.0))
}
