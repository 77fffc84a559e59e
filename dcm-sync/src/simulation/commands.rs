//! What real clusters see beside workers: commands that people give, which do their work by themselves, and controllers.

use std::time::Duration;

use super::scenario::{Act, Draw, Meddling, Scenario, wishes};
use super::wish::Wish;
use crate::sim::Seeded;

/// Most commands of a scenario.
const COMMANDS_MAX: u64 = 4;

/// Most times that others change a text of which we edit a part.
const EDITS_MAX: u64 = 12;

/// Most times that a controller looks for namespaces.
const WRITES_MAX: u64 = 8;

/// In some scenarios people give commands, mostly for what is wanted already, and often where no worker runs.
pub(super) fn let_command(seed: u64, scenario: &mut Scenario) {
    let draw = Draw { random: Seeded::named(seed, "commands"), restless: false };
    if !draw.one_in(4) {
        return;
    }
    if draw.one_in(2) {
        scenario.workers.clear();
        scenario.acts.retain(|(_, act)| !matches!(act, Act::Start { .. }));
    }
    let applied = |(_, act): &(Duration, Act)| match act {
        Act::Wish { context, wish: wish @ (Wish::Apply(_) | Wish::ApplyAsPlanned(_)), .. } => {
            Some((*context, *wish))
        }
        _ => None,
    };
    let applied: Vec<_> = scenario.acts.iter().filter_map(applied).collect();
    let Some(last) = applied.len().checked_sub(1).and_then(|last| u64::try_from(last).ok()) else { return };
    for _ in 0..draw.count(1, COMMANDS_MAX) {
        let (context, wish) = applied[draw.count(0, last)];
        scenario.acts.push((draw.moment(), Act::Command { context, wish }));
    }
    scenario.acts.sort_by_key(|(at, _)| *at);
}

/// In some scenarios a controller writes into every namespace.
pub(super) fn let_write_into(seed: u64, scenario: &mut Scenario) {
    let draw = Draw { random: Seeded::named(seed, "controllers"), restless: false };
    if draw.one_in(4) {
        scenario.meddle(&draw, Meddling::WriteInto, WRITES_MAX);
    }
}

/// In some scenarios app contexts edit parts of an object of other clients, and these change it, too.
pub(super) fn let_edit(seed: u64, scenario: &mut Scenario) {
    let draw = Draw { random: Seeded::named(seed, "edits"), restless: false };
    if !draw.one_in(3) {
        return;
    }
    for wish in wishes(scenario) {
        if let Wish::Apply(variant) | Wish::ApplyAsPlanned(variant) = wish
            && draw.below(4) > 0
        {
            *variant = variant.with_edit();
        }
    }
    scenario.meddle(&draw, Meddling::EditText, EDITS_MAX);
    // Of a block that a cluster has again after it lost its last writes, nothing but the comments is known to be ours.
    let loses = scenario.acts.iter().any(|(_, act)| matches!(act, Act::Lose { .. }));
    if !loses && draw.one_in(2) {
        scenario.meddle(&draw, Meddling::DropComments, EDITS_MAX);
    }
}
