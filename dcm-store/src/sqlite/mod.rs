//! Documents in one SQLite file: durable, and shared by the processes of one host.
//!
//! A write returns when it is on the disk (WAL, `synchronous=FULL`); writes that wait while another is committed are
//! committed together. One thread writes and tells the watches, others read; nothing blocks the caller's runtime, and
//! none is needed. Changes by other processes are looked for every [`POLL_INTERVAL`] while somebody watches.
//!
//! The file and its `-wal` and `-shm` companions are for their owner only, and deleted content is overwritten in the
//! file. Companions hold earlier content until they are written over or the last user closes the store: what must not
//! be on the disk belongs under `EncryptedStore`. Network file systems don't lock well enough for SQLite.

mod connection;
mod failure;
mod reader;
mod schema;
mod writer;

use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch, Write,
};
use futures::channel::oneshot;
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::failure::{failed, of_file};
use self::writer::Command;
use crate::rules;

/// How often changes by other processes are looked for while somebody watches.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Threads that read. Reads are short and mostly of memory: two keep a long list from delaying a single document.
const READERS: usize = 2;

/// Most requests that wait for a thread; further callers wait for one of these to be done.
const WAITING_MAX: usize = 1024;

/// Documents in one SQLite file.
pub struct SqliteStore {
    // Readers go first, so that the writer's connection is the last one: of two that close at the same time neither
    // would take itself for the last, which moves the log into the file.
    reads: Queue<Read>,
    writes: Queue<Command>,
    file: PathBuf,
}

/// Something to be read on a reader's connection.
type Read = Box<dyn FnOnce(&Connection) + Send>;

impl SqliteStore {
    /// Opens the file, and makes it (mode 0600) when there is none; its folder must be there.
    ///
    /// # Errors
    /// [`Error::Failed`] when the file can't be read and written, is damaged, is something else than a store, has tables, indexes,
    /// triggers or views that a store does not have, or was written by a newer version of this crate; [`Error::Unavailable`] when other processes keep it locked.
    pub async fn open(file: impl AsRef<FilePath>) -> Result<Self, Error> {
        Self::open_with(file.as_ref(), connection::make_file).await
    }

    /// Opens a file that is there: none is made.
    ///
    /// # Errors
    /// Those of [`SqliteStore::open`]; [`Error::Failed`] where there is none.
    pub async fn open_existing(file: impl AsRef<FilePath>) -> Result<Self, Error> {
        Self::open_with(file.as_ref(), connection::find_file).await
    }

    async fn open_with(file: &FilePath, provide: fn(&FilePath) -> Result<(), Error>) -> Result<Self, Error> {
        let file = file.to_path_buf();
        let (opened, answer) = oneshot::channel();
        let opener = move || {
            let provided = provide(&file).and_then(|()| Self::open_blocking(&file));
            let _ = opened.send(provided.map_err(|error| of_file(&file, error)));
        };
        thread::Builder::new().name("dcm-store-open".into()).spawn(opener).map_err(no_thread)?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    fn open_blocking(file: &FilePath) -> Result<Self, Error> {
        let writer = connection::connect(file)?;
        connection::prepare(&writer)?;
        let (mut writes, commands) = Queue::new();
        writes.spawn("dcm-store-write", move || writer::run(writer, &commands))?;
        let (mut reads, waiting) = Queue::<Read>::new();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..READERS {
            let (connection, waiting) = (connection::connect(file)?, waiting.clone());
            reads.spawn("dcm-store-read", move || reader::run(&connection, &waiting))?;
        }
        Ok(Self { reads, writes, file: file.to_path_buf() })
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let job = |answer: oneshot::Sender<_>, permit| -> Read {
            Box::new(move |connection| {
                let _ = answer.send(read(connection));
                drop(permit);
            })
        };
        self.reads.ask(job).await.flatten().map_err(|error| of_file(&self.file, error))
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities { atomic_batches: true, durable: true, shared: true, holds_secrets: false }
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        let path = path.clone();
        self.read(move |connection| reader::get(connection, &path)).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let (limit, prefix, after) = (rules::page_limit(page)?, prefix.clone(), page.after.clone());
        self.read(move |connection| reader::list(connection, &prefix, after.as_ref(), limit)).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let refused = |source| BatchError { applied: 0, source };
        rules::check_batch(batch, false).map_err(refused)?;
        let batch = batch.to_vec();
        let command = |answer, permit| Command::Write { batch, answer, permit };
        let written = self.writes.ask(command).await.flatten();
        written.map_err(|error| refused(of_file(&self.file, error)))
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        let prefix = prefix.clone();
        let watching = self.writes.ask(|answer, permit| Command::Watch { prefix, answer, permit }).await;
        watching.flatten().map_err(|error| of_file(&self.file, error))
    }
}

/// Hands work to threads, and limits how much of it waits.
struct Queue<T> {
    sender: mpsc::Sender<T>,
    permits: Arc<Semaphore>,
    // Dropped after the sender, whose end ends them.
    threads: Threads,
}

impl<T> Queue<T> {
    fn new() -> (Self, mpsc::Receiver<T>) {
        let (sender, receiver) = mpsc::channel();
        let permits = Arc::new(Semaphore::new(WAITING_MAX));
        (Self { sender, permits, threads: Threads::default() }, receiver)
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let thread = thread::Builder::new().name(name.into()).spawn(work).map_err(no_thread)?;
        self.threads.0.push(thread);
        Ok(())
    }

    /// Sends work and waits for its answer. The permit goes with the work: also that of callers who went away counts.
    async fn ask<A>(
        &self,
        work: impl FnOnce(oneshot::Sender<A>, OwnedSemaphorePermit) -> T,
    ) -> Result<A, Error> {
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| ended())?;
        let (sender, answer) = oneshot::channel();
        self.sender.send(work(sender, permit)).map_err(|_| ended())?;
        answer.await.map_err(|_| ended())
    }
}

/// Threads that dropping waits for, so that a dropped store is a closed one.
#[derive(Default)]
struct Threads(Vec<JoinHandle<()>>);

impl Drop for Threads {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // A waker can drop the last handle on the store's own thread, which can't wait for itself.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

fn no_thread(error: std::io::Error) -> Error {
    failed("no thread for the store could be started", error)
}

fn ended() -> Error {
    Error::Failed { reason: "the store's thread has ended".into(), source: None }
}
