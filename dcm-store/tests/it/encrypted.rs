//! What secrets cost where they are sealed.
#![allow(clippy::unwrap_used)]
#![cfg(all(feature = "encrypted", feature = "memory"))]

use std::io;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dcm_core::port::in_order::InOrder;
use dcm_core::port::store::{
    BATCH_BYTES_MAX, BatchError, Capabilities, Change, Document, Entry, Error, Page, PageRequest, Path,
    Prefix, Store, StoreExt as _, Version, Watch, Write,
};
use dcm_store::encrypted::{
    KEY_BYTES, KeyFile, KeyId, KeyringSource, KeysError, RekeyError, Rekeyed, is_sealed,
};
use dcm_store::{EncryptedStore, Keyring, MemoryStore};
use futures::StreamExt as _;
use serde_json::{Value, json};

/// A document with one secret of so many bytes.
fn creation(name: &str, bytes: usize) -> Write {
    let secret = serde_json::json!({ "$secret": "x".repeat(bytes) });
    Write::Create { path: Path::new(name).unwrap(), document: Document::from_value(&secret).unwrap() }
}

fn encrypted() -> EncryptedStore<MemoryStore> {
    let keyring = Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES]);
    EncryptedStore::new(Arc::new(MemoryStore::new()), keyring)
}

#[tokio::test]
async fn many_writes_of_secrets_are_split_by_what_is_kept_of_them() {
    let store = encrypted();
    // In clear they fit one batch.
    let all: Vec<Write> =
        (0..4).map(|number| creation(&format!("secrets/{number}"), BATCH_BYTES_MAX / 4 - 100)).collect();
    assert!(all.iter().map(Write::bytes).sum::<usize>() <= BATCH_BYTES_MAX);
    let mut writes = InOrder::new(all);
    assert!(!writes.is_one_batch());
    assert!(writes.go_on(&store).await.unwrap().is_none());
    assert_eq!(store.list_all(&Prefix::everything()).await.unwrap().len(), 4);
}

#[tokio::test]
async fn a_document_that_is_too_large_when_it_is_sealed_is_refused_with_its_size() {
    let error = encrypted().write_one(creation("a", BATCH_BYTES_MAX - 100)).await.unwrap_err();
    assert!(matches!(&error, Error::Invalid { reason } if reason.starts_with("a has 1398")), "{error:?}");
}

fn created(name: &str, content: &Value) -> Write {
    Write::Create { path: Path::new(name).unwrap(), document: Document::from_value(content).unwrap() }
}

/// A store without secrets in clear, as one on a disk is, and its keys.
struct World {
    kept: Arc<MemoryStore>,
    keys: Arc<KeyFile>,
    _folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = Arc::new(KeyFile::open_or_create(folder.path().join("keys.json")).unwrap());
        Self { kept: Arc::new(MemoryStore::new()), keys, _folder: folder }
    }

    fn store(&self) -> EncryptedStore<MemoryStore> {
        EncryptedStore::with_keys(self.kept.clone(), self.keys.clone())
    }

    async fn create(&self, name: &str, content: Value) -> Version {
        self.store().write_one(created(name, &content)).await.unwrap()
    }

    async fn forget_earlier_keys(&self) {
        let keyring = self.keys.keyring(None).await.unwrap();
        self.keys.forget_all_but(keyring.current()).unwrap();
    }

    /// How many documents say this where they are kept.
    async fn kept_with(&self, what: &str) -> usize {
        let kept = self.kept.list_all(&Prefix::everything()).await.unwrap();
        kept.iter().filter(|entry| entry.document.as_str().contains(what)).count()
    }
}

#[tokio::test]
async fn a_new_key_seals_at_once_and_rekeying_leaves_nothing_to_the_earlier_one() {
    let world = World::new();
    world.create("open", json!({ "a": 1 })).await;
    world.create("secrets/a", json!({ "name": "a", "key": { "$secret": "hunter2" } })).await;
    let other_process = world.store();
    world.keys.renew().unwrap();
    world.create("secrets/b", json!([{ "$secret": "one" }, { "$secret": "two" }])).await;
    assert_eq!((world.kept_with(r#""key":"k1""#).await, world.kept_with(r#""key":"k2""#).await), (2, 1));

    let before = world.store().list_all(&Prefix::everything()).await.unwrap();
    let mut told = Vec::new();
    let rekeyed = world.store().rekey(|progress| told.push(*progress)).await.unwrap();
    assert_eq!(rekeyed, Rekeyed { documents: 3, resealed: 2 });
    assert_eq!(told.last(), Some(&rekeyed));
    assert_eq!(world.kept_with(r#""key":"k1""#).await, 0);
    world.forget_earlier_keys().await;
    let after = other_process.list_all(&Prefix::everything()).await.unwrap();
    let contents = |entries: &[Entry]| -> Vec<_> {
        entries.iter().map(|entry| (entry.path.clone(), entry.document.clone())).collect()
    };
    assert_eq!(contents(&after), contents(&before));
    assert_eq!(world.kept_with("hunter2").await, 0);
}

#[tokio::test]
async fn rekeying_while_others_write_loses_nothing() {
    let world = World::new();
    let names: Vec<String> = (0..20).map(|number| format!("counters/{number}")).collect();
    for name in &names {
        world.create(name, json!({ "count": 0, "key": { "$secret": "hunter2" } })).await;
    }
    let count = async |name: &String| {
        let (store, path) = (world.store(), Path::new(name).unwrap());
        let mut counted = 0;
        while counted < 50 {
            let entry = store.get(&path).await.unwrap().unwrap();
            let mut content: Value = entry.document.read().unwrap();
            content["count"] = (content["count"].as_u64().unwrap() + 1).into();
            let document = Document::from_value(&content).unwrap();
            let update = Write::Update { path: path.clone(), version: entry.version, document };
            match store.write_one(update).await {
                Ok(_) => counted += 1,
                Err(Error::Conflict { .. }) => {}
                Err(error) => panic!("{error:?}"),
            }
            tokio::task::yield_now().await;
        }
    };
    let rekey = async {
        for _ in 0..5 {
            world.keys.renew().unwrap();
            world.store().rekey(|_| ()).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    futures::join!(futures::future::join_all(names.iter().map(count)), rekey);
    world.store().rekey(|_| ()).await.unwrap();
    world.forget_earlier_keys().await;
    for entry in world.store().list_all(&Prefix::everything()).await.unwrap() {
        let content: Value = entry.document.read().unwrap();
        assert_eq!(content, json!({ "count": 50, "key": { "$secret": "hunter2" } }), "{}", entry.path);
    }
}

#[tokio::test]
async fn rekeying_with_a_missing_key_changes_nothing_and_names_it() {
    let world = World::new();
    world.create("secrets/a", json!({ "$secret": "hunter2" })).await;
    let other = Keyring::new("other".parse().unwrap(), &[7; KEY_BYTES]);
    let store = EncryptedStore::new(world.kept.clone(), other);
    let kept = world.kept.list_all(&Prefix::everything()).await.unwrap();
    let error = store.rekey(|_| ()).await.unwrap_err();
    let RekeyError::Left { documents: 1, first } = error else { panic!("{error:?}") };
    assert!(matches!(first, Error::Failed { .. }), "{first:?}");
    assert!(["\"k1\"", "secrets/a"].iter().all(|named| first.to_string().contains(named)), "{first}");
    assert_eq!(world.kept.list_all(&Prefix::everything()).await.unwrap(), kept);
}

const DAMAGE: &str = "the record has lost its content";

/// A store whose record at one path is damaged.
struct Damaged {
    inner: Arc<MemoryStore>,
    path: Path,
}

impl Damaged {
    fn show(&self, entry: Entry) -> Entry {
        let damage = || Error::Failed { reason: DAMAGE.into(), source: None };
        match entry.path == self.path {
            true => Entry { document: Document::unreadable(damage()), ..entry },
            false => entry,
        }
    }
}

#[async_trait]
impl Store for Damaged {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        Ok(self.inner.get(path).await?.map(|entry| self.show(entry)))
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let Page { entries, next } = self.inner.list(prefix, page).await?;
        Ok(Page { entries: entries.into_iter().map(|entry| self.show(entry)).collect(), next })
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        self.inner.write(batch).await
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.inner.watch(prefix).await
    }
}

#[tokio::test]
async fn rekeying_seals_anew_what_can_be_read_and_names_what_can_not() {
    let world = World::new();
    for name in ["secrets/a", "secrets/c", "secrets/e"] {
        world.create(name, json!({ "$secret": "hunter2" })).await;
    }
    // Signed with a key that is lost, or not signed at all.
    let lost =
        EncryptedStore::new(world.kept.clone(), Keyring::new("lost".parse().unwrap(), &[7; KEY_BYTES]));
    lost.write_one(created("secrets/b", &json!({ "$secret": "hunter2" }))).await.unwrap();
    world.kept.write_one(created("secrets/d", &json!({ "$sealed": 7 }))).await.unwrap();
    world.keys.renew().unwrap();
    let damaged = Damaged { inner: world.kept.clone(), path: Path::new("secrets/a").unwrap() };
    let error =
        EncryptedStore::with_keys(Arc::new(damaged), world.keys.clone()).rekey(|_| ()).await.unwrap_err();
    let RekeyError::Left { documents: 3, first } = &error else { panic!("{error:?}") };
    assert!(matches!(first, Error::Failed { reason, .. } if reason == DAMAGE), "{error:?}");
    assert_eq!((world.kept_with(r#""key":"k1""#).await, world.kept_with(r#""key":"k2""#).await), (1, 2));
}

/// Other keys by the same name.
fn others() -> Keyring {
    Keyring::new("k1".parse().unwrap(), &[1; KEY_BYTES])
}

async fn refuses_other_keys(world: &World) {
    let other = EncryptedStore::new(world.kept.clone(), others());
    let before = world.kept.list_all(&Prefix::everything()).await.unwrap();
    for refused in [other.check_keys().await, other.note_keys().await] {
        assert!(
            matches!(&refused, Err(KeysError::Wrong(Error::Failed { reason, .. })) if reason.contains("k1")),
            "{refused:?}"
        );
    }
    assert_eq!(world.kept.list_all(&Prefix::everything()).await.unwrap(), before);
}

#[tokio::test]
async fn other_keys_than_those_that_were_noted_are_told_from_them_and_change_nothing() {
    let world = World::new();
    assert!(!is_sealed(&*world.kept).await.unwrap());
    world.store().check_keys().await.unwrap();
    assert!(!is_sealed(&*world.kept).await.unwrap());
    world.store().note_keys().await.unwrap();
    assert!(is_sealed(&*world.kept).await.unwrap());
    let noted = world.kept.list_all(&Prefix::everything()).await.unwrap();
    world.store().note_keys().await.unwrap();
    world.store().check_keys().await.unwrap();
    assert_eq!(world.kept.list_all(&Prefix::everything()).await.unwrap(), noted);
    refuses_other_keys(&world).await;
}

#[tokio::test]
async fn what_is_sealed_tells_other_keys_where_nothing_was_noted() {
    let world = World::new();
    for number in 0..600 {
        world.create(&format!("open/{number}"), json!({ "a": 1 })).await;
    }
    world.create("secrets/a", json!({ "$secret": "hunter2" })).await;
    assert!(is_sealed(&*world.kept).await.unwrap());
    refuses_other_keys(&world).await;
    world.store().note_keys().await.unwrap();
    refuses_other_keys(&world).await;
}

#[tokio::test]
async fn a_damaged_word_is_written_anew_by_whoever_has_the_right_keys() {
    let world = World::new();
    let word = Path::new("sealed-with").unwrap();
    for damage in [
        "{",
        "{}",
        r#"{"schema":1,"word":{"$secret":"clear"}}"#,
        r#"{"$sealed":{"key":"k1","nonce":"AAAAAAAAAAAAAAAA","data":"AAAA"}}"#,
    ] {
        world.store().note_keys().await.unwrap();
        let noted = world.kept.get(&word).await.unwrap().unwrap();
        let document = Document::from_stored(damage);
        world
            .kept
            .write_one(Write::Update { path: word.clone(), version: noted.version, document })
            .await
            .unwrap();
        if world.store().get(&Path::new("secrets/a").unwrap()).await.unwrap().is_none() {
            // Nothing is sealed yet: any keys will do.
            world.create("secrets/a", json!({ "$secret": "hunter2" })).await;
        }
        refuses_other_keys(&world).await;
        world.store().check_keys().await.unwrap();
        world.store().note_keys().await.unwrap();
        let kept = world.kept.get(&word).await.unwrap().unwrap();
        assert!(kept.document.as_str().contains("$sealed") && kept.document.as_str() != damage, "{damage}");
        refuses_other_keys(&world).await;
    }
}

#[tokio::test]
async fn one_damaged_secret_makes_no_key_wrong() {
    let world = World::new();
    let damaged =
        Document::from_stored(r#"{"$sealed":{"key":"k9","nonce":"AAAAAAAAAAAAAAAA","data":"AAAA"}}"#);
    let path = Path::new("secrets/a").unwrap();
    world.kept.write_one(Write::Create { path, document: damaged }).await.unwrap();
    world.create("secrets/b", json!({ "$secret": "hunter2" })).await;
    world.store().note_keys().await.unwrap();
    refuses_other_keys(&world).await;
}

/// A key management service, which all processes ask. It has the keys `k1` to `kN`, the last of which is current.
#[derive(Default)]
struct Service {
    keys: Mutex<u8>,
    is_away: Mutex<bool>,
}

/// What a process has of the service: the keys that it was given when it asked last.
struct Client {
    service: Arc<Service>,
    known: Mutex<Option<Arc<Keyring>>>,
    /// The keys that were looked for.
    missed: Mutex<Vec<KeyId>>,
}

impl Service {
    fn with_keys(keys: u8) -> Arc<Self> {
        Arc::new(Self { keys: Mutex::new(keys), is_away: Mutex::new(false) })
    }

    fn client(self: &Arc<Self>) -> Arc<Client> {
        Arc::new(Client { service: self.clone(), known: Mutex::default(), missed: Mutex::default() })
    }

    fn ask(&self) -> Result<Arc<Keyring>, Error> {
        if *self.is_away.lock().unwrap() {
            let source = Arc::new(io::Error::from(io::ErrorKind::ConnectionRefused));
            return Err(Error::Unavailable { source });
        }
        let id = |number: u8| -> KeyId { format!("k{number}").parse().unwrap() };
        let current = *self.keys.lock().unwrap();
        let keyring = Keyring::new(id(current), &[current; KEY_BYTES]);
        let earlier = |keyring: Keyring, number| keyring.with_earlier(id(number), &[number; KEY_BYTES]);
        Ok(Arc::new((1..current).fold(keyring, earlier)))
    }
}

#[async_trait]
impl KeyringSource for Client {
    async fn keyring(&self, missing: Option<&KeyId>) -> Result<Arc<Keyring>, Error> {
        self.missed.lock().unwrap().extend(missing.cloned());
        let mut known = self.known.lock().unwrap();
        match &*known {
            Some(keyring) if missing.is_none() => Ok(keyring.clone()),
            _ => Ok(known.insert(self.service.ask()?).clone()),
        }
    }
}

fn over(kept: &Arc<MemoryStore>, client: &Arc<Client>) -> EncryptedStore<MemoryStore> {
    EncryptedStore::with_keys(kept.clone(), client.clone())
}

#[tokio::test]
async fn a_key_of_a_service_that_appears_later_is_asked_for_when_it_is_met() {
    let (service, late) = (Service::with_keys(1), Service::with_keys(1));
    let (kept, reader) = (Arc::new(MemoryStore::new()), late.client());
    let [one, other] = [over(&kept, &service.client()), over(&kept, &reader)];
    let all = Prefix::everything();
    one.write_one(creation("secrets/a", 7)).await.unwrap();
    assert_eq!(other.list_all(&all).await.unwrap(), one.list_all(&all).await.unwrap());
    assert_eq!(*reader.missed.lock().unwrap(), []);

    *service.keys.lock().unwrap() = 2;
    let one = over(&kept, &service.client());
    let mut watch = other.watch(&all).await.unwrap();
    one.write_one(creation("secrets/b", 7)).await.unwrap();
    // Where the reader asks it is not known yet.
    let Some(Change::Put(unread)) = watch.next().await else { panic!("the watch ended") };
    let error = unread.document.text().unwrap_err();
    assert!(matches!(error, Error::Failed { .. }) && error.to_string().contains("k2"), "{error}");
    assert_eq!(other.list_all(&all).await.unwrap()[1], unread);
    *late.keys.lock().unwrap() = 2;
    assert_eq!(other.list_all(&all).await.unwrap(), one.list_all(&all).await.unwrap());
    let k2: KeyId = "k2".parse().unwrap();
    assert_eq!(*reader.missed.lock().unwrap(), vec![k2; 3], "it is asked for each time that it is missing");
    other.list_all(&all).await.unwrap();
    assert_eq!(reader.missed.lock().unwrap().len(), 3, "and no more when it is known");
}

#[tokio::test]
async fn a_service_that_is_away_gives_errors_to_try_again() {
    let (service, kept) = (Service::with_keys(1), Arc::new(MemoryStore::new()));
    let other = service.client();
    over(&kept, &other).write_one(creation("secrets/a", 7)).await.unwrap();
    *service.is_away.lock().unwrap() = true;
    let store = over(&kept, &service.client());
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    let failed = [
        store.get(&Path::new("secrets/a").unwrap()).await.map(drop),
        store.list_all(&Prefix::everything()).await.map(drop),
        store.write_one(creation("secrets/b", 7)).await.map(drop),
        store.write_one(created("open", &json!({}))).await.map(drop),
    ];
    for failed in failed {
        assert!(failed.as_ref().is_err_and(Error::is_retryable), "{failed:?}");
    }
    over(&kept, &other).write_one(creation("secrets/b", 7)).await.unwrap();
    assert_eq!((watch.next().await, watch.next().await), (Some(Change::Lost), None));

    *service.is_away.lock().unwrap() = false;
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    store.write_one(created("open", &json!({}))).await.unwrap();
    assert!(matches!(watch.next().await, Some(Change::Put(_))));
    assert_eq!(store.list_all(&Prefix::everything()).await.unwrap().len(), 3);
}
