//! Runs processes in virtual time, one poll at a time, in an order that a seed decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

use dcm_core::port::clock::Clock as _;
use futures::future::BoxFuture;
use jiff::Timestamp;

use super::time::VirtualClock;
use crate::sim::Seeded;

/// Names a process: something that dies, or stands still, as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessId(pub u32);

/// What happened in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A process went on.
    Ran,
    /// Everybody waited, and time went on.
    Waited,
    /// Nothing happens any more before the time that was named.
    Idle,
}

/// Processes in virtual time.
pub struct Executor {
    clock: VirtualClock,
    random: Seeded,
    tasks: BTreeMap<u64, Task>,
    tasks_count: u64,
    ready: Arc<Ready>,
    suspended: BTreeSet<ProcessId>,
}

struct Task {
    process: ProcessId,
    future: BoxFuture<'static, ()>,
    signal: Arc<Signal>,
    waker: Waker,
}

/// The tasks that can go on.
#[derive(Default)]
struct Ready(Mutex<Vec<u64>>);

impl Ready {
    fn lock(&self) -> MutexGuard<'_, Vec<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Signal {
    task: u64,
    is_ready: AtomicBool,
    ready: Arc<Ready>,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_ready.swap(true, Ordering::Relaxed) {
            self.ready.lock().push(self.task);
        }
    }
}

impl Executor {
    /// No processes yet.
    #[must_use]
    pub fn new(clock: VirtualClock, seed: u64) -> Self {
        Self {
            clock,
            random: Seeded::new(seed),
            tasks: BTreeMap::new(),
            tasks_count: 0,
            ready: Arc::default(),
            suspended: BTreeSet::new(),
        }
    }

    /// Adds work to a process.
    pub fn spawn(&mut self, process: ProcessId, future: BoxFuture<'static, ()>) {
        self.tasks_count += 1;
        let (task, ready) = (self.tasks_count, self.ready.clone());
        let signal = Arc::new(Signal { task, is_ready: AtomicBool::new(false), ready });
        signal.wake_by_ref();
        let waker = Waker::from(signal.clone());
        self.tasks.insert(task, Task { process, future, signal, waker });
    }

    /// Ends a process in the middle of what it does.
    pub fn kill(&mut self, process: ProcessId) {
        self.tasks.retain(|_, task| task.process != process);
        self.suspended.remove(&process);
    }

    /// A process stands still until it is resumed, and knows nothing of it.
    pub fn suspend(&mut self, process: ProcessId) {
        self.suspended.insert(process);
    }

    /// A process goes on.
    pub fn resume(&mut self, process: ProcessId) {
        self.suspended.remove(&process);
    }

    /// True while a process has work left.
    #[must_use]
    pub fn is_alive(&self, process: ProcessId) -> bool {
        self.tasks.values().any(|task| task.process == process)
    }

    /// Lets one task that can go on do so; when there is none, lets time go on to the next thing that somebody waits
    /// for, but not beyond `until`.
    pub fn step(&mut self, until: Timestamp) -> Step {
        if let Some(task) = self.next_ready() {
            self.run(task);
            return Step::Ran;
        }
        let next = self.clock.next_wake().filter(|next| *next <= until);
        let Some(next) = next else {
            self.clock.advance_to(until);
            return Step::Idle;
        };
        // A sleeper of a suspended process wakes, and does not go on.
        self.clock.advance_to(next.max(self.clock.now()));
        Step::Waited
    }

    /// One of the tasks that can go on, by the seed.
    fn next_ready(&self) -> Option<u64> {
        let mut ready = self.ready.lock();
        ready.retain(|task| self.tasks.contains_key(task));
        let free: Vec<usize> = ready
            .iter()
            .enumerate()
            .filter(|(_, task)| self.is_free(**task))
            .map(|(place, _)| place)
            .collect();
        let bound = u64::try_from(free.len()).unwrap_or(u64::MAX);
        let chosen = usize::try_from(self.random.below(bound)).unwrap_or(0);
        free.get(chosen).map(|place| ready.swap_remove(*place))
    }

    fn is_free(&self, task: u64) -> bool {
        self.tasks.get(&task).is_some_and(|task| !self.suspended.contains(&task.process))
    }

    fn run(&mut self, number: u64) {
        let Some(task) = self.tasks.get_mut(&number) else { return };
        task.signal.is_ready.store(false, Ordering::Relaxed);
        let ended = task.future.as_mut().poll(&mut Context::from_waker(&task.waker)).is_ready();
        if ended {
            self.tasks.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;

    use super::*;

    const END: Timestamp = Timestamp::MAX;

    fn run(executor: &mut Executor) {
        while executor.step(END) != Step::Idle {}
    }

    /// What three processes write down that wait different times, and the same ones.
    fn written(seed: u64) -> Vec<(u32, Timestamp)> {
        let clock = VirtualClock::starting_at(Timestamp::UNIX_EPOCH);
        let mut executor = Executor::new(clock.clone(), seed);
        let lines = Arc::new(Mutex::new(Vec::new()));
        for process in 1..=3 {
            let (clock, lines) = (clock.clone(), lines.clone());
            let work = async move {
                for round in 1..=5_u64 {
                    clock.sleep(Duration::from_secs(round % 2 + 1)).await;
                    lines.lock().unwrap().push((process, clock.now()));
                }
            };
            executor.spawn(ProcessId(process), work.boxed());
        }
        run(&mut executor);
        Arc::try_unwrap(lines).unwrap().into_inner().unwrap()
    }

    #[test]
    fn a_seed_repeats_the_order_and_another_one_changes_it() {
        assert_eq!(written(1), written(1));
        assert!((2..10).any(|seed| written(seed) != written(1)));
        assert_eq!(written(1).len(), 15);
    }

    #[test]
    fn a_killed_process_does_nothing_more_and_a_suspended_one_goes_on_later() {
        let clock = VirtualClock::starting_at(Timestamp::UNIX_EPOCH);
        let mut executor = Executor::new(clock.clone(), 1);
        let count = Arc::new(Mutex::new(BTreeMap::<u32, u32>::new()));
        for process in [1, 2] {
            let (clock, count) = (clock.clone(), count.clone());
            let work = async move {
                for _ in 0..3 {
                    clock.sleep(Duration::from_secs(10)).await;
                    *count.lock().unwrap().entry(process).or_default() += 1;
                }
            };
            executor.spawn(ProcessId(process), work.boxed());
        }
        let after = |seconds| Timestamp::UNIX_EPOCH + Duration::from_secs(seconds);
        while executor.step(after(15)) != Step::Idle {}
        executor.kill(ProcessId(1));
        executor.suspend(ProcessId(2));
        while executor.step(after(100)) != Step::Idle {}
        assert_eq!(*count.lock().unwrap(), BTreeMap::from([(1, 1), (2, 1)]));
        executor.resume(ProcessId(2));
        run(&mut executor);
        assert_eq!(*count.lock().unwrap(), BTreeMap::from([(1, 1), (2, 3)]));
        assert!(!executor.is_alive(ProcessId(2)));
    }
}
