//! What happens in one simulation, decided beforehand by its seed: a list that can be printed, and made shorter.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::sim::{Faults, Latency, Link, Seeded};

use super::commands::{let_command, let_edit, let_write_into};
use super::fate::Death;
use super::revocation::{Revocation, let_revoke};
use super::store::StoreFaults;
use super::time::Skew;
use super::wish::{POLICIES, STATES, Variant, Wish};

/// Most clusters of a scenario.
const CLUSTERS_MAX: u64 = 4;

/// Most app contexts of a scenario.
pub(super) const CONTEXTS_MAX: u64 = 3;

/// Most workers at the beginning.
const WORKERS_MAX: u64 = 3;

/// How long things go wrong.
const TROUBLE: Duration = Duration::from_secs(240);

/// How many clusters there are in a storm.
const STORM_CLUSTERS: usize = 300;

/// How long workers die in a storm, one every second.
const STORM_SECONDS: u64 = 20;

/// One simulation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// The seed of all that is drawn while it runs, and what it was made from.
    pub seed: u64,
    /// How many clusters there are.
    pub clusters: usize,
    /// How many app contexts people have to do with.
    pub contexts: usize,
    /// How wrong the clock of each worker is that runs at the beginning.
    pub workers: Vec<Skew>,
    /// Whether batches are atomic in the store.
    pub atomic_batches: bool,
    /// How far away clusters and store are.
    pub latency: Latency,
    /// Chances of faults on the way to clusters.
    pub faults: Faults,
    /// Chances of faults on the way to the store.
    pub store_faults: StoreFaults,
    /// What happens when.
    pub acts: Vec<(Duration, Act)>,
    /// What is wanted of each app context in the end, when nothing goes wrong any more.
    pub last_wishes: Vec<Wish>,
    /// The number of the cluster that has a second name, [`twin_id`](super::twin_id): none where each has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<usize>,
    /// Before the end, rights are taken away: none where they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocation: Option<Revocation>,
}

/// Something that happens to the world.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Act {
    /// Somebody wants something of an app context.
    Wish {
        /// The number of the app context.
        context: usize,
        /// What.
        wish: Wish,
        /// When whoever asks for it dies; none: never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        death: Option<Death>,
    },
    /// Somebody gives a command: it asks for something of an app context, and sees to it by itself, until that is done or it takes too
    /// long.
    Command {
        /// The number of the app context.
        context: usize,
        /// What.
        wish: Wish,
    },
    /// Somebody changes something on a cluster.
    Meddle {
        /// The number of the cluster.
        cluster: usize,
        /// What.
        meddling: Meddling,
        /// Decides which object it hits.
        number: u64,
    },
    /// A cluster is reached otherwise for a while.
    Link {
        /// The number of the cluster.
        cluster: usize,
        /// How.
        link: Link,
        /// How long.
        lasting: Duration,
    },
    /// A cluster's API server starts anew.
    Restart {
        /// The number of the cluster.
        cluster: usize,
    },
    /// A cluster's API server loses what it wrote in the last time.
    Lose {
        /// The number of the cluster.
        cluster: usize,
        /// How much.
        last: Duration,
    },
    /// Nobody reaches the store for a while.
    StoreDown {
        /// How long.
        lasting: Duration,
    },
    /// A worker dies.
    Kill {
        /// Which of those that run.
        worker: usize,
        /// When exactly.
        death: Death,
    },
    /// A worker starts.
    Start {
        /// How wrong its clock is.
        skew: Skew,
    },
    /// Somebody pauses all work on a cluster.
    StopCluster {
        /// The number of the cluster.
        cluster: usize,
    },
    /// Somebody goes on with the work on a cluster.
    ResumeCluster {
        /// The number of the cluster.
        cluster: usize,
    },
    /// A worker is asked to stop.
    Stop {
        /// Which of those that run.
        worker: usize,
    },
    /// A worker stands still, and goes on later.
    Suspend {
        /// Which of those that run.
        worker: usize,
        /// How long.
        lasting: Duration,
    },
}

/// What people do on clusters: those that don't know of us, and those that forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Meddling {
    /// Deletes one of our objects.
    Delete,
    /// Deletes one of our objects and makes one of its name.
    Replace,
    /// Deletes one of our objects and makes it again as it was, our labels included: from a backup of their own.
    Copy,
    /// Changes what one of our objects says.
    Edit,
    /// Takes our labels off one of our objects.
    Unmark,
    /// Puts something of their own into one of our namespaces.
    Intrude,
    /// A controller puts into each namespace what it puts into every one.
    WriteInto,
    /// Changes a text of their own of which we edit a part: adds to it, or writes all of it as it would be without us.
    EditText,
    /// Drops our comments from that text, as programs do that migrate it.
    DropComments,
    /// Holds one of our objects back with a finalizer, for a while.
    Hold,
    /// Lets go what they hold back.
    LetGo,
    /// Writes other marks on one of our objects: a later generation, the marks of another one, another app context.
    ForgeMarks,
    /// Puts a copy of one of our objects into one of our namespaces under another name, with its marks and their proof: mostly with a
    /// later generation.
    CopyMarks,
    /// Changes what one of our objects says, under the name of our field manager.
    EditAsUs,
    /// Changes what one of our objects says, and resets who is said to have written what of it.
    EditUnnoted,
    /// Writes the marks of one of our objects on something of their own.
    MarkTheirs,
    /// Makes a ServiceAccount under the name of one of ours, before we do or in its place.
    TakeAccount,
    /// Has a controller copy the labels of our ServiceAccounts onto objects of its own, from now on.
    CopyLabels,
    /// Removes the definition of one of the kinds in [`HinderedKind`](super::HinderedKind), with all objects of it.
    Undefine,
    /// Makes all definitions again that were removed.
    Define,
    /// Makes a request for a certificate of their own under the name of one of ours, or puts it in the place of ours.
    ForgeRequest,
    /// Deletes a ServiceAccount of ours.
    DeleteAccount,
    /// Replaces what signs client certificates, or tokens, and what the API server trusts: it accepts nothing that was issued before.
    ReplaceAuthority,
}

/// Draws a scenario. Each seed has some kinds of trouble and not others, so that each is met alone, too.
pub(super) struct Draw {
    pub(super) random: Seeded,
    /// People change their minds all the time, and much is late: what was begun meets what undoes it.
    pub(super) restless: bool,
}

impl Scenario {
    /// The scenario of a seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let random = Seeded::new(seed);
        let draw = Draw { restless: random.below(3) == 0, random };
        let clusters = draw.count(1, CLUSTERS_MAX);
        let contexts = draw.count(1, CONTEXTS_MAX);
        let workers: Vec<Skew> = (0..draw.count(1, WORKERS_MAX)).map(|_| draw.skew()).collect();
        let mut acts = draw.wishes(contexts);
        let_die(seed, &mut acts);
        acts.extend(draw.trouble(clusters));
        acts.sort_by_key(|(at, _)| *at);
        let last_wishes = (0..contexts).map(|_| draw.last_wish()).collect();
        let mut scenario = Self {
            seed,
            clusters,
            contexts,
            workers,
            atomic_batches: draw.one_in(2),
            latency: Latency { min: draw.millis(1, 5), max: draw.millis(5, 200) },
            faults: draw.faults(),
            store_faults: draw.store_faults(),
            acts,
            last_wishes,
            twin: None,
            revocation: None,
        };
        let_err(seed, &mut scenario.faults);
        let_vary(seed, &mut scenario);
        let_plan(seed, &mut scenario);
        let_forge(seed, &mut scenario);
        let_replace_accounts(seed, &mut scenario);
        let_replace_authorities(seed, &mut scenario);
        let_have_twins(seed, &mut scenario);
        let_attack(seed, &mut scenario);
        let_revoke(seed, &mut scenario);
        let_command(seed, &mut scenario);
        let_write_into(seed, &mut scenario);
        let_edit(seed, &mut scenario);
        scenario
    }

    /// Three workers share 300 clusters, and every second one of them dies at one of its next calls and another one starts, for 20
    /// seconds, while people change their minds and requests come late, more than once, or not at all.
    #[must_use]
    pub fn storm(seed: u64) -> Self {
        let draw = Draw { restless: true, random: Seeded::named(seed, "storm") };
        let contexts = usize::try_from(CONTEXTS_MAX).unwrap_or(1);
        let mut acts = Vec::new();
        for context in 1..=contexts {
            acts.push((draw.seconds(0, 3), asked(context, Wish::Apply(draw.variant()))));
            acts.push((draw.seconds(4, STORM_SECONDS), asked(context, draw.wish())));
        }
        for second in 1..=STORM_SECONDS {
            let death =
                Death { calls: u32::try_from(draw.below(200)).unwrap_or(0), is_after: draw.one_in(2) };
            acts.push((Duration::from_secs(second), Act::Kill { worker: draw.count(0, WORKERS_MAX), death }));
            acts.push((Duration::from_secs(second) + draw.millis(0, 999), Act::Start { skew: draw.skew() }));
        }
        acts.sort_by_key(|(at, _)| *at);
        Self {
            seed,
            clusters: STORM_CLUSTERS,
            contexts,
            workers: (0..WORKERS_MAX).map(|_| draw.skew()).collect(),
            atomic_batches: draw.one_in(2),
            latency: Latency { min: draw.millis(1, 5), max: draw.millis(5, 50) },
            faults: draw.faults(),
            store_faults: draw.store_faults(),
            acts,
            last_wishes: (0..contexts).map(|_| draw.last_wish()).collect(),
            twin: None,
            revocation: None,
        }
    }
}

/// Somebody asks for something.
fn asked(context: usize, wish: Wish) -> Act {
    Act::Wish { context, wish, death: None }
}

/// In some scenarios servers refuse what they need not refuse, and forget what watches have not seen yet.
fn let_err(seed: u64, faults: &mut Faults) {
    let draw = Draw { random: Seeded::named(seed, "answers"), restless: false };
    if draw.one_in(3) {
        faults.not_found = draw.some(50);
        faults.invalid = draw.some(50);
        faults.watch_gone = draw.some(100);
    }
}

/// In some scenarios people have other policies about what others do.
fn let_vary(seed: u64, scenario: &mut Scenario) {
    let random = Seeded::named(seed, "policies");
    if random.below(3) > 0 {
        return;
    }
    for wish in wishes(scenario) {
        if let Wish::Apply(variant) = wish
            && random.below(2) == 0
        {
            variant.0 += STATES * random.below(POLICIES);
        }
    }
}

/// In some scenarios people look first, and want what they planned then.
fn let_plan(seed: u64, scenario: &mut Scenario) {
    let random = Seeded::named(seed, "plans");
    if random.below(3) > 0 {
        return;
    }
    for wish in wishes(scenario) {
        if let Wish::Apply(variant) = *wish
            && random.below(2) == 0
        {
            *wish = Wish::ApplyAsPlanned(variant);
        }
    }
}

/// In some scenarios people on clusters know of us, and forge.
fn let_forge(seed: u64, scenario: &mut Scenario) {
    let draw = Draw { random: Seeded::named(seed, "forgeries"), restless: false };
    if draw.one_in(3) {
        scenario.meddle(&draw, Meddling::ForgeRequest, 8);
    }
    for (meddling, times_max) in
        [(Meddling::ForgeMarks, 8), (Meddling::CopyMarks, 4), (Meddling::EditAsUs, 6)]
    {
        if draw.one_in(4) {
            scenario.meddle(&draw, meddling, times_max);
        }
    }
}

/// In some scenarios people on clusters try to make us delete what is theirs, or trust what they made, and controllers and
/// administrators do to us what they do to everybody.
fn let_attack(seed: u64, scenario: &mut Scenario) {
    let draw = Draw { random: Seeded::named(seed, "attacks"), restless: false };
    for (meddling, times_max) in [
        (Meddling::EditUnnoted, 6),
        (Meddling::MarkTheirs, 6),
        (Meddling::TakeAccount, 4),
        (Meddling::CopyLabels, 1),
        (Meddling::Undefine, 2),
    ] {
        if draw.one_in(5) {
            scenario.meddle(&draw, meddling, times_max);
        }
    }
    if scenario.does(Meddling::Undefine) {
        scenario.meddle(&draw, Meddling::Define, 4);
    }
}

/// In some scenarios people delete all ServiceAccounts of a namespace, as by `kubectl delete serviceaccounts --all`.
fn let_replace_accounts(seed: u64, scenario: &mut Scenario) {
    let draw = Draw { random: Seeded::named(seed, "accounts"), restless: false };
    if draw.one_in(3) {
        scenario.meddle(&draw, Meddling::DeleteAccount, 6);
    }
}

/// In some scenarios administrators of clusters replace authorities.
fn let_replace_authorities(seed: u64, scenario: &mut Scenario) {
    let draw = Draw { random: Seeded::named(seed, "authorities"), restless: false };
    if draw.one_in(3) {
        scenario.meddle(&draw, Meddling::ReplaceAuthority, 4);
    }
}

/// In some scenarios a cluster has two names.
fn let_have_twins(seed: u64, scenario: &mut Scenario) {
    let draw = Draw { random: Seeded::named(seed, "twins"), restless: false };
    if !draw.one_in(4) {
        return;
    }
    scenario.twin = Some(draw.count(1, u64::try_from(scenario.clusters).unwrap_or(1)));
    for (_, act) in &mut scenario.acts {
        if let Act::Wish { wish: Wish::Apply(variant) | Wish::ApplyAsPlanned(variant), .. } = act
            && draw.one_in(2)
        {
            *variant = variant.with_twin();
        }
    }
}

impl Scenario {
    fn does(&self, meddling: Meddling) -> bool {
        let is_it = |act: &Act| matches!(act, Act::Meddle { meddling: it, .. } if *it == meddling);
        self.acts.iter().any(|(_, act)| is_it(act))
    }

    /// True when a part of a text of others is edited.
    pub(super) fn edits_texts(&self) -> bool {
        let asked = self.acts.iter().filter_map(|(_, act)| match act {
            Act::Wish { wish, .. } | Act::Command { wish, .. } => Some(wish),
            _ => None,
        });
        let mut variants = asked.chain(&self.last_wishes).filter_map(|wish| wish.variant());
        variants.any(Variant::has_edit)
    }

    /// Adds this deed at up to `times_max` random moments.
    pub(super) fn meddle(&mut self, draw: &Draw, meddling: Meddling, times_max: u64) {
        for _ in 0..draw.count(1, times_max) {
            let cluster = draw.count(1, u64::try_from(self.clusters).unwrap_or(1));
            let act = Act::Meddle { cluster, meddling, number: draw.random_number() };
            self.acts.push((draw.moment(), act));
        }
        self.acts.sort_by_key(|(at, _)| *at);
    }
}

/// All that is asked for in a scenario.
pub(super) fn wishes(scenario: &mut Scenario) -> impl Iterator<Item = &mut Wish> {
    let asked = scenario.acts.iter_mut().filter_map(|(_, act)| match act {
        Act::Wish { wish, .. } | Act::Command { wish, .. } => Some(wish),
        _ => None,
    });
    asked.chain(&mut scenario.last_wishes)
}

/// In some scenarios people die while they ask for something.
fn let_die(seed: u64, acts: &mut [(Duration, Act)]) {
    let random = Seeded::named(seed, "deaths");
    if random.below(4) > 0 {
        return;
    }
    for (_, act) in acts {
        if let Act::Wish { death, .. } = act
            && random.below(3) == 0
        {
            let calls = u32::try_from(random.below(6)).unwrap_or(0);
            *death = Some(Death { calls, is_after: random.below(2) == 0 });
        }
    }
}

impl Draw {
    pub(super) fn below(&self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    pub(super) fn one_in(&self, number: u64) -> bool {
        self.below(number) == 0
    }

    /// A number from `min` to `max`.
    pub(super) fn count(&self, min: u64, max: u64) -> usize {
        usize::try_from(min + self.below(max - min + 1)).unwrap_or(usize::MAX)
    }

    fn millis(&self, min: u64, max: u64) -> Duration {
        Duration::from_millis(min + self.below(max - min + 1))
    }

    fn seconds(&self, min: u64, max: u64) -> Duration {
        self.millis(min * 1000, max * 1000)
    }

    pub(super) fn moment(&self) -> Duration {
        Duration::from_millis(self.below(u64::try_from(TROUBLE.as_millis()).unwrap_or(u64::MAX)))
    }

    /// A chance in a thousand: mostly none.
    fn chance(&self, most: u64) -> u16 {
        if self.one_in(3) { u16::try_from(self.below(most + 1)).unwrap_or(0) } else { 0 }
    }

    /// A chance in a thousand: in every second scenario.
    fn some(&self, most: u64) -> u16 {
        if self.one_in(2) { u16::try_from(self.below(most + 1)).unwrap_or(0) } else { 0 }
    }

    fn skew(&self) -> Skew {
        if self.one_in(2) {
            return Skew::default();
        }
        let signed = |value: u64, half: i64| i64::try_from(value).unwrap_or(0) - half;
        let drift_ppm = i32::try_from(signed(self.below(20_001), 10_000)).unwrap_or(0);
        Skew { ahead_seconds: signed(self.below(7201), 3600), drift_ppm }
    }

    fn faults(&self) -> Faults {
        Faults {
            lost_request: self.chance(50),
            lost_reply: self.chance(50),
            duplicated: self.chance(50),
            delayed: if self.restless { self.some(200) } else { self.chance(50) },
            // Longer than that, a lost request takes effect no more.
            delay_max: self.seconds(1, 30),
            unauthorized: self.chance(20),
            forbidden: self.chance(50),
            conflict: self.chance(50),
            too_many_requests: self.chance(50),
            retry_after: self.seconds(1, 10),
            server_error: self.chance(50),
            watch_broken: self.chance(100),
            watch_lag_max: if self.one_in(3) { self.seconds(0, 10) } else { Duration::ZERO },
            ..Faults::NONE
        }
    }

    fn store_faults(&self) -> StoreFaults {
        StoreFaults {
            lost_request: self.chance(30),
            lost_reply: self.chance(30),
            cut_batch: self.chance(30),
            delayed: if self.restless { self.some(100) } else { self.chance(20) },
            delay_max: self.seconds(1, 20),
            watch_lost: self.chance(50),
            watch_lag_max: if self.one_in(3) { self.seconds(0, 5) } else { Duration::ZERO },
        }
    }

    pub(super) fn variant(&self) -> Variant {
        // Few enough that one comes back now and then.
        Variant(self.below(STATES))
    }

    fn wish(&self) -> Wish {
        match self.below(10) {
            0..=4 => Wish::Apply(self.variant()),
            5 | 6 => self.removal(),
            7 => Wish::Stop,
            8 => Wish::Resume,
            _ => Wish::Forget,
        }
    }

    fn removal(&self) -> Wish {
        let deadline = if self.one_in(3) { u32::try_from(self.count(5, 60)).ok() } else { None };
        Wish::Remove { delete_contents: self.one_in(2), deadline }
    }

    fn last_wish(&self) -> Wish {
        if self.one_in(2) { Wish::Apply(self.variant()) } else { Wish::GONE }
    }

    fn wishes(&self, contexts: usize) -> Vec<(Duration, Act)> {
        let mut acts = Vec::new();
        for context in 1..=contexts {
            acts.push((self.seconds(0, 5), asked(context, Wish::Apply(self.variant()))));
            for _ in 0..self.count(0, 6) {
                acts.push((self.moment(), asked(context, self.wish())));
            }
            if self.restless {
                acts.extend(self.changes_of_mind(context));
            }
        }
        acts
    }

    /// Somebody makes an app context and drops it again, over and over.
    fn changes_of_mind(&self, context: usize) -> Vec<(Duration, Act)> {
        let mut acts = Vec::new();
        let mut at = self.seconds(0, 20);
        while at < TROUBLE {
            acts.push((at, asked(context, Wish::Apply(self.variant()))));
            at += self.seconds(1, 15);
            acts.push((at, asked(context, self.removal())));
            if self.one_in(2) {
                acts.push((at + self.seconds(0, 2), asked(context, Wish::Forget)));
            }
            at += self.seconds(1, 40);
        }
        acts
    }

    fn trouble(&self, clusters: usize) -> Vec<(Duration, Act)> {
        let kinds: Vec<u64> = (0..6).filter(|_| self.one_in(2)).collect();
        let Some(kinds_count) = u64::try_from(kinds.len()).ok().filter(|count| *count > 0) else {
            return Vec::new();
        };
        let act = |_| {
            let kind = kinds.get(usize::try_from(self.below(kinds_count)).unwrap_or(0));
            (self.moment(), self.act(kind.copied().unwrap_or(0), clusters))
        };
        (0..self.count(1, 16)).map(act).collect()
    }

    fn act(&self, kind: u64, clusters: usize) -> Act {
        let clusters = u64::try_from(clusters).unwrap_or(1);
        let cluster = self.count(1, clusters);
        let worker = self.count(0, WORKERS_MAX);
        match kind {
            0 => Act::Meddle { cluster, meddling: self.meddling(), number: self.random_number() },
            1 => Act::Link { cluster, link: self.link(), lasting: self.seconds(1, 60) },
            2 if self.one_in(2) => Act::Restart { cluster },
            2 => Act::Lose { cluster, last: self.seconds(1, 60) },
            3 => Act::StoreDown { lasting: self.seconds(1, 30) },
            4 if self.one_in(2) => Act::StopCluster { cluster },
            4 => Act::ResumeCluster { cluster },
            _ => self.act_on_worker(worker),
        }
    }

    fn act_on_worker(&self, worker: usize) -> Act {
        match self.below(5) {
            0 | 1 => {
                let calls = u32::try_from(self.below(20)).unwrap_or(0);
                Act::Kill { worker, death: Death { calls, is_after: self.one_in(2) } }
            }
            2 => Act::Start { skew: self.skew() },
            3 => Act::Stop { worker },
            _ => Act::Suspend { worker, lasting: self.seconds(1, 60) },
        }
    }

    pub(super) fn random_number(&self) -> u64 {
        self.below(u64::MAX)
    }

    fn meddling(&self) -> Meddling {
        match self.below(8) {
            0 => Meddling::Delete,
            1 => Meddling::Replace,
            2 => Meddling::Edit,
            3 => Meddling::Unmark,
            4 => Meddling::Intrude,
            5 => Meddling::Hold,
            6 => Meddling::Copy,
            _ => Meddling::LetGo,
        }
    }

    fn link(&self) -> Link {
        match self.below(4) {
            0 => Link::Cut,
            1 => Link::Hang,
            2 => Link::Reset,
            _ => Link::Delay(self.seconds(1, 20)),
        }
    }
}
