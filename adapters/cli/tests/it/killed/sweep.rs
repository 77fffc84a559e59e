//! One life for each point of a work: killed there, and finished by another process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex};
use std::thread::available_parallelism;

use dcm_testenv::effort::budget;
use dcm_testenv::{Cluster, Environment};

use crate::killed::doomed::Work;
use crate::killed::fate::{Death, Others};
use crate::killed::life::Life;
use crate::killed::places::Places;

/// Lives at a time for each processor, in all sweeps of this process together. Most of it they wait: for a lease, or for a namespace to go.
const LIVES_PER_PROCESSOR: usize = 4;

/// Most lives that are tried at one point. What goes into one commit can be a matter of time, so a life may not come to a point that
/// another one has passed.
const TRIES_MAX: usize = 3;

/// Of so many points one may not be met.
const MET_BUT_ONE_OF: usize = 20;

/// Points of an apply, by default: one of each kind.
const APPLY_POINTS: usize = 10;

/// Points of a termination, by default.
const TERMINATION_POINTS: usize = 8;

pub(crate) struct Sweep {
    pub(crate) environment: Environment,
    places: Places,
    /// How many of the points there are deaths at.
    deaths_max: usize,
    /// The test that this is: a doomed process is the same program, and begins there.
    test: &'static str,
    work: Work,
    others: Others,
    /// What the names of its clouds begin with.
    name: &'static str,
}

/// What a sweep did.
pub(crate) struct Swept {
    /// All lives, the undisturbed one first.
    pub(crate) lives: Vec<Life>,
    /// The points that the undisturbed life passed, but for those at which no life could be killed.
    pub(crate) points: BTreeSet<String>,
    /// How many points were chosen to die at.
    pub(crate) chosen: usize,
}

impl Sweep {
    pub(crate) async fn new(test: &'static str, name: &'static str, work: Work, others: Others) -> Self {
        let environment = Environment::group("killed", 1).await.unwrap();
        let points = if work == Work::Apply { APPLY_POINTS } else { TERMINATION_POINTS };
        let deaths_max = budget("killed", points, usize::MAX);
        Self { environment, places: Places::Files, deaths_max, test, work, others, name }
    }

    /// Keeps state elsewhere, and has deaths at so many points.
    pub(crate) fn kept_in(self, places: Places, deaths_max: usize) -> Self {
        Self { places, deaths_max, ..self }
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        &self.environment.clusters()[0]
    }

    /// True for the cloud of one of its lives.
    pub(crate) fn has(&self, cloud: &str) -> bool {
        cloud.starts_with(self.name)
    }

    /// Has the work done once undisturbed, and then once for each point that is chosen of those that were passed, killed there and then
    /// followed by what the command does next.
    pub(crate) fn run(&self, next: impl Fn(&Life) + Sync) -> Swept {
        let undisturbed = self.begin("undisturbed");
        let mut points: BTreeSet<String> = undisturbed.trace(self.test, self.work).into_iter().collect();
        let chosen: BTreeSet<String> = chosen(&points, self.deaths_max).into_iter().cloned().collect();
        if self.deaths_max >= APPLY_POINTS.min(TERMINATION_POINTS) {
            let kinds = |points: &BTreeSet<String>| {
                points.iter().map(|point| kind_of(point)).collect::<BTreeSet<_>>()
            };
            assert_eq!(kinds(&chosen), kinds(&points), "a kind of point has no death");
        }
        let numbered = chosen.iter().enumerate().collect();
        let killed = side_by_side(numbered, |(number, point)| self.kill_at(number, point, &next));
        let lives: Vec<Life> = [undisturbed].into_iter().chain(killed.into_iter().flatten()).collect();

        let met: BTreeSet<&String> = lives.iter().filter_map(|life| life.killed.as_ref()).collect();
        let missed: BTreeSet<&String> = chosen.iter().filter(|point| !met.contains(point)).collect();
        eprintln!("{}: of {} points killed at {met:?}, not met: {missed:?}", self.name, points.len());
        assert!(missed.len() * MET_BUT_ONE_OF <= chosen.len(), "no life came to {missed:#?} of {chosen:#?}");
        points.retain(|point| !missed.contains(point));
        Swept { chosen: chosen.len(), points, lives }
    }

    /// The lives that it takes to kill one at this point, each followed by what the command does next. All but the last have done the
    /// whole work; the last one too, when no life came to the point.
    fn kill_at(&self, number: usize, point: &str, next: impl Fn(&Life)) -> Vec<Life> {
        let mut lives = Vec::new();
        let mut is_met = false;
        while !is_met && lives.len() < TRIES_MAX {
            let mut life = self.begin(&format!("{number}-{}", lives.len()));
            let death = Death { at: point.to_owned(), others: self.others };
            is_met = life.killed(death, self.test, self.work);
            next(&life);
            lives.push(life);
        }
        lives
    }

    /// A life in which everything is ready for the work.
    fn begin(&self, name: &str) -> Life {
        let life = Life::begin(self.cluster(), &self.places, format!("{}-{name}", self.name));
        if self.work == Work::Terminate {
            life.finish(Work::Apply);
        }
        life
    }
}

/// The first two words of a point: before or after, and what is done.
fn kind_of(point: &str) -> String {
    point.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// So many of the points, the same in each run: one of each kind, commits first, and then others at equal distances.
fn chosen(points: &BTreeSet<String>, max: usize) -> Vec<&String> {
    let mut kinds: BTreeMap<(bool, String), Vec<&String>> = BTreeMap::new();
    for point in points {
        let kind = kind_of(point);
        kinds.entry((!kind.ends_with(" commit"), kind)).or_default().push(point);
    }
    let mut chosen: Vec<&String> = kinds.values().map(|kind| kind[kind.len() / 2]).take(max).collect();
    let others = points.iter().filter(|point| !chosen.contains(point)).collect();
    chosen.extend(spread(others, max - chosen.len()));
    chosen
}

/// So many of all, at equal distances.
fn spread<T>(all: Vec<T>, max: usize) -> Vec<T> {
    let count = max.min(all.len());
    let chosen: BTreeSet<usize> =
        (0..count).map(|number| (2 * number + 1) * all.len() / (2 * count)).collect();
    let all = all.into_iter().enumerate();
    all.filter_map(|(place, one)| chosen.contains(&place).then_some(one)).collect()
}

/// Does something with each, some at a time.
pub(crate) fn side_by_side<T: Send, R: Send>(all: Vec<T>, each: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = lives_max().min(all.len());
    let waiting = Mutex::new(all.into_iter());
    let next = || waiting.lock().unwrap().next();
    let work = || {
        let in_turn = |one| {
            let _turn = Turn::wait();
            each(one)
        };
        std::iter::from_fn(|| next().map(in_turn)).collect::<Vec<R>>()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

fn lives_max() -> usize {
    LIVES_PER_PROCESSOR * available_parallelism().map_or(1, usize::from)
}

/// How many lives are under way, and that one has ended.
static UNDER_WAY: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// One life among those that may be under way; its turn is over when it is dropped.
struct Turn;

impl Turn {
    fn wait() -> Self {
        let (under_way, ended) = &UNDER_WAY;
        let all_taken = |lives: &mut usize| *lives >= lives_max();
        *ended.wait_while(under_way.lock().unwrap(), all_taken).unwrap() += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (under_way, ended) = &UNDER_WAY;
        *under_way.lock().unwrap() -= 1;
        ended.notify_one();
    }
}

#[test]
fn points_are_chosen_of_each_kind_and_then_of_all_and_commits_first() {
    let commits = ["a", "b", "c", "d"].map(|document| format!("after commit make {document}"));
    let points: BTreeSet<String> = commits
        .into_iter()
        .chain(["after approve", "before create Role", "after create Namespace"].map(str::to_owned))
        .collect();
    let kinds = ["after commit make c", "after approve", "after create Namespace", "before create Role"];
    assert_eq!(chosen(&points, 1), kinds[..1]);
    assert_eq!(chosen(&points, 4), kinds);
    assert_eq!(chosen(&points, 5), [&kinds[..], &["after commit make b"]].concat());
    let all = chosen(&points, usize::MAX);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), points.iter().collect());
}
