//! Calls as operations that happen at one moment each, and the order that explains them.
//!
//! Each path is looked at on its own first: as if the writes of a batch had nothing to do with one another, then with what
//! follows for the others from one of them. Where batches are atomic, all paths are looked at together at last.

use dcm_core::port::store::Path;

use super::check::{Rule, Violation};
use super::facts::{Facts, is_refused};
use super::history::{Call, Moment, Outcome};
use super::search::{Kind, Operation, Step, Stuck, explain};

/// How many calls of an order are shown.
const SHOWN_MAX: usize = 12;

/// How the writes of a batch are taken whose outcome is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Batches {
    /// Each may have happened.
    Apart,
    /// They happened as the contract says.
    Together,
}

pub(super) fn check(facts: &Facts<'_>) -> Result<(), Violation> {
    for (batches, rule) in [(Batches::Apart, Rule::Documents), (Batches::Together, Rule::Batches)] {
        let operations = operations(facts, batches);
        for path in &facts.paths {
            let of_path = projected(&operations, path);
            let about = |stuck| violation(facts, rule, &format!("what was seen of {path}"), stuck);
            explain(&of_path, &facts.versions).map_err(about)?;
        }
        if batches == Batches::Together && facts.history.atomic_batches {
            let about =
                |stuck| violation(facts, Rule::Moments, "batches and pages of one moment each", stuck);
            explain(&operations, &facts.versions).map_err(about)?;
        }
    }
    Ok(())
}

/// What the operations do to one path.
fn projected<'h>(operations: &[Operation<'h>], path: &Path) -> Vec<Operation<'h>> {
    let steps = |operation: &Operation<'h>| -> Vec<Step<'h>> {
        operation.steps.iter().filter(|step| step.path == path).cloned().collect()
    };
    let of_path =
        operations.iter().map(|operation| Operation { steps: steps(operation), ..operation.clone() });
    of_path.filter(|operation| !operation.steps.is_empty()).collect()
}

fn operations<'h>(facts: &Facts<'h>, batches: Batches) -> Vec<Operation<'h>> {
    let mut operations = Vec::new();
    for (place, call) in facts.history.calls.iter().enumerate() {
        operations.extend(reads(facts, place, call));
        operations.extend(writes(facts, batches, place, call));
    }
    operations
}

/// What a call saw: all of it at one moment, where batches are atomic.
fn reads<'h>(facts: &Facts<'h>, place: usize, call: &'h Call) -> Vec<Operation<'h>> {
    let Some((returned, _)) = &call.answer else { return Vec::new() };
    let operation = |steps| Operation {
        call: place,
        invoked: call.invoked,
        done_by: Some(*returned),
        is_certain: true,
        steps,
    };
    let steps = facts.views(call).into_iter().map(|(path, view)| Step { path, kind: Kind::Sees(view) });
    if facts.history.atomic_batches {
        let steps: Vec<_> = steps.collect();
        return if steps.is_empty() { Vec::new() } else { vec![operation(steps)] };
    }
    steps.map(|step| operation(vec![step])).collect()
}

/// What a call wrote, or may have written.
fn writes<'h>(facts: &Facts<'h>, batches: Batches, place: usize, call: &'h Call) -> Vec<Operation<'h>> {
    let atomic = facts.history.atomic_batches;
    let mut operations = Vec::new();
    for (number, piece) in call.pieces().iter().enumerate() {
        if is_refused(call, number, atomic) {
            continue;
        }
        let done_by = done_by(facts, batches, call, number);
        let leaves = piece.puts.map(|write| (write, facts.puts.get(&write).and_then(|put| put.version)));
        let kind = Kind::Writes { expects: piece.expects, leaves };
        operations.push(Operation {
            call: place,
            invoked: call.invoked,
            done_by,
            is_certain: done_by.is_some(),
            steps: vec![Step { path: &piece.path, kind }],
        });
    }
    if atomic && batches == Batches::Together { joined(operations) } else { operations }
}

/// One operation of all.
fn joined(operations: Vec<Operation<'_>>) -> Vec<Operation<'_>> {
    let mut all = operations.into_iter();
    let Some(mut first) = all.next() else { return Vec::new() };
    first.steps.extend(all.flat_map(|operation| operation.steps));
    vec![first]
}

/// By when one write of a call happened for certain; none when it may not have happened.
fn done_by(facts: &Facts<'_>, batches: Batches, call: &Call, number: usize) -> Option<Moment> {
    let seen = |number: usize| {
        let write = call.pieces().get(number)?.puts?;
        facts.puts.get(&write)?.done_by
    };
    let (returned, applied) = match &call.answer {
        Some((returned, Outcome::Written(_))) => return Some(*returned),
        Some((returned, Outcome::Conflict { applied, .. } | Outcome::Unavailable { applied })) => {
            (Some(*returned), *applied)
        }
        _ => (None, 0),
    };
    if batches == Batches::Apart {
        return seen(number);
    }
    // All of an atomic batch happened when one of its writes did; else those before it.
    let first = if facts.history.atomic_batches { 0 } else { number };
    let witnessed = (first..call.pieces().len()).filter_map(seen).min();
    let acknowledged = returned.filter(|_| number < applied);
    witnessed.into_iter().chain(acknowledged).min()
}

fn violation(facts: &Facts<'_>, rule: Rule, of: &str, stuck: Stuck) -> Violation {
    let Stuck { is_given_up, order, there, next } = stuck;
    if is_given_up {
        return Violation::new(
            Rule::TooHard,
            format!("an order that explains {of} was not found in time"),
            there,
        );
    }
    let mut shown = Vec::new();
    if order.len() > SHOWN_MAX {
        shown.push("...".to_owned());
    }
    shown.extend(facts.show(order[order.len().saturating_sub(SHOWN_MAX)..].iter().copied()));
    shown.push(format!("then {}, and none of these can be next:", there.join(", ")));
    shown.extend(facts.show(next));
    Violation::new(rule, format!("no order of the calls explains {of}"), shown)
}
