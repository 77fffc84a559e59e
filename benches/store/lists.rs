//! Lists of many documents: how long they take page by page, and that memory holds a page of them and not the whole.
//!
//! Each list has a process of its own, so that what was loaded does not count for it.

use std::convert::Infallible;

use anyhow::{Context as _, Result, ensure};
use dcm_benches::size::Size;
use dcm_benches::{child, usage};
use dcm_core::port::store::{BATCH_WRITES_MAX, Document, PAGE_MAX, PageRequest, Path, Prefix, Store, Write};
use mongodb::bson::{self, doc};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use super::BENCH;
use super::places::{Backend, Places};

/// The store of the documents.
const PLACE: &str = "lists";

/// Where the store has its records in a database of MongoDB.
const COLLECTION: &str = "DCM";

/// The folder of all documents.
const ROOT: &str = "documents";

/// How many folders below it they are in, alike.
const FOLDERS: u32 = 2;

/// The folder that is listed by its prefix.
const LISTED: u32 = 1;

/// How many documents there are. The server that speaks as MongoDB takes its time to list them.
fn documents(backend: Backend) -> u32 {
    match backend {
        Backend::Memory | Backend::Sqlite | Backend::Etcd => 100_000,
        Backend::MongoDb => 10_000,
    }
}

/// How many there are at the smallest size: more than a page of all, and more than a batch.
const DOCUMENTS_SMALLEST: u32 = 600;

/// How much is in each document, in bytes: so much that the documents of a folder are more than a list may take of memory.
fn content_bytes(backend: Backend) -> usize {
    match backend {
        Backend::Memory | Backend::Sqlite | Backend::Etcd => 1000,
        Backend::MongoDb => 3000,
    }
}

/// What the lists of one backend cost.
pub(crate) struct Costs {
    pub(crate) backend: Backend,
    pub(crate) documents: u32,
    /// Everything.
    pub(crate) whole: Cost,
    /// A half of it, by prefix.
    pub(crate) folder: Cost,
}

/// What one list cost.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) milliseconds: f64,
    /// How much more memory it took after any page than before the first one. None where the store itself is in memory.
    pub(crate) growth_bytes: Option<u64>,
}

/// What a child process is to do.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    url: String,
    /// How many documents it puts there first: into a store that only it has.
    load: Option<u32>,
    /// What is listed; none: everything.
    folder: Option<u32>,
    /// How many documents that are.
    documents: u32,
}

/// Loads the documents, and lists them.
pub(crate) async fn run(places: &Places, backend: Backend, size: Size) -> Result<Costs> {
    let (url, documents) = (places.url(backend, PLACE), size.of(documents(backend), DOCUMENTS_SMALLEST));
    eprintln!("lists of {documents} documents in {}", backend.name());
    let load = (backend == Backend::Memory).then_some(documents);
    match backend {
        // Its child does.
        Backend::Memory => {}
        Backend::Sqlite | Backend::Etcd => {
            fill(&*places.open(backend, PLACE).await?, documents, content_bytes(backend)).await?;
        }
        Backend::MongoDb => fill_with_copies(places, documents, content_bytes(backend)).await?,
    }
    let whole = Order { url: url.clone(), load, folder: None, documents };
    let folder = Order { url, load, folder: Some(LISTED), documents: documents / FOLDERS };
    let (whole, folder) = (child::run(BENCH, &whole).await?, child::run(BENCH, &folder).await?);
    Ok(Costs { backend, documents, whole, folder })
}

/// The whole of a child process.
pub(crate) fn child(order: &str) -> Result<Infallible> {
    let order: Order = serde_json::from_str(order)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    child::answer(&runtime.block_on(list(&order))?)
}

async fn list(order: &Order) -> Result<Cost> {
    let store = dcm_server::open_sealed(&order.url).await?;
    if let Some(documents) = order.load {
        fill(&*store, documents, content_bytes(Backend::Memory)).await?;
    }
    let prefix = match order.folder {
        Some(folder) => Prefix::below(&folder_of(folder)?),
        None => Prefix::everything(),
    };
    // Connections, and what a driver makes at its first use, are no part of a list.
    ensure!(store.get(&path_of(0)?).await?.is_some(), "the first document is not there");
    let before = usage::resident_bytes()?;
    let began = Instant::now();
    let (mut listed, mut most) = (0, before);
    let mut request = PageRequest { after: None, limit: Some(PAGE_MAX) };
    loop {
        let page = store.list(&prefix, &request).await?;
        listed += page.entries.len();
        most = most.max(usage::resident_bytes()?);
        request.after = page.next;
        if request.after.is_none() {
            break;
        }
    }
    let milliseconds = began.elapsed().as_secs_f64() * 1e3;
    ensure!(listed == order.documents as usize, "{listed} documents were listed of {}", order.documents);
    Ok(Cost { milliseconds, growth_bytes: order.load.is_none().then_some(most - before) })
}

/// Makes the documents, in batches as large as may be.
async fn fill(store: &dyn Store, documents: u32, bytes: usize) -> Result<()> {
    let numbers: Vec<u32> = (0..documents).collect();
    for numbers in numbers.chunks(BATCH_WRITES_MAX) {
        let batch: Result<Vec<Write>> = numbers.iter().map(|number| creation(*number, bytes)).collect();
        store.write(&batch?).await?;
    }
    Ok(())
}

/// Makes one document through the store, and the others as copies of its record, by the driver: for each update the server that
/// speaks as MongoDB looks through all records, and would take minutes.
async fn fill_with_copies(places: &Places, documents: u32, bytes: usize) -> Result<()> {
    places.open(Backend::MongoDb, PLACE).await?.write(&[creation(0, bytes)?]).await?;
    let client = mongodb::Client::with_uri_str(places.mongodb()).await?;
    let records = client.database(PLACE).collection::<bson::Document>(COLLECTION);
    let record = records.find_one(doc! {}).await?.context("the record of the first document")?;
    let numbers: Vec<u32> = (1..documents).collect();
    for numbers in numbers.chunks(PAGE_MAX) {
        let copy = |number: &u32| -> Result<bson::Document> {
            let mut copy = record.clone();
            copy.insert("_id", path_of(*number)?.as_str());
            Ok(copy)
        };
        records.insert_many(numbers.iter().map(copy).collect::<Result<Vec<_>>>()?).await?;
    }
    Ok(())
}

/// A document with so many bytes.
fn creation(number: u32, bytes: usize) -> Result<Write> {
    let content = "x".repeat(bytes);
    let document = Document::from_value(&json!({"number": number, "content": content}))?;
    Ok(Write::Create { path: path_of(number)?, document })
}

fn path_of(number: u32) -> Result<Path> {
    Ok(Path::new(format!("{}/document-{number:06}", folder_of(number % FOLDERS)?))?)
}

fn folder_of(folder: u32) -> Result<Path> {
    Ok(Path::new(format!("{ROOT}/folder-{folder}"))?)
}
