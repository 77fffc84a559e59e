//! A process that is killed in the middle of its writes leaves a whole store, with all that was acknowledged.
#![allow(clippy::unwrap_used)]
#![cfg(feature = "sqlite")]

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};

use dcm_core::port::store::{Document, Path, Prefix, Store, StoreExt, Version, Write};
use dcm_store::SqliteStore;

/// Names the file to write, for the process that is to be killed.
const FILE: &str = "DCM_STORE_CRASH_FILE";

/// Documents in each batch.
const DOCUMENTS: usize = 10;

/// Acknowledged batches after which the process is killed, in each life.
const LIVES: [usize; 6] = [1, 2, 7, 40, 3, 150];

fn paths() -> Vec<Path> {
    (0..DOCUMENTS).map(|number| Path::new(format!("d/{number}")).unwrap()).collect()
}

/// What the killed process does: it raises the number in all documents, batch after batch, and says which number was
/// acknowledged.
async fn write_to_death(file: &str) {
    let store = SqliteStore::open(file).await.unwrap();
    let entries = store.list_all(&Prefix::everything()).await.unwrap();
    let mut number = entries.first().map_or(0, |entry| entry.document.read::<u64>().unwrap());
    let mut versions: Vec<Option<Version>> = if entries.is_empty() {
        vec![None; DOCUMENTS]
    } else {
        entries.iter().map(|e| Some(e.version)).collect()
    };
    let mut answers = std::io::stdout();
    loop {
        number += 1;
        let document = Document::from_value(&number).unwrap();
        let write = |(path, version): (Path, &Option<Version>)| match *version {
            None => Write::Create { path, document: document.clone() },
            Some(version) => Write::Update { path, version, document: document.clone() },
        };
        let batch: Vec<Write> = paths().into_iter().zip(&versions).map(write).collect();
        versions = store.write(&batch).await.unwrap().into_iter().map(Some).collect();
        writeln!(answers, "acknowledged {number}").unwrap();
    }
}

/// Runs a writer until so many batches were acknowledged, and kills it; the last number that it acknowledged.
fn one_life(file: &std::path::Path, batches: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "sqlite_crash::a_killed_process_leaves_all_that_was_acknowledged_and_no_half_batch",
            "--nocapture",
        ])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).split(b'\n') {
        let line = String::from_utf8(line.unwrap()).unwrap();
        // The harness may have written the begin of the first line. The last line may be torn.
        let Some((_, number)) = line.split_once("acknowledged ") else {
            continue;
        };
        acknowledged.push(number.to_owned());
        if acknowledged.len() == batches {
            // What it says until it is dead counts too.
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(acknowledged.len() >= batches, "the writer ended by itself");
    // A torn last line is a shorter number.
    acknowledged.iter().map(|number| number.parse().unwrap_or(0)).max().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_leaves_all_that_was_acknowledged_and_no_half_batch() {
    if let Ok(file) = std::env::var(FILE) {
        return write_to_death(&file).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    // A second process has the file open all the time.
    let store = SqliteStore::open(&file).await.unwrap();
    let mut newest = Version(0);
    for batches in LIVES {
        let killed = file.clone();
        let acknowledged = tokio::task::spawn_blocking(move || one_life(&killed, batches)).await.unwrap();
        for store in [&store, &SqliteStore::open(&file).await.unwrap()] {
            let entries = store.list_all(&Prefix::everything()).await.unwrap();
            let numbers: Vec<u64> = entries.iter().map(|entry| entry.document.read().unwrap()).collect();
            assert_eq!(numbers, [numbers[0]; DOCUMENTS], "half a batch");
            assert!(numbers[0] >= acknowledged, "{} is there, {acknowledged} was acknowledged", numbers[0]);
            assert!(entries.iter().all(|entry| entry.version > newest), "versions were used again");
        }
        let entries = store.list_all(&Prefix::everything()).await.unwrap();
        newest = entries.iter().map(|entry| entry.version).max().unwrap();
    }
}
