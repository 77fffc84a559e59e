//! One life for each point of a work: killed there, and finished by another process.

use std::collections::BTreeSet;
use std::sync::Mutex;

use dcm_testenv::{Cluster, Environment, SharedEnvironment};

use crate::doomed::Work;
use crate::fate::{Death, Others};
use crate::life::Life;
use crate::places::Places;

/// Lives at a time. Most of it they wait: for a lease, or for a namespace to go.
const PARALLEL: usize = 24;

pub(crate) struct Sweep {
    pub(crate) environment: SharedEnvironment,
    places: Places,
    /// How many of the points there are deaths at; none: all.
    deaths_max: Option<usize>,
    /// The test that this is: a doomed process is the same program, and begins there.
    test: &'static str,
    work: Work,
    others: Others,
    /// What the names of its clouds begin with.
    name: &'static str,
}

impl Sweep {
    pub(crate) async fn new(test: &'static str, name: &'static str, work: Work, others: Others) -> Self {
        let environment = Environment::shared(1).await.unwrap();
        Self { environment, places: Places::Files, deaths_max: None, test, work, others, name }
    }

    /// Keeps state elsewhere, and has deaths at so many points, as far from each other as can be.
    pub(crate) fn kept_in(self, places: Places, deaths_max: usize) -> Self {
        Self { places, deaths_max: Some(deaths_max), ..self }
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        &self.environment.clusters()[0]
    }

    /// True for the cloud of one of its lives.
    pub(crate) fn has(&self, cloud: &str) -> bool {
        cloud.starts_with(self.name)
    }

    /// Has the work done once undisturbed, and then once for each point that was passed, killed there and then followed
    /// by what the command does next. Gives all lives, the undisturbed one first, and the points.
    pub(crate) fn run(&self, next: impl Fn(&Life) + Sync) -> (Vec<Life>, BTreeSet<String>) {
        let undisturbed = self.begin("undisturbed");
        let passed: BTreeSet<String> = undisturbed.trace(self.test, self.work).into_iter().collect();
        let points: Vec<(usize, &String)> = spread(passed.iter().enumerate().collect(), self.deaths_max);
        let killed = side_by_side(points, |(number, point)| {
            let mut life = self.begin(&number.to_string());
            let death = Death { at: point.clone(), others: self.others };
            life.killed(death, self.test, self.work);
            next(&life);
            life
        });
        ([undisturbed].into_iter().chain(killed).collect(), passed)
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

/// So many of all, at equal distances.
fn spread<T>(all: Vec<T>, max: Option<usize>) -> Vec<T> {
    let count = max.map_or(all.len(), |max| max.min(all.len()));
    let chosen: BTreeSet<usize> =
        (0..count).map(|number| (2 * number + 1) * all.len() / (2 * count)).collect();
    let all = all.into_iter().enumerate();
    all.filter_map(|(place, one)| chosen.contains(&place).then_some(one)).collect()
}

/// Does something with each, some at a time.
pub(crate) fn side_by_side<T: Send, R: Send>(all: Vec<T>, each: impl Fn(T) -> R + Sync) -> Vec<R> {
    let waiting = Mutex::new(all.into_iter());
    let next = || waiting.lock().unwrap().next();
    let work = || std::iter::from_fn(|| next().map(&each)).collect::<Vec<R>>();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..PARALLEL).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}
