//! Processes on one SQLite file that are killed in the middle of their calls. They write down what they do line by line, with the
//! system's monotonic clock, so that the histories of all of them join.

use std::fs::{self, File};
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dcm_core::port::store::Path;
use dcm_store::histories::{Backend, Event, Moment, Play, Recorder, Request, Seeded, Tape, seeds};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::{OneFile, SEEDS, holds, player};

/// Tells a process what to play.
const PART: &str = "DCM_STORE_HISTORIES_PART";

/// How many processes use the file at a time, beside the one that kills them.
const LANES: u32 = 2;

/// How many processes follow one another in each lane.
const LIVES: u32 = 3;

/// A bound on how long a process takes to make its calls.
const SOON: Duration = Duration::from_secs(60);

/// What a process plays.
#[derive(Serialize, Deserialize)]
struct Part {
    seed: u64,
    folder: Path,
    clients: Range<u32>,
    /// The folder of the store's file.
    store: PathBuf,
    events: PathBuf,
}

impl Part {
    fn play(&self, calls: usize) -> Play {
        let (folder, clients) = (self.folder.clone(), self.clients.clone());
        Play { seed: self.seed, folder, clients, calls, followers: 1 }
    }
}

/// The same clock in all processes.
fn now() -> Moment {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap();
    Moment(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap())
}

/// What a process plays until it is killed.
pub(super) async fn play_part() {
    let part: Part = serde_json::from_str(&std::env::var(PART).unwrap()).unwrap();
    let events = Mutex::new(File::create(&part.events).unwrap());
    let note = move |event: Event| {
        let line = serde_json::to_string(&event).unwrap() + "\n";
        // At once, so that a line is there as a whole or not.
        events.lock().unwrap().write_all(line.as_bytes()).unwrap();
    };
    let backend: Arc<dyn Backend> = Arc::new(OneFile::at(&part.store));
    let cast = part.play(1_000_000).start(&backend, &Recorder::new(now, note)).await;
    cast.finish().await;
}

/// What a process wrote down. The last line may be torn.
fn events(file: &FilePath) -> Vec<Event> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map_while(|line| serde_json::from_str(line).ok()).collect()
}

/// One process, from its start to its end after so many events.
async fn live(part: &Part, events_max: u64) -> Vec<Event> {
    let mut child = spawn(part);
    let enough = async {
        while (events(&part.events).len() as u64) < events_max {
            assert!(child.try_wait().unwrap().is_none(), "the process ended by itself");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(SOON, enough).await.unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut events = events(&part.events);
    // With a process its watches end.
    let watches = events.iter().filter_map(|event| match event {
        Event::Invoked { call, request: Request::Watch(_), .. } => Some(*call),
        _ => None,
    });
    let ended: Vec<Event> = watches.map(|call| Event::Ended { call, at: now() }).collect();
    events.extend(ended);
    events
}

fn spawn(part: &Part) -> Child {
    let part = serde_json::to_string(part).unwrap();
    player().env(PART, part).stdout(Stdio::null()).spawn().unwrap()
}

/// One process after the other.
async fn lane(seed: u64, lane: u32, folder: Path, store: PathBuf, tape: Tape) {
    let mut seeded = Seeded::new(seed, u64::from(lane));
    for life in 0..LIVES {
        let first = 100 * (lane + 1) + 10 * life;
        let events = store.join(format!("events-{first}"));
        let (folder, store) = (folder.clone(), store.clone());
        let part = Part { seed, folder, clients: first..first + 2, store, events };
        tape.add(live(&part, 4 + seeded.below(80)).await);
    }
}

async fn history(seed: u64) {
    let file = OneFile::new(false);
    let store = file.folder.clone();
    let backend: Arc<dyn Backend> = file;
    let (recorder, tape) = Recorder::to_tape_with(now);
    // This process uses the file, too, and lives.
    let play = Play { clients: 0..1, calls: 40, followers: 1, ..Play::of(seed) };
    let cast = play.start(&backend, &recorder).await;
    let others =
        (0..LANES).map(|number| lane(seed, number, play.folder.clone(), store.clone(), tape.clone()));
    let others: Vec<_> = others.map(tokio::spawn).collect();
    for other in others {
        other.await.unwrap();
    }
    let followers = cast.finish().await;
    let judged = play.judge(&backend, recorder, &tape).await;
    drop(followers);
    holds(judged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_with_processes_that_are_killed() {
    for seed in seeds(SEEDS) {
        history(seed).await;
    }
}
