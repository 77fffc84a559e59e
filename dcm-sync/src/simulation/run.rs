//! Running one scenario: trouble first, then peace, and in the end all has to be as it was wanted last.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::manifest::ObjectKey;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::Object;
use futures::FutureExt as _;
use futures::channel::oneshot;
use jiff::Timestamp;

use super::api::{Api, AppContexts, ClientPorts};
use super::events::Told;
use super::executor::ProcessId;
use super::fate::Death;
use super::judge::{self, Judge, Violation};
use super::meddling;
use super::people::Person;
use super::revocation::{HinderedKind, Revocation};
use super::scenario::{Act, Meddling, Scenario};
use super::time::Skew;
use super::wish::Wish;
use super::world::{Ports, Program, World};
use crate::contexts::Contexts;
use crate::sim::{Server, Snapshot, cluster_id};

/// How long it may take until all is as wanted, when nothing goes wrong any more. Ten times the longest wait between two
/// tries that the engine has for what was refused.
const CONVERGED_WITHIN: Duration = Duration::from_secs(6000);

/// How long what was under way may take to be told.
const SETTLED_WITHIN: Duration = Duration::from_secs(120);

/// How long what is left over may take to be cleared away.
const TIDIED_WITHIN: Duration = Duration::from_secs(600);

/// How long rights may be there after they were taken away, when clusters are reached: some of the longest waits between two tries.
const WITHDRAWN_WITHIN: Duration = Duration::from_secs(1800);

/// How long a converged fleet is watched for what it should not do.
const QUIET: Duration = Duration::from_secs(1200);

/// More steps than any scenario takes: what goes on for longer goes round in circles.
const STEPS_MAX: u64 = 2_000_000;

/// What a run that violated nothing was like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// How often a process went on, or time did.
    pub steps: u64,
    /// How long it was, in simulated time.
    pub lasted: Duration,
}

struct Run<'a> {
    scenario: &'a Scenario,
    api: &'a dyn Api,
    world: World<'a>,
    judge: Judge,
    began: Timestamp,
    steps: u64,
    snapshots: Vec<(usize, Timestamp, Snapshot)>,
    /// People whose wishes are not heard yet.
    asking: Vec<ProcessId>,
    told: &'a mut dyn FnMut(Told<'_>),
}

/// Runs a scenario.
///
/// # Errors
/// The first [`Violation`].
pub fn run(scenario: &Scenario, program: &dyn Program) -> Result<Summary, Violation> {
    run_telling(scenario, program, &mut |_| ())
}

/// Runs a scenario, and tells all that happens.
///
/// # Errors
/// The first [`Violation`].
pub fn run_telling(
    scenario: &Scenario,
    program: &dyn Program,
    told: &mut dyn FnMut(Told<'_>),
) -> Result<Summary, Violation> {
    run_through(&AppContexts, scenario, program, told)
}

/// Runs a scenario in which people get what they want through services of their own, and tells all that happens.
///
/// # Errors
/// The first [`Violation`].
pub fn run_through(
    api: &dyn Api,
    scenario: &Scenario,
    program: &dyn Program,
    told: &mut dyn FnMut(Told<'_>),
) -> Result<Summary, Violation> {
    let mut run = Run::new(api, scenario, program, told);
    run.begin()?;
    run.trouble()?;
    run.peace()?;
    run.converge()?;
    run.quiet()?;
    let lasted = run.world.now().duration_since(run.began);
    Ok(Summary { steps: run.steps, lasted: lasted.try_into().unwrap_or_default() })
}

impl<'a> Run<'a> {
    fn new(
        api: &'a dyn Api,
        scenario: &'a Scenario,
        program: &'a dyn Program,
        told: &'a mut dyn FnMut(Told<'_>),
    ) -> Self {
        let world = World::new(scenario, program);
        let judge = Judge::new();
        (1..=scenario.clusters).for_each(|number| world.cluster(number).server(meddling::furnish));
        if scenario.edits_texts() {
            (1..=scenario.clusters).for_each(|number| world.cluster(number).server(meddling::furnish_text));
        }
        let began = world.now();
        Self { scenario, api, world, judge, began, steps: 0, snapshots: Vec::new(), asking: Vec::new(), told }
    }

    /// Registers the cluster that has two names under its first one, and lets workers begin.
    fn begin(&mut self) -> Result<(), Violation> {
        if let Some(number) = self.scenario.twin {
            let (id, uid) = (cluster_id(number), self.world.cluster(number).server(|server| server.uid()));
            let registering =
                self.person(None, move |person| async move { person.register(&id, &uid).await });
            self.wait_for(&[registering])?;
        }
        for number in 1..=self.scenario.clusters {
            self.world.cluster(number).set_faults(self.scenario.faults);
        }
        self.world.store().set_faults(self.scenario.store_faults);
        for skew in &self.scenario.workers {
            self.world.start_worker(*skew);
        }
        self.began = self.world.now();
        Ok(())
    }

    fn violation(&self, invariant: &'static str, details: String) -> Violation {
        Violation { invariant, at: self.world.now(), details }
    }

    /// Goes on until a time, or until something is so.
    fn go_on(&mut self, until: Timestamp, is_so: impl Fn(&World<'_>) -> bool) -> Result<bool, Violation> {
        while !is_so(&self.world) {
            if !self.world.step(until) {
                return Ok(false);
            }
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return Err(self.violation("it comes to an end", format!("{STEPS_MAX} steps")));
            }
            self.judge.look(&self.world, self.told)?;
        }
        Ok(true)
    }

    fn go_on_until(&mut self, until: Timestamp) -> Result<(), Violation> {
        self.go_on(until, |_| false).map(drop)
    }

    fn trouble(&mut self) -> Result<(), Violation> {
        for (at, moment) in moments(self.scenario) {
            self.go_on_until(self.began + at)?;
            match moment {
                Moment::Act(act) => self.perform(act),
                Moment::Remember(cluster) => {
                    let snapshot = self.world.cluster(cluster).snapshot();
                    self.snapshots.push((cluster, self.world.now(), snapshot));
                }
            }
        }
        Ok(())
    }

    fn perform(&mut self, act: Act) {
        (self.told)(Told::Act(self.world.now(), &act));
        match act {
            Act::Wish { context, wish, death } => {
                let process = self.ask(context, wish, death);
                self.asking.push(process);
            }
            Act::Command { context, wish } => {
                let process = self.command(context, wish);
                self.asking.push(process);
            }
            Act::StopCluster { cluster } => {
                let process = self.stop_cluster(cluster);
                self.asking.push(process);
            }
            Act::ResumeCluster { cluster } => {
                let process = self.resume_cluster(cluster);
                self.asking.push(process);
            }
            Act::Meddle { cluster, meddling, number } => self.meddle(cluster, meddling, number),
            Act::Link { cluster, link, lasting } => {
                self.world.set_link(cluster, link, lasting);
                self.judge.meddled.note_hidden(&cluster_id(cluster), self.world.now() + lasting);
            }
            Act::Restart { cluster } => self.world.cluster(cluster).restart(),
            Act::Lose { cluster, last } => self.lose(cluster, last),
            Act::StoreDown { lasting } => self.world.take_store_down(lasting),
            Act::Kill { worker, death } => self.world.kill_worker(worker, death),
            Act::Start { skew } => self.world.start_worker(skew),
            Act::Stop { worker } => self.world.stop_worker(worker),
            Act::Suspend { worker, lasting } => self.world.suspend_worker(worker, lasting),
        }
    }

    /// Lets somebody do something over the store.
    fn person<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        death: Option<Death>,
        act: impl FnOnce(Person) -> F,
    ) -> ProcessId {
        self.person_with(death, |person, _| act(person))
    }

    /// The same with what a program of that person runs on.
    fn person_with<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        death: Option<Death>,
        act: impl FnOnce(Person, Ports) -> F,
    ) -> ProcessId {
        let (api, cluster_count, events) = (self.api, self.scenario.clusters, self.world.events().clone());
        self.world.spawn(death, move |ports| {
            let Ports { store, clusters, clock, random, stop, only } = ports;
            let own = Ports {
                store: store.clone(),
                clusters: clusters.clone(),
                clock: clock.clone(),
                random: random.clone(),
                stop,
                only,
            };
            let contexts = Contexts::new(store.clone(), clock.clone());
            let told = events.clone();
            let looked = Box::new(move |observed| told.looked(observed));
            let ports = ClientPorts { store, clusters, clock: clock.clone(), random, cluster_count, looked };
            let client = api.client(ports);
            act(Person { client, contexts, clock, events }, own).boxed()
        })
    }

    fn ask(&mut self, context: usize, wish: Wish, death: Option<Death>) -> ProcessId {
        self.person(death, move |person| async move { person.ask(context, wish).await })
    }

    /// Somebody asks for something, and has a worker of his own that brings that about.
    fn command(&mut self, context: usize, wish: Wish) -> ProcessId {
        let program = self.world.program();
        self.person_with(None, |person, own| {
            let ((asked, only), (stop, stopped)) = (oneshot::channel(), oneshot::channel::<()>());
            let only = only.map(Result::unwrap_or_default).boxed();
            let work = program.run(Ports { stop: stopped.map(drop).boxed(), only: Some(only), ..own });
            let watching = async move {
                person.command(context, wish, asked).await;
                drop(stop);
            };
            async move {
                futures::join!(work, watching);
            }
        })
    }

    fn meddle(&mut self, cluster: usize, meddling: Meddling, number: u64) {
        self.meddle_by(cluster, |server| meddling::meddle(server, meddling, number));
    }

    fn meddle_by(&mut self, cluster: usize, meddle: impl FnOnce(&mut Server) -> Vec<ObjectKey>) {
        let touched = self.world.cluster(cluster).server(meddle);
        let (id, now) = (cluster_id(cluster), self.world.now());
        touched.into_iter().for_each(|key| self.judge.meddled.note(&id, key, now));
    }

    /// Replaces once more what credentials are bound to, as in the scenario, after the last wishes are done.
    fn replace_again(&mut self) {
        for (_, act) in &self.scenario.acts {
            if let Act::Meddle {
                cluster,
                meddling: meddling @ (Meddling::DeleteAccount | Meddling::ReplaceAuthority),
                number,
            } = *act
            {
                self.meddle(cluster, meddling, number);
            }
        }
    }

    fn stop_cluster(&mut self, cluster: usize) -> ProcessId {
        self.person(None, move |person| async move { person.stop_cluster(&cluster_id(cluster)).await })
    }

    fn resume_cluster(&mut self, cluster: usize) -> ProcessId {
        self.person(None, move |person| async move { person.resume_cluster(&cluster_id(cluster)).await })
    }

    fn lose(&mut self, cluster: usize, last: Duration) {
        let (id, now) = (cluster_id(cluster), self.world.now());
        let remembered = self.snapshots.iter().find(|(of, at, _)| *of == cluster && *at + last >= now);
        if let Some((_, _, snapshot)) = remembered {
            self.world.cluster(cluster).restore(snapshot);
            self.judge.note_loss(&id, now);
        }
    }

    /// Nothing goes wrong any more, what stands in our way is taken back, and the last wishes are asked for.
    fn peace(&mut self) -> Result<(), Violation> {
        (self.told)(Told::Peace(self.world.now()));
        self.world.heal();
        self.clear_the_way(false);
        if self.world.workers() == 0 {
            self.world.start_worker(Skew::default());
        }
        // Who asked before is heard before.
        let asking = std::mem::take(&mut self.asking);
        self.wait_for(&asking)?;
        let resuming: Vec<ProcessId> =
            (1..=self.scenario.clusters).map(|cluster| self.resume_cluster(cluster)).collect();
        self.wait_for(&resuming)?;
        let resuming: Vec<ProcessId> =
            (1..=self.scenario.contexts).map(|context| self.ask(context, Wish::Resume, None)).collect();
        self.wait_for(&resuming)?;
        self.go_on_until(self.world.now() + SETTLED_WITHIN)?;
        self.clear_the_way(true);
        let scenario = self.scenario;
        if let Some(revocation) = &scenario.revocation {
            self.revoke(revocation)?;
        }
        let insist = |(index, wish): (usize, &Wish)| {
            let (context, wish) = (index + 1, *wish);
            self.person(None, move |person| async move { person.insist(context, wish).await })
        };
        let asking: Vec<ProcessId> = scenario.last_wishes.iter().enumerate().map(insist).collect();
        self.wait_for(&asking)?;
        self.replace_again();
        Ok(())
    }

    /// Rights are given, people on clusters do what they can to keep them, and they are taken away.
    fn revoke(&mut self, revocation: &Revocation) -> Result<(), Violation> {
        self.ask_all(revocation.variants.iter().map(|(before, _)| Wish::Apply(*before)))?;
        self.go_on_until(self.world.now() + SETTLED_WITHIN)?;
        let before = judge::rights(&self.world, &self.judge);
        for (cluster, meddling, number) in &revocation.deeds {
            self.meddle_by(*cluster, |server| meddling::meddle_with_binding(server, *meddling, *number));
        }
        for (cluster, number) in &revocation.held {
            self.meddle(*cluster, Meddling::Hold, *number);
        }
        self.hinder_as(revocation);
        let then =
            (1..).zip(&revocation.variants).map(|(context, (_, then))| revocation.wish(context, *then));
        self.ask_all(then)?;
        self.go_on_until(self.world.now() + WITHDRAWN_WITHIN)?;
        if let Some(right) = judge::find_right(&self.world, &self.judge, &before) {
            return Err(self.violation("a revocation takes effect whatever is written on objects", right));
        }
        self.hinder_as(&Revocation::default());
        self.clear_the_way(true);
        Ok(())
    }

    /// Asks for something of each app context, and waits until it is heard.
    fn ask_all(&mut self, wishes: impl Iterator<Item = Wish>) -> Result<(), Violation> {
        let asking: Vec<_> = (1..).zip(wishes).map(|(context, wish)| self.ask(context, wish, None)).collect();
        self.wait_for(&asking)
    }

    /// All clusters hinder the kinds that a revocation names, and no others.
    fn hinder_as(&mut self, revocation: &Revocation) {
        let names = |kinds: &[HinderedKind]| -> Vec<Arc<str>> {
            kinds.iter().map(|kind| kind.kind().into()).collect()
        };
        for number in 1..=self.scenario.clusters {
            self.meddle_by(number, |server| {
                server.set_refused(names(&revocation.refused));
                server.set_undeletable(names(&revocation.undeletable));
                server.define_all();
                revocation.undefined.iter().flat_map(|kind| meddling::undefine(server, *kind)).collect()
            });
        }
    }

    /// What people put in our way they take back. What a cluster has again that lost its last writes is no longer what
    /// is recorded, and it is for people to say what becomes of it, once records are up to date.
    fn clear_the_way(&mut self, is_settled: bool) {
        for number in 1..=self.scenario.clusters {
            let id = cluster_id(number);
            let names = names(&self.judge, &id);
            let recorded = judge::recorded(&self.world, &id);
            let judge = &self.judge;
            let (known, proofs) = (self.world.known_contexts(), self.world.proofs(&id));
            let has_lost = judge.meddled.lost(&id).is_some();
            self.world.cluster(number).server(|server| {
                // What is ours by its UID is mended, whatever was written on it.
                let is_ours = |object: &Object| {
                    let record = recorded.get(&object.key).and_then(|record| record.uid.as_ref());
                    let is_proved = proofs.as_ref().is_some_and(|key| key.proves(&object.key, &object.body));
                    is_proved || record == Some(&object.uid)
                };
                meddling::tidy_up(server, &names, is_ours);
                if is_settled {
                    let is_made = |uid: &Arc<str>| judge.has_made(&id, uid);
                    // Nobody looks for what was removed, or kept, before it came back.
                    let is_orphaned = |key: &ObjectKey, context: &ContextId| {
                        has_lost && !(known.contains(context) && recorded.contains_key(key))
                    };
                    meddling::drop_revived(server, &recorded, is_made, is_orphaned);
                }
            });
            self.judge.meddled.note_cleared(&id, self.world.now());
            self.judge.meddled.note(&id, meddling::adopted(), self.world.now());
        }
    }

    fn wait_for(&mut self, processes: &[ProcessId]) -> Result<(), Violation> {
        let until = self.world.now() + CONVERGED_WITHIN;
        let is_done = |world: &World<'_>| !processes.iter().any(|process| world.is_alive(*process));
        if self.go_on(until, is_done)? {
            return Ok(());
        }
        Err(self.violation("it converges", format!("{:?}", self.differences())))
    }

    fn differences(&self) -> Vec<String> {
        judge::find_differences(&self.world, self.api, self.scenario, &self.judge.meddled)
    }

    fn converge(&mut self) -> Result<(), Violation> {
        self.go_on_until(self.world.now() + TIDIED_WITHIN)?;
        let differences = self.differences();
        if differences.is_empty() {
            return Ok(());
        }
        Err(self.violation("in the end all is as wanted", differences.join("; ")))
    }

    /// A converged fleet writes nothing but the signs of life of its workers.
    fn quiet(&mut self) -> Result<(), Violation> {
        let until = self.world.now() + QUIET;
        while self.world.step(until) {
            self.steps += 1;
            if let Some(event) = self.world.take_events().into_iter().find(|event| !judge::is_quiet(event)) {
                return Err(self.violation("a converged fleet writes nothing", format!("{event:?}")));
            }
        }
        Ok(())
    }
}

/// What happens at one time of a scenario.
enum Moment {
    Act(Act),
    /// A cluster is remembered as it is, to come back to it.
    Remember(usize),
}

fn moments(scenario: &Scenario) -> Vec<(Duration, Moment)> {
    let mut moments = Vec::new();
    for (at, act) in &scenario.acts {
        if let Act::Lose { cluster, last } = act {
            moments.push((at.saturating_sub(*last), Moment::Remember(*cluster)));
        }
        moments.push((*at, Moment::Act(*act)));
    }
    moments.sort_by_key(|(at, _)| *at);
    moments
}

/// The names that somebody has touched on a cluster.
fn names(judge: &Judge, cluster: &ClusterId) -> Vec<ObjectKey> {
    judge.meddled.on(cluster).cloned().collect()
}
