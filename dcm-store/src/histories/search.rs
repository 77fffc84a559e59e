//! Looks for an order of operations, each at one moment, that explains what was seen and agrees with their times.
//!
//! It goes through orders as Wing and Gong described, and remembers where it has been. Little is left to try: the writes of
//! a path follow one another by their versions, reads are taken as soon as they fit, and what may have happened without anybody being told is
//! tried when nothing else helps.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::port::store::{Path, Version};

use super::content::WriteId;
use super::facts::View;
use super::history::Moment;

/// How many situations are looked at before it is given up. Histories of some hundred calls need some thousand at most.
const SITUATIONS_MAX: usize = 200_000;

/// Something that happens at one moment: a call, or the part of it that is about one document.
#[derive(Debug, Clone)]
pub(super) struct Operation<'h> {
    /// The place of its call in the history.
    pub(super) call: usize,
    pub(super) invoked: Moment,
    /// By when it happens; none when it may happen late.
    pub(super) done_by: Option<Moment>,
    /// It happened for certain.
    pub(super) is_certain: bool,
    /// What it does, each to another document.
    pub(super) steps: Vec<Step<'h>>,
}

/// What an operation does to one document.
#[derive(Debug, Clone)]
pub(super) struct Step<'h> {
    pub(super) path: &'h Path,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Sees(View),
    /// Leaves a write with its version, where it is known; none: leaves nothing.
    Writes {
        expects: Option<Version>,
        leaves: Option<(WriteId, Option<Version>)>,
    },
}

/// Why there is no order.
#[derive(Debug)]
pub(super) struct Stuck {
    /// The search ended early.
    pub(super) is_given_up: bool,
    /// The calls of the order that explains most.
    pub(super) order: Vec<usize>,
    /// What is there then.
    pub(super) there: Vec<String>,
    /// The calls of which one would have to be next.
    pub(super) next: Vec<usize>,
}

/// What is there at a path.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    document: Option<(WriteId, Option<Version>)>,
    /// The highest version so far.
    highest: Option<Version>,
}

/// Which operations are done, as bits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Done(Vec<u64>);

impl Done {
    fn has(&self, place: usize) -> bool {
        self.0[place / 64] & (1 << (place % 64)) != 0
    }

    fn add(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }
}

/// A begin of an order.
#[derive(Clone)]
struct Situation {
    done: Done,
    spots: Vec<Spot>,
    order: Vec<usize>,
    /// What may come next; the last one is tried first.
    choices: Vec<usize>,
}

struct Search<'s, 'h> {
    operations: Vec<&'s Operation<'h>>,
    /// Which ones must be done before each, as they gave lower versions.
    before: Vec<Vec<usize>>,
    places: BTreeMap<&'h Path, usize>,
    versions: &'s BTreeMap<(&'h Path, Version), WriteId>,
}

/// Finds an order. `versions` says who gave which version.
///
/// # Errors
/// [`Stuck`] when there is none.
pub(super) fn explain<'h>(
    operations: &[Operation<'h>],
    versions: &BTreeMap<(&'h Path, Version), WriteId>,
) -> Result<(), Stuck> {
    Search::new(operations, versions).run()
}

impl<'s, 'h> Search<'s, 'h> {
    fn new(operations: &'s [Operation<'h>], versions: &'s BTreeMap<(&'h Path, Version), WriteId>) -> Self {
        let is_useful = usefulness(operations, versions);
        let operations: Vec<_> =
            operations.iter().filter(|operation| operation.is_certain || is_useful(operation)).collect();
        let mut by_version = BTreeMap::new();
        for (place, operation) in operations.iter().enumerate() {
            for Step { path, kind } in &operation.steps {
                if let Kind::Writes { leaves: Some((_, Some(version))), .. } = kind {
                    by_version.insert((*path, *version), place);
                }
            }
        }
        let earlier = |(path, version): (&'h Path, Version)| {
            let mut below = by_version.range((path, Version(0))..(path, version));
            below.next_back().map(|(_, place)| *place)
        };
        let before = |operation: &&Operation<'h>| {
            let given = operation.steps.iter().filter_map(|step| match step.kind {
                Kind::Writes { leaves: Some((_, Some(version))), .. } => Some((step.path, version)),
                _ => None,
            });
            given.filter_map(earlier).collect()
        };
        let before = operations.iter().map(before).collect();
        let paths: BTreeSet<_> =
            operations.iter().flat_map(|operation| &operation.steps).map(|step| step.path).collect();
        Self { operations, before, places: paths.into_iter().zip(0..).collect(), versions }
    }

    fn run(&self) -> Result<(), Stuck> {
        let done = Done(vec![0; self.operations.len().div_ceil(64)]);
        let spots = vec![Spot::default(); self.places.len()];
        let first = Situation { done, spots, order: Vec::new(), choices: Vec::new() };
        let mut best = first.clone();
        let (mut seen, mut stack) = (BTreeSet::new(), vec![self.settled(first)]);
        while let Some(situation) = stack.last_mut() {
            if situation.order.len() > best.order.len() {
                best = situation.clone();
            }
            if self.limit(&situation.done).is_through {
                return Ok(());
            }
            let Some(choice) = situation.choices.pop() else {
                stack.pop();
                continue;
            };
            let Some(next) = self.after(situation, choice) else { continue };
            let next = self.settled(next);
            if seen.len() == SITUATIONS_MAX {
                return Err(self.stuck(&best, true));
            }
            if seen.insert((next.done.clone(), next.spots.clone())) {
                stack.push(next);
            }
        }
        Err(self.stuck(&best, false))
    }

    /// What comes when an operation is done next; none when it does not fit.
    fn after(&self, situation: &Situation, choice: usize) -> Option<Situation> {
        let spots = self.fit(choice, &situation.spots)?;
        let (mut done, mut order) = (situation.done.clone(), situation.order.clone());
        done.add(choice);
        order.push(choice);
        Some(Situation { done, spots, order, choices: Vec::new() })
    }

    /// Takes all reads that fit, which never hinders anything, and collects what may come then.
    fn settled(&self, mut situation: Situation) -> Situation {
        loop {
            let limit = self.limit(&situation.done);
            let mut choices = Vec::new();
            let mut reads = Vec::new();
            for place in 0..self.operations.len() {
                if situation.done.has(place) || !self.may_be_next(place, &situation.done, &limit) {
                    continue;
                }
                match self.fit(place, &situation.spots) {
                    Some(spots) if spots == situation.spots => reads.push(place),
                    Some(_) => choices.push(place),
                    None => {}
                }
            }
            if reads.is_empty() {
                // What ends first is tried first, and last what need not have happened.
                choices.sort_by_key(|place| std::cmp::Reverse(self.urgency(*place)));
                situation.choices = choices;
                return situation;
            }
            for place in reads {
                situation.done.add(place);
                situation.order.push(place);
            }
        }
    }

    fn urgency(&self, place: usize) -> (bool, Moment, Moment) {
        let operation = self.operations[place];
        (!operation.is_certain, operation.done_by.unwrap_or(Moment(u64::MAX)), operation.invoked)
    }

    /// What is invoked after something that is not done had ended can't be next.
    fn may_be_next(&self, place: usize, done: &Done, limit: &Limit) -> bool {
        self.operations[place].invoked <= limit.moment
            && self.before[place].iter().all(|earlier| done.has(*earlier))
    }

    fn limit(&self, done: &Done) -> Limit {
        let left = self.operations.iter().enumerate().filter(|(place, _)| !done.has(*place));
        let mut limit = Limit { is_through: true, moment: Moment(u64::MAX) };
        for (_, operation) in left.filter(|(_, operation)| operation.is_certain) {
            limit.is_through = false;
            limit.moment = limit.moment.min(operation.done_by.unwrap_or(limit.moment));
        }
        limit
    }

    /// What is there after an operation; none when it does not find what it needs.
    fn fit(&self, place: usize, spots: &[Spot]) -> Option<Vec<Spot>> {
        let mut spots = spots.to_vec();
        for Step { path, kind } in &self.operations[place].steps {
            let spot = &mut spots[self.places[path]];
            match kind {
                Kind::Sees(View::Nothing) => spot.document.is_none().then_some(())?,
                Kind::Sees(View::Document(write, version)) => {
                    (spot.document == Some((*write, Some(*version)))).then_some(())?;
                }
                Kind::Sees(View::Version(version)) => self.found(path, spot, *version)?,
                Kind::Writes { expects, leaves } => {
                    match expects {
                        None => spot.document.is_none().then_some(())?,
                        Some(version) => self.found(path, spot, *version)?,
                    }
                    spot.document = *leaves;
                    if let Some((_, Some(version))) = leaves {
                        (spot.highest < Some(*version)).then_some(())?;
                        spot.highest = Some(*version);
                    }
                }
            }
        }
        Some(spots)
    }

    /// Finds a document in a version. A write of which nobody was told its version may have given one that else nobody gave.
    fn found(&self, path: &Path, spot: &mut Spot, version: Version) -> Option<()> {
        let (write, there) = spot.document?;
        match there {
            Some(there) => (there == version).then_some(()),
            None if self.versions.contains_key(&(path, version)) || spot.highest >= Some(version) => None,
            None => {
                spot.document = Some((write, Some(version)));
                spot.highest = Some(version);
                Some(())
            }
        }
    }

    fn stuck(&self, best: &Situation, is_given_up: bool) -> Stuck {
        let call = |place: &usize| self.operations[*place].call;
        let limit = self.limit(&best.done);
        let left = (0..self.operations.len()).filter(|place| !best.done.has(*place));
        let next = left.filter(|place| self.may_be_next(*place, &best.done, &limit));
        let there = self.places.iter().map(|(path, place)| match &best.spots[*place].document {
            Some((write, Some(version))) => format!("{path} is {write} in version {}", version.0),
            Some((write, None)) => format!("{path} is {write}"),
            None => format!("{path} is not there"),
        });
        Stuck {
            is_given_up,
            order: best.order.iter().map(call).collect(),
            there: there.collect(),
            next: next.map(|place| call(&place)).collect(),
        }
    }
}

/// What bounds the next operation.
struct Limit {
    /// Everything that happened for certain is done.
    is_through: bool,
    /// The first end of what is not done.
    moment: Moment,
}

/// Which of the operations that need not have happened can make a difference: not those that replace what something else
/// replaced for certain, since a version is used once; nor those that only leave what nobody ever saw.
fn usefulness<'h>(
    operations: &[Operation<'h>],
    versions: &BTreeMap<(&'h Path, Version), WriteId>,
) -> impl Fn(&Operation<'h>) -> bool {
    let (mut replaced, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for operation in operations {
        for Step { path, kind } in &operation.steps {
            let version = match kind {
                Kind::Sees(View::Nothing) => None,
                Kind::Sees(View::Document(_, version) | View::Version(version)) => Some(*version),
                Kind::Writes { expects, .. } => *expects,
            };
            let Some(version) = version else { continue };
            if !versions.contains_key(&(*path, version)) {
                unknown.insert(*path);
            }
            if operation.is_certain && matches!(kind, Kind::Writes { .. }) {
                replaced.insert((*path, version));
            }
        }
    }
    move |operation| {
        let is_late = |step: &Step<'h>| match step.kind {
            Kind::Writes { expects: Some(version), .. } => replaced.contains(&(step.path, version)),
            _ => false,
        };
        let matters = |step: &Step<'h>| match step.kind {
            Kind::Writes { leaves: None, .. } => true,
            Kind::Writes { leaves: Some(_), .. } => unknown.contains(&step.path),
            Kind::Sees(_) => false,
        };
        !operation.steps.iter().any(is_late) && operation.steps.iter().any(matters)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::histories::history::Client;

    /// An operation before its numbers are known.
    #[derive(Debug, Clone)]
    struct Draft {
        invoked: u64,
        lasts: u64,
        is_certain: bool,
        steps: Vec<(usize, DraftKind)>,
    }

    #[derive(Debug, Clone)]
    enum DraftKind {
        SeesNothing,
        SeesWrite(usize),
        SeesVersion(u64),
        Writes { expects: Option<u64>, version: Option<u64> },
        Deletes(u64),
    }

    fn kind(reads: bool) -> BoxedStrategy<DraftKind> {
        if reads {
            return prop_oneof![
                Just(DraftKind::SeesNothing),
                (0..8_usize).prop_map(DraftKind::SeesWrite),
                (1..5_u64).prop_map(DraftKind::SeesVersion),
            ]
            .boxed();
        }
        prop_oneof![
            (prop::option::of(1..5_u64), prop::option::weighted(0.7, 1..5_u64))
                .prop_map(|(expects, version)| DraftKind::Writes { expects, version }),
            (1..5_u64).prop_map(DraftKind::Deletes),
        ]
        .boxed()
    }

    fn draft() -> impl Strategy<Value = Draft> {
        any::<bool>().prop_flat_map(|reads| {
            let steps = prop::collection::btree_map(0..2_usize, kind(reads), 1..3);
            (0..10_u64, 0..6_u64, any::<bool>(), steps).prop_map(move |(invoked, lasts, certain, steps)| {
                Draft { invoked, lasts, is_certain: certain || reads, steps: steps.into_iter().collect() }
            })
        })
    }

    type Versions<'h> = BTreeMap<(&'h Path, Version), WriteId>;

    /// Gives each write a number, and each version to the first that wants it.
    fn finish<'h>(drafts: &[Draft], paths: &'h [Path]) -> (Vec<Operation<'h>>, Versions<'h>) {
        let mut versions = BTreeMap::new();
        let mut operations = Vec::new();
        let id = |call: usize, place: usize| WriteId {
            client: Client(u32::try_from(place).unwrap()),
            number: u32::try_from(call).unwrap(),
        };
        for (call, draft) in drafts.iter().enumerate() {
            let mut is_certain = draft.is_certain;
            let mut steps = Vec::new();
            for (place, kind) in &draft.steps {
                let path = &paths[*place];
                let kind = match kind {
                    DraftKind::Writes { expects, version } => {
                        let write = id(call, *place);
                        let free = |version: &u64| !versions.contains_key(&(path, Version(*version)));
                        let version = version.filter(free).map(Version);
                        versions.extend(version.map(|version| ((path, version), write)));
                        is_certain |= version.is_some();
                        Kind::Writes { expects: expects.map(Version), leaves: Some((write, version)) }
                    }
                    DraftKind::Deletes(version) => {
                        Kind::Writes { expects: Some(Version(*version)), leaves: None }
                    }
                    DraftKind::SeesNothing | DraftKind::SeesWrite(_) => Kind::Sees(View::Nothing),
                    DraftKind::SeesVersion(version) => Kind::Sees(View::Version(Version(*version))),
                };
                steps.push(Step { path, kind });
            }
            let done_by = is_certain.then(|| Moment(draft.invoked + draft.lasts));
            operations.push(Operation { call, invoked: Moment(draft.invoked), done_by, is_certain, steps });
        }
        for (operation, draft) in operations.iter_mut().zip(drafts) {
            for (step, (place, kind)) in operation.steps.iter_mut().zip(&draft.steps) {
                let DraftKind::SeesWrite(call) = kind else { continue };
                let write = id(*call, *place);
                let known = versions.iter().find(|(_, other)| **other == write);
                if let Some(((_, version), _)) = known {
                    step.kind = Kind::Sees(View::Document(write, *version));
                }
            }
        }
        (operations, versions)
    }

    /// Tries all orders of all choices, without a thought.
    fn is_explained(
        operations: &[Operation<'_>],
        versions: &Versions<'_>,
        done: &mut Vec<usize>,
        there: &BTreeMap<&Path, Spot>,
    ) -> bool {
        let left: Vec<usize> = (0..operations.len()).filter(|place| !done.contains(place)).collect();
        if left.iter().all(|place| !operations[*place].is_certain) {
            return true;
        }
        left.iter().any(|place| {
            let operation = &operations[*place];
            let ends_before = |other: &usize| {
                let other = &operations[*other];
                other.is_certain && other.done_by.is_some_and(|at| at < operation.invoked)
            };
            if left.iter().any(ends_before) {
                return false;
            }
            let Some(next) = plainly(operation, versions, there) else { return false };
            done.push(*place);
            let explained = is_explained(operations, versions, done, &next);
            done.pop();
            explained
        })
    }

    fn plainly<'h>(
        operation: &Operation<'h>,
        versions: &Versions<'h>,
        there: &BTreeMap<&'h Path, Spot>,
    ) -> Option<BTreeMap<&'h Path, Spot>> {
        let mut there = there.clone();
        for Step { path, kind } in &operation.steps {
            let spot = there.entry(path).or_default();
            let wanted = match kind {
                Kind::Sees(View::Nothing) | Kind::Writes { expects: None, .. } => None,
                Kind::Sees(View::Document(_, version) | View::Version(version)) => Some(*version),
                Kind::Writes { expects, .. } => *expects,
            };
            match (spot.document, wanted) {
                (None, None) => {}
                (Some((_, Some(version))), Some(wanted)) if version == wanted => {}
                (Some((write, None)), Some(wanted))
                    if !versions.contains_key(&(path, wanted)) && spot.highest < Some(wanted) =>
                {
                    *spot = Spot { document: Some((write, Some(wanted))), highest: Some(wanted) };
                }
                _ => return None,
            }
            if let Kind::Writes { leaves, .. } = kind {
                spot.document = *leaves;
                if let Some((_, Some(version))) = leaves {
                    if spot.highest >= Some(*version) {
                        return None;
                    }
                    spot.highest = Some(*version);
                }
            }
        }
        Some(there)
    }

    fn writes(is_certain: bool, kind: DraftKind) -> Draft {
        Draft { invoked: 0, lasts: 0, is_certain, steps: vec![(0, kind)] }
    }

    #[test]
    fn a_deletion_that_may_have_happened_names_the_version_of_a_write_that_nobody_saw() {
        let drafts = [
            writes(true, DraftKind::Writes { expects: None, version: Some(1) }),
            writes(false, DraftKind::Writes { expects: Some(1), version: None }),
            writes(false, DraftKind::Deletes(2)),
            writes(true, DraftKind::Writes { expects: None, version: Some(3) }),
        ];
        let paths = [Path::new("a").unwrap()];
        let (operations, versions) = finish(&drafts, &paths);
        assert!(explain(&operations, &versions).is_ok());
        let (operations, versions) = finish(&[&drafts[..2], &drafts[3..]].concat(), &paths);
        let stuck = explain(&operations, &versions).unwrap_err();
        assert_eq!((stuck.order, stuck.next), (vec![0], vec![2]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn it_finds_an_order_exactly_where_trying_all_of_them_does(
            drafts in prop::collection::vec(draft(), 1..7),
        ) {
            let paths = [Path::new("a").unwrap(), Path::new("b").unwrap()];
            let (operations, versions) = finish(&drafts, &paths);
            let expected = is_explained(&operations, &versions, &mut Vec::new(), &BTreeMap::new());
            prop_assert_eq!(explain(&operations, &versions).is_ok(), expected);
        }
    }
}
