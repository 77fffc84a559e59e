//! The simulated API server: state and `handle(request, now) -> reply`. No I/O, no clock; its only randomness is its
//! seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::clock::Random as _;
use dcm_core::port::cluster::{Error, Object, Precondition, Selection, ServerInfo};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Seeded;
use super::changes::{self, Changes, Seen};
use super::fields::Owners;
use super::kind::Kind;
use super::needed;
use super::object::{State, Stored};
use super::rbac::Rights;
use super::request::{Logged, Operation, Reply, Request, RequestLog};
use super::schedule::Schedule;
use super::signer::Signer;
use super::token::Tokens;

/// How a simulated server behaves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The version that it reports. Default `v1.36.0`.
    pub version: Arc<str>,
    /// How long a namespace takes to go: its contents go after half of it. Default 5 s, as the real one.
    pub namespace_deletion: Duration,
    /// From an approval to the certificate. Default 5 ms.
    pub issuing: Duration,
    /// Changes kept for watches; one that is further behind ends with [`Error::Gone`]. Default 1024: more than one
    /// deployment makes, and little memory.
    pub changes_max: usize,
    /// Lines kept of the log of requests; counts are kept for ever. Default 256.
    pub log_lines_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: "v1.36.0".into(),
            namespace_deletion: Duration::from_secs(5),
            issuing: Duration::from_millis(5),
            changes_max: 1024,
            log_lines_max: 256,
        }
    }
}

/// The namespaces that a cluster has from its start, and that can't be deleted.
pub(super) const SYSTEM_NAMESPACES: [&str; 2] = ["default", "kube-system"];

/// One simulated API server with its controllers.
pub struct Server {
    pub(super) settings: Arc<Settings>,
    pub(super) signer: Option<Arc<dyn Signer>>,
    /// Whose certificates are accepted; none: the signer's.
    pub(super) client_authority: Option<Arc<dyn Signer>>,
    pub(super) refuses_tokens: bool,
    pub(super) random: Seeded,
    /// The latest time that it was told.
    pub(super) now: Timestamp,
    /// Counts changes: the `resourceVersion` of the last one.
    pub(super) revision: u64,
    pub(super) objects: BTreeMap<ObjectKey, Stored>,
    pub(super) schedule: Schedule,
    /// Namespaces that go as soon as they are empty.
    pub(super) emptying: BTreeSet<ObjectKey>,
    pub(super) tokens: Tokens,
    pub(super) changes: Changes,
    pub(super) rights: Rights,
    /// Kinds of which an admission webhook refuses each creation and update.
    pub(super) refused: BTreeSet<Arc<str>>,
    /// Kinds of which a policy denies each deletion.
    pub(super) undeletable: BTreeSet<Arc<str>>,
    /// Names of the kinds whose definition was removed.
    pub(super) undefined: BTreeSet<Arc<str>>,
    /// A controller copies the labels of ServiceAccounts.
    pub(super) copies_labels: bool,
    pub(super) log: RequestLog,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("revision", &self.revision)
            .field("objects", &self.objects.len())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// A cluster with its system namespaces. Without a signer, approved requests stay without a certificate.
    #[must_use]
    pub fn new(
        settings: Arc<Settings>,
        signer: Option<Arc<dyn Signer>>,
        random: Seeded,
        now: Timestamp,
    ) -> Self {
        let mut server = Self {
            settings,
            signer,
            client_authority: None,
            refuses_tokens: false,
            random,
            now,
            revision: 0,
            objects: BTreeMap::new(),
            schedule: Schedule::new(now),
            emptying: BTreeSet::new(),
            tokens: Tokens::default(),
            changes: Changes::default(),
            rights: Rights::default(),
            refused: BTreeSet::new(),
            undeletable: BTreeSet::new(),
            undefined: BTreeSet::new(),
            copies_labels: false,
            log: RequestLog::default(),
        };
        for name in SYSTEM_NAMESPACES {
            server.make("Namespace", None, name, json!({}));
        }
        server
    }

    /// Answers a request that arrives now. What was due before happens before.
    ///
    /// # Errors
    /// What an API server would answer, in the words of the `Cluster` port.
    pub fn handle(&mut self, request: &Request, now: Timestamp) -> Result<Reply, Error> {
        self.advance(now);
        let result = self
            .enter(&request.operation)
            .and_then(|()| self.check_defined(&request.operation))
            .and_then(|()| self.check_rights(&request.operation))
            .and_then(|()| self.admit(&request.operation))
            .and_then(|()| self.answer(request));
        if self.copies_labels && request.operation.verb().is_write() {
            self.copy_labels();
        }
        let line = Logged {
            at: self.now,
            agent: request.call.user_agent().into(),
            verb: request.operation.verb(),
            key: request.operation.key().cloned(),
            error: result.as_ref().err().cloned(),
        };
        self.log.add(line, self.settings.log_lines_max);
        result
    }

    fn answer(&mut self, request: &Request) -> Result<Reply, Error> {
        match &request.operation {
            Operation::Uid => Ok(Reply::Uid(self.uid())),
            Operation::Info => {
                let version = self.settings.version.to_string();
                Ok(Reply::Info(ServerInfo { version, time: Some(self.now) }))
            }
            Operation::Kinds => Ok(Reply::Kinds(Kind::namespaced().map(|kind| kind.gvk.clone()).collect())),
            Operation::Get { kind, key } => Ok(Reply::Found(self.object(kind, key)?)),
            Operation::List { kind, namespace } => self.all(kind, namespace.as_deref()).map(Reply::All),
            Operation::Create { kind, key, body } => self.create(kind, key, body).map(Reply::Written),
            Operation::Update { kind, key, body, observed, force } => {
                self.apply(kind, key, body, observed, *force).map(Reply::Written)
            }
            Operation::Rehearse { kind, key, body, observed, force } => {
                self.rehearse(kind, key, body, observed.as_ref(), *force).map(Reply::Rehearsed)
            }
            Operation::Release { kind, key, observed, origin } => {
                let released = self.release(kind, key, observed, *origin)?;
                if kind.is_namespace() {
                    self.leave(&key.name);
                }
                Ok(Reply::Written(released))
            }
            Operation::SetPart { kind, key, observed, part } => {
                self.set_part(kind, key, observed, part).map(Reply::Written)
            }
            Operation::Delete { kind, key, observed } => self.delete(kind, key, observed).map(Reply::Deleted),
            Operation::Watch { selection } => {
                self.selected(selection).map(|(objects, revision)| Reply::Listed { objects, revision })
            }
            Operation::Approve { key, observed } => self.approve(key, observed).map(Reply::Written),
            Operation::IssueToken(token) => self.issue_token(token).map(Reply::Issued),
            Operation::TryCredential(credential) => Ok(Reply::Tried(self.try_credential(credential))),
            Operation::Contents { namespace, proofs } => {
                Ok(Reply::Contents(self.contents(&request.call, namespace, proofs.as_ref())))
            }
            Operation::Review { accesses } => {
                Ok(Reply::Reviewed(accesses.iter().map(|access| self.rights.give(self, access)).collect()))
            }
        }
    }

    pub(super) fn check_rights(&self, operation: &Operation) -> Result<(), Error> {
        if self.rights == Rights::All {
            return Ok(());
        }
        let needed = needed::needed(self, operation);
        match needed.iter().find(|access| !self.rights.give(self, access)) {
            Some(access) => Err(Error::Forbidden {
                message: format!("cannot {} {}.{}", access.verb, access.resource, access.group).into(),
            }),
            None => Ok(()),
        }
    }

    /// Sets the kinds of which an admission webhook refuses each creation and update. Default: none.
    pub fn set_refused(&mut self, kinds: impl IntoIterator<Item = Arc<str>>) {
        self.refused = kinds.into_iter().collect();
    }

    /// Removes the definition of a kind, such as `NetworkPolicy`, and all its objects: no version of it is served any more.
    pub fn undefine(&mut self, kind: &str) {
        let objects: Vec<ObjectKey> = self.objects.keys().filter(|key| &*key.kind == kind).cloned().collect();
        objects.iter().for_each(|key| self.remove(key));
        self.undefined.insert(kind.into());
    }

    /// Serves again all kinds that [`Self::undefine`] took away; there is no object of them.
    pub fn define_all(&mut self) {
        self.undefined.clear();
    }

    /// Sets the kinds of which a policy denies each deletion but that with the namespace. Default: none.
    pub fn set_undeletable(&mut self, kinds: impl IntoIterator<Item = Arc<str>>) {
        self.undeletable = kinds.into_iter().collect();
    }

    fn check_defined(&self, operation: &Operation) -> Result<(), Error> {
        match operation.kind().filter(|kind| self.undefined.contains(&kind.kind)) {
            Some(kind) => Err(Error::UnknownKind { kind: kind.clone() }),
            None => Ok(()),
        }
    }

    /// What admission webhooks answer.
    fn admit(&self, operation: &Operation) -> Result<(), Error> {
        match operation {
            Operation::Create { kind, .. } | Operation::Update { kind, .. }
                if self.refused.contains(&kind.kind) =>
            {
                Err(Error::Forbidden {
                    message: format!("an admission webhook denied a {}", kind.kind).into(),
                })
            }
            Operation::Delete { kind, .. } if self.undeletable.contains(&kind.kind) => {
                Err(Error::Forbidden {
                    message: format!("a policy denied the deletion of a {}", kind.kind).into(),
                })
            }
            _ => Ok(()),
        }
    }

    fn all(&self, kind: &GroupVersionKind, namespace: Option<&str>) -> Result<Vec<Object>, Error> {
        let kind = find(kind)?;
        let is_asked_for = |state: &&State| {
            state.kind.gvk == kind.gvk && (namespace.is_none() || state.key.namespace.as_deref() == namespace)
        };
        let states = self.objects.values().map(|stored| &stored.state);
        Ok(states.filter(is_asked_for).map(State::object).collect())
    }

    /// What a selection sees, and of which revision that is.
    pub(super) fn selected(&self, selection: &Selection) -> Result<(Vec<Object>, u64), Error> {
        find(&selection.kind)?;
        let states = self.objects.values().map(|stored| &stored.state);
        let objects = states.filter(|state| changes::selects(selection, state)).map(State::object).collect();
        Ok((objects, self.revision))
    }

    pub(super) fn next_change(&self, after: u64, selection: &Selection) -> Result<Seen, Error> {
        if self.undefined.contains(&selection.kind.kind) {
            return Err(Error::Gone);
        }
        self.changes.next(after, selection)
    }

    /// The object in the state that was observed.
    pub(super) fn observed(&self, key: &ObjectKey, observed: &Precondition) -> Result<&Stored, Error> {
        let stored = self.objects.get(key).ok_or(Error::NotFound)?;
        let (uid, revision) = (&stored.state.uid, stored.state.revision.to_string());
        let is_as_observed = *uid == observed.uid && *revision == *observed.resource_version;
        if is_as_observed { Ok(stored) } else { Err(Error::Conflict) }
    }

    /// Stores a state of an object under the next `resourceVersion`.
    pub(super) fn put(
        &mut self,
        kind: &'static Kind,
        key: ObjectKey,
        mut body: Value,
        owners: Owners,
    ) -> Object {
        self.revision += 1;
        if let Some(told) = owners.told() {
            body["metadata"]["managedFields"] = told;
        }
        let (state, object) = State::new(kind, key.clone(), self.revision, body);
        let before = self.objects.insert(key, Stored { state: state.clone(), owners });
        if let Some(before) = before.map(|stored| stored.state) {
            debug_assert!(before.uid == state.uid, "an object keeps its UID");
            if before.owner != state.owner {
                self.note_end(&before);
            }
        }
        self.changes.add(self.now, false, state, self.settings.changes_max);
        object
    }

    /// Removes an object.
    pub(super) fn take(&mut self, key: &ObjectKey) {
        if let Some(stored) = self.objects.remove(key) {
            self.revision += 1;
            self.note_end(&stored.state);
        }
    }

    /// Tells whoever sees this state that it is gone. It carries the `resourceVersion` of its end.
    fn note_end(&mut self, state: &State) {
        let (last, _) = State::new(state.kind, state.key.clone(), self.revision, state.body());
        self.changes.add(self.now, true, last, self.settings.changes_max);
    }

    /// 64 bits of its seed.
    pub(super) fn draw(&self) -> u64 {
        self.random.next()
    }
}

/// The served kind.
pub(super) fn find(kind: &GroupVersionKind) -> Result<&'static Kind, Error> {
    Kind::find(kind).ok_or_else(|| Error::UnknownKind { kind: kind.clone() })
}

/// The served kind, and the key with the kind's own texts.
pub(super) fn locate(kind: &GroupVersionKind, key: &ObjectKey) -> Result<(&'static Kind, ObjectKey), Error> {
    let kind = find(kind)?;
    let (group, name) = (kind.gvk.group.clone(), kind.gvk.kind.clone());
    Ok((kind, ObjectKey::new(group, name, key.namespace.clone(), key.name.clone())))
}

pub(super) fn key_of(kind: &Kind, namespace: Option<&str>, name: &str) -> ObjectKey {
    ObjectKey::of_kind(&kind.gvk, namespace, name)
}
