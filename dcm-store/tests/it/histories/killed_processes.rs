//! Processes on one SQLite file that are killed in the middle of their calls. They say what they do line by line, with the
//! system's monotonic clock, so that the histories of all of them join.

use std::io::{self, Write as _};
use std::ops::Range;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use dcm_core::port::store::Path;
use dcm_store::histories::{Backend, Event, Moment, Play, Recorder, Request, Seeded, Tape};
use dcm_testenv::effort::patience;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::{OneFile, holds, played_seeds};

/// Tells a process what to play.
const PART: &str = "DCM_STORE_HISTORIES_PART";

/// How many processes use the file at a time, beside the one that kills them.
const LANES: u32 = 2;

/// How many processes follow one another in each lane.
const LIVES: u32 = 3;

/// More calls than any process lives to make.
const CALLS: usize = 1_000_000;

/// What a process plays.
#[derive(Serialize, Deserialize)]
struct Part {
    seed: u64,
    folder: Path,
    clients: Range<u32>,
    /// The folder of the store's file.
    store: PathBuf,
}

impl Part {
    /// What this process is to play, when it is one that will be killed.
    fn of_this_process() -> Option<Self> {
        std::env::var(PART).ok().map(|text| serde_json::from_str(&text).unwrap())
    }

    /// Starts a process that plays it.
    fn spawn(&self) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "histories::killed_processes::sqlite_with_processes_that_are_killed",
            "--exact",
            "--nocapture",
        ]);
        command.env(PART, serde_json::to_string(self).unwrap()).stdout(Stdio::piped()).kill_on_drop(true);
        command.spawn().unwrap()
    }

    /// Plays it until this process is killed.
    async fn play_to_death(&self) {
        let out = io::stdout();
        // The test runner may have begun a line.
        writeln!(&out).unwrap();
        let say = move |event: Event| writeln!(&out, "{}", serde_json::to_string(&event).unwrap()).unwrap();
        let backend: Arc<dyn Backend> = Arc::new(OneFile::at(&self.store));
        self.play(CALLS).start(&backend, &Recorder::new(now, say)).await.finish().await;
    }

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

/// One process, from its start to its end after so many events.
async fn live(part: &Part, events_max: usize) -> Vec<Event> {
    let mut child = part.spawn();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut events: Vec<Event> = Vec::new();
    let listen = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            // The test runner has its words, too, and the last line may be torn.
            events.extend(serde_json::from_str::<Event>(&line));
            if events.len() == events_max {
                child.start_kill().unwrap();
            }
        }
    };
    tokio::time::timeout(patience(), listen).await.unwrap();
    child.wait().await.unwrap();
    assert!(events.len() >= events_max, "the process ended by itself");
    // With a process its watches end.
    let watches = events.iter().filter_map(|event| match event {
        Event::Invoked { call, request: Request::Watch(_), .. } => Some(*call),
        _ => None,
    });
    let ended: Vec<Event> = watches.map(|call| Event::Ended { call, at: now() }).collect();
    events.extend(ended);
    events
}

/// One process after the other.
async fn lane(seed: u64, lane: u32, folder: Path, store: PathBuf, tape: Tape) {
    let mut seeded = Seeded::new(seed, u64::from(lane));
    for life in 0..LIVES {
        let first = 100 * (lane + 1) + 10 * life;
        let (folder, store) = (folder.clone(), store.clone());
        let part = Part { seed, folder, clients: first..first + 2, store };
        let events_max = 4 + seeded.below(80);
        tape.add(live(&part, usize::try_from(events_max).unwrap()).await);
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
    if let Some(part) = Part::of_this_process() {
        return part.play_to_death().await;
    }
    for seed in played_seeds() {
        history(seed).await;
    }
}
