//! Whether all that an installation has stored fits together.
//!
//! Each crate knows its own documents ([`Survey`]); here they are read, once and in pages, and what one half of them says of the
//! other is compared. No document is written.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::Vacant;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::audit::AuditSurvey;
use dcm_core::check::{Finding, Rule, Survey, Suspicion};
use dcm_core::port::clock::Clock;
use dcm_core::port::room::Room;
use dcm_core::port::store::{Entry, Error, PageRequest, Path, Prefix, Store, StoreExt as _, Version};
use dcm_core::service::DocumentSurvey;
use dcm_store::EncryptedStore;
use dcm_store::encrypted::{self, KeyringSource};
use dcm_sync::runtime::TokioClock;
use dcm_sync::{ContextSeen, RecordSurvey};
use futures::TryStreamExt as _;
use serde::Serialize;

use crate::configuration::Configuration;
use crate::deployment::{OpenError, Side, Stores, rooms};

/// For how long what seems wrong has to stay so: longer than a change of several documents takes, unless it was cut off.
const SECOND_LOOK_AFTER: Duration = Duration::from_secs(3);

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// How many documents were looked at, by the name of their room.
    pub documents: BTreeMap<&'static str, usize>,
    /// What is wrong, in the order of the paths.
    pub findings: Vec<Finding>,
}

impl CheckReport {
    /// True when nobody has to look after anything: what was found, if anything, is cleared by the work that goes on.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(|finding| finding.cleared_by.is_some())
    }
}

/// Looks through the stores of an installation.
pub struct StoreCheck {
    documents: Half,
    /// None: both halves lie in one store.
    contexts: Option<Half>,
    clock: Arc<dyn Clock>,
}

/// A store, and how its documents are verified.
struct Half {
    store: Arc<dyn Store>,
    opening: Opening,
}

/// How documents are verified, and their secrets opened.
enum Opening {
    /// Not at all: the store holds secrets in clear.
    Clear,
    /// With the keys of the store.
    Keys(EncryptedStore<dyn Store>),
    /// The store has no keys yet, so no document in it can be verified.
    NoKeys,
}

impl Opening {
    async fn open(&self, entry: Entry) -> Result<Entry, Error> {
        match self {
            Self::Clear => Ok(entry),
            Self::Keys(store) => store.opened(entry).await,
            Self::NoKeys => {
                entry.document.text()?;
                let reason =
                    format!("{} has no MAC, and the store has no keys: restore it from a backup", entry.path);
                Err(Error::Failed { reason, source: None })
            }
        }
    }
}

impl StoreCheck {
    /// Opens the stores of a configuration, which somebody has used before: no file is made, nor any key. Must be called on a tokio
    /// runtime.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open(configuration: &Configuration) -> Result<Self, OpenError> {
        let stores = Stores::open_existing(configuration).await?;
        let keys = stores.existing_keys(&configuration.keys).await?;
        if let Some(keys) = &keys {
            stores.check_keys(keys).await?;
        }
        let Stores { documents, contexts } = stores;
        Ok(Self::over(documents, contexts, keys.as_ref(), Arc::new(TokioClock::new())))
    }

    /// Over given stores, as they are without their keys; none: app contexts lie in the same as documents. Without keys, each document
    /// of a store that needs them is a finding.
    #[must_use]
    pub fn over(
        documents: Arc<dyn Store>,
        contexts: Option<Arc<dyn Store>>,
        keys: Option<&Arc<dyn KeyringSource>>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let half = |store: Arc<dyn Store>| {
            let opening = match keys {
                _ if store.capabilities().holds_secrets => Opening::Clear,
                Some(keys) => Opening::Keys(EncryptedStore::with_keys(store.clone(), keys.clone())),
                None => Opening::NoKeys,
            };
            Half { store, opening }
        };
        Self { documents: half(documents), contexts: contexts.map(half), clock }
    }

    /// Looks through everything. Others may write meanwhile: what seems wrong is looked at once more after some seconds, and
    /// is told when nothing of what it follows from has changed.
    ///
    /// # Errors
    /// Those of the stores and of the keys, but for documents and secrets that can't be read: these are findings.
    pub async fn run(&self) -> Result<CheckReport, Error> {
        let mut look = Look::default();
        look.pass(&self.documents, Side::Documents, self.contexts.is_some()).await?;
        if let Some(contexts) = &self.contexts {
            look.pass(contexts, Side::Contexts, true).await?;
        }
        let suspicions = look.suspicions();
        let findings = self.confirmed(suspicions).await?;
        Ok(CheckReport { documents: look.counted, findings })
    }

    /// The second look.
    async fn confirmed(&self, suspicions: Vec<(Side, Suspicion)>) -> Result<Vec<Finding>, Error> {
        if suspicions.is_empty() {
            return Ok(Vec::new());
        }
        self.clock.sleep(SECOND_LOOK_AFTER).await;
        let mut now: BTreeMap<(Side, Path), Option<Version>> = BTreeMap::new();
        let mut findings = Vec::new();
        for (side, suspicion) in suspicions {
            let lies = |path: &Path| match *path == suspicion.finding.path {
                true => (side, path.clone()),
                false => (side_of(path).unwrap_or(side), path.clone()),
            };
            for path in suspicion.rests_on.keys() {
                if let Vacant(unread) = now.entry(lies(path)) {
                    let entry = self.half(unread.key().0).store.get(path).await?;
                    unread.insert(entry.map(|entry| entry.version));
                }
            }
            if suspicion.is_confirmed(|path| now.get(&lies(path)).copied().flatten()) {
                findings.push(suspicion.finding);
            }
        }
        findings.sort();
        Ok(findings)
    }

    fn half(&self, side: Side) -> &Half {
        match (side, &self.contexts) {
            (Side::Contexts, Some(contexts)) => contexts,
            (Side::Contexts, None) | (Side::Documents, _) => &self.documents,
        }
    }
}

fn side_of(path: &Path) -> Option<Side> {
    side_of_room(&room_of(path)?)
}

/// None for what lies in each store.
fn side_of_room(room: &Room) -> Option<Side> {
    match room {
        room if *room == encrypted::ROOM => None,
        room if dcm_sync::ROOMS.contains(room) => Some(Side::Contexts),
        _ => Some(Side::Documents),
    }
}

/// The room that a path lies in.
fn room_of(path: &Path) -> Option<Room> {
    rooms().into_iter().find(|room| room.contains(path))
}

/// What one look through everything gives.
#[derive(Default)]
struct Look {
    documents: DocumentSurvey,
    audit: AuditSurvey,
    records: RecordSurvey,
    counted: BTreeMap<&'static str, usize>,
    suspicions: Vec<(Side, Suspicion)>,
}

impl Look {
    /// Reads one store. `is_divided`: the other half lies in another one.
    async fn pass(&mut self, half: &Half, side: Side, is_divided: bool) -> Result<(), Error> {
        let mut pages = pin!(half.store.pages(Prefix::everything(), PageRequest::default()));
        while let Some(entries) = pages.try_next().await? {
            for entry in entries {
                match room_of(&entry.path) {
                    None => self.lost(side, &entry, "it lies in no room"),
                    Some(room) if is_divided && side_of_room(&room).is_some_and(|its| its != side) => {
                        self.lost(side, &entry, "it belongs into the other store");
                    }
                    Some(room) => {
                        *self.counted.entry(room.name).or_default() += 1;
                        self.take(half, side, &room, entry).await?;
                    }
                }
            }
        }
        Ok(())
    }

    fn lost(&mut self, side: Side, entry: &Entry, what: &str) {
        let suspicion = Suspicion::new(&entry.path, entry.version, Rule::UnknownPath, what);
        self.suspicions.push((side, suspicion));
    }

    /// Gives a document to whoever knows its room.
    async fn take(&mut self, half: &Half, side: Side, room: &Room, entry: Entry) -> Result<(), Error> {
        let (path, version) = (entry.path.clone(), entry.version);
        let opened = half.opening.open(entry).await;
        let surveys: [&mut dyn Survey; 3] = [&mut self.documents, &mut self.audit, &mut self.records];
        let survey = surveys.into_iter().find(|survey| survey.rooms().contains(room));
        let suspicion = match opened {
            Ok(entry) => {
                match (survey, entry.document.text()) {
                    (Some(survey), _) => survey.take(&entry),
                    (None, Ok(_)) => {}
                    (None, Err(error)) => {
                        let what = error.to_string();
                        self.suspicions.push((side, Suspicion::new(&path, version, Rule::Unreadable, what)));
                    }
                }
                return Ok(());
            }
            Err(error) if error.is_retryable() => return Err(error),
            Err(Error::Corrupt { line, column, .. }) => {
                let what = format!("it is no JSON (line {line}, column {column})");
                Suspicion::new(&path, version, Rule::Unreadable, what)
            }
            Err(Error::Failed { reason, .. }) => Suspicion::new(&path, version, Rule::Unopened, reason),
            Err(error) => Suspicion::new(&path, version, Rule::Unopened, error.to_string()),
        };
        survey.into_iter().for_each(|survey| survey.take_unread(&path, version));
        self.suspicions.push((side, suspicion));
        Ok(())
    }

    fn suspicions(&mut self) -> Vec<(Side, Suspicion)> {
        let mut suspicions = std::mem::take(&mut self.suspicions);
        self.contexts_follow_their_clouds(&mut suspicions);
        let of = |side: Side, found: Vec<Suspicion>| found.into_iter().map(move |one| (side, one));
        suspicions.extend(of(Side::Documents, self.documents.suspicions()));
        suspicions.extend(of(Side::Documents, self.audit.suspicions()));
        suspicions.extend(of(Side::Contexts, self.records.suspicions()));
        suspicions
    }

    /// What is wanted on clusters has an app context, which has come as far as its cloud says.
    fn contexts_follow_their_clouds(&self, suspicions: &mut Vec<(Side, Suspicion)>) {
        for cloud in self.documents.wanted() {
            let context = RecordSurvey::root_path(&cloud.context);
            let suspicion = |rule, what| Suspicion::new(&cloud.path, cloud.version, rule, what);
            let suspicion = match self.records.context(&cloud.context) {
                ContextSeen::Unread => continue,
                ContextSeen::Nothing => {
                    suspicion(Rule::Missing, format!("{context} is not there")).without(context)
                }
                ContextSeen::Root { generation, .. } if generation >= cloud.generation => continue,
                ContextSeen::Root { version, generation } => {
                    let (handed, has) = (cloud.generation.0, generation.0);
                    let what = format!("it was handed over as generation {handed}, and {context} has {has}");
                    suspicion(Rule::Ahead, what).resting_on(context, version)
                }
            };
            suspicions.push((Side::Documents, suspicion));
        }
    }
}
