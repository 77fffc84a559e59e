//! Makes calls, and notes when they begin and end and what was answered.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use dcm_core::port::store::{
    BatchError, Change, Entry, Error, PageRequest, Path, Prefix, Store, Version, Watch, Write,
};

use super::content::{document, write_of};
use super::history::{CallId, Client, Event, Moment, Outcome, Piece, Request, Sighting, Told};
use crate::lock::lock;

/// Says which moment it is. Moments must never go back, not from one thread to another either.
type Now = Arc<dyn Fn() -> Moment + Send + Sync>;

/// Keeps an event before it returns.
type Note = Arc<dyn Fn(Event) + Send + Sync>;

/// Where events go.
#[derive(Clone)]
pub struct Recorder {
    now: Now,
    note: Note,
}

/// What was recorded so far.
#[derive(Clone, Default)]
pub struct Tape(Arc<Mutex<Vec<Event>>>);

impl Tape {
    /// All events so far.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        lock(&self.0).clone()
    }

    /// Adds what was recorded elsewhere.
    pub fn add(&self, events: impl IntoIterator<Item = Event>) {
        lock(&self.0).extend(events);
    }
}

impl Recorder {
    /// Records with a clock and a place of the caller's. Those of several processes whose events are joined must have one clock.
    #[must_use]
    pub fn new(
        now: impl Fn() -> Moment + Send + Sync + 'static,
        note: impl Fn(Event) + Send + Sync + 'static,
    ) -> Self {
        Self { now: Arc::new(now), note: Arc::new(note) }
    }

    /// Records on a tape of this process. Moments are counted: nothing hangs on a clock.
    #[must_use]
    pub fn to_tape() -> (Self, Tape) {
        let count = AtomicU64::new(0);
        Self::to_tape_with(move || Moment(count.fetch_add(1, Ordering::SeqCst)))
    }

    /// Records on a tape of this process with a clock of the caller's.
    #[must_use]
    pub fn to_tape_with(now: impl Fn() -> Moment + Send + Sync + 'static) -> (Self, Tape) {
        let tape = Tape::default();
        let kept = tape.clone();
        (Self::new(now, move |event| kept.add([event])), tape)
    }

    fn note(&self, event: impl FnOnce(Moment) -> Event) {
        (self.note)(event((self.now)()));
    }
}

/// One client's connection.
pub(super) struct Caller {
    store: Arc<dyn Store>,
    recorder: Recorder,
    client: Client,
    calls: u32,
}

impl Caller {
    pub(super) fn new(store: Arc<dyn Store>, recorder: Recorder, client: Client) -> Self {
        Self { store, recorder, client, calls: 0 }
    }

    fn invoke(&mut self, request: Request) -> CallId {
        let call = CallId { client: self.client, number: self.calls };
        self.calls += 1;
        self.recorder.note(|at| Event::Invoked { call, at, request });
        call
    }

    fn returned(&self, call: CallId, outcome: Outcome) {
        self.recorder.note(|at| Event::Returned { call, at, outcome });
    }

    /// Reads or writes.
    pub(super) async fn call(&mut self, request: &Request) -> Outcome {
        let call = self.invoke(request.clone());
        let outcome = match request {
            Request::Get(path) => self.get(path).await,
            Request::List { folder, after, limit } => {
                let page = PageRequest { after: after.clone(), limit: Some(*limit) };
                self.list(&Prefix::below(folder), &page).await
            }
            Request::Write(pieces) => self.write(pieces).await,
            Request::Watch(_) => Outcome::Failed("a watch is asked for in its own way".into()),
        };
        self.returned(call, outcome.clone());
        outcome
    }

    async fn get(&self, path: &Path) -> Outcome {
        match self.store.get(path).await {
            Ok(found) => Outcome::Got(found.map(|entry| self.sighting(entry))),
            Err(error) => failed(0, &error),
        }
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Outcome {
        match self.store.list(prefix, page).await {
            Ok(page) => {
                let entries = page.entries.into_iter().map(|entry| self.sighting(entry)).collect();
                Outcome::Listed { entries, next: page.next }
            }
            Err(error) => failed(0, &error),
        }
    }

    async fn write(&self, pieces: &[Piece]) -> Outcome {
        let batch: Vec<Write> = pieces.iter().map(|piece| self.written(piece)).collect();
        match self.store.write(&batch).await {
            Ok(versions) => Outcome::Written(versions),
            Err(BatchError { applied, source: Error::Conflict { path, found } }) => {
                Outcome::Conflict { applied, path, found }
            }
            Err(BatchError { applied, source }) => failed(applied, &source),
        }
    }

    fn written(&self, Piece { path, expects, puts }: &Piece) -> Write {
        let path = path.clone();
        let holds_secrets = self.store.capabilities().holds_secrets;
        match (puts.map(|write| document(write, holds_secrets)), *expects) {
            (Some(document), None) => Write::Create { path, document },
            (Some(document), Some(version)) => Write::Update { path, version, document },
            (None, version) => Write::Delete { path, version: version.unwrap_or(Version(0)) },
        }
    }

    fn sighting(&self, Entry { path, version, document }: Entry) -> Sighting {
        let write = write_of(&document, self.store.capabilities().holds_secrets);
        Sighting { path, version, write }
    }

    /// Follows a folder; none when there is nothing to follow.
    pub(super) async fn watch(&mut self, folder: &Path) -> Option<(CallId, Watch)> {
        let call = self.invoke(Request::Watch(folder.clone()));
        match self.store.watch(&Prefix::below(folder)).await {
            Ok(watch) => {
                self.returned(call, Outcome::Watching);
                Some((call, watch))
            }
            Err(error) => {
                self.returned(call, failed(0, &error));
                None
            }
        }
    }

    /// Notes what a watch said; false when that was the last.
    pub(super) fn told(&self, call: CallId, change: Option<Change>) -> bool {
        let told = match change {
            Some(Change::Put(entry)) => Told::Put(self.sighting(entry)),
            Some(Change::Deleted(path)) => Told::Deleted(path),
            Some(Change::Lost) | None => {
                self.ended(call);
                return false;
            }
        };
        self.recorder.note(|at| Event::Told { call, at, told });
        true
    }

    /// Notes that a watch is read no more.
    pub(super) fn ended(&self, call: CallId) {
        self.recorder.note(|at| Event::Ended { call, at });
    }
}

fn failed(applied: usize, error: &Error) -> Outcome {
    if error.is_retryable() {
        return Outcome::Unavailable { applied };
    }
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        // Writing to a text does not fail.
        let _ = write!(words, ": {cause}");
        source = cause.source();
    }
    Outcome::Failed(words)
}
