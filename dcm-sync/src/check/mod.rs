//! Looking through the records of app contexts and of the work on them.
//!
//! Taken from each record are names, hashes and versions; [`rules`] then hold them against each other.

mod facts;
mod rules;

use dcm_core::app_context::Generation;
use dcm_core::check::{self, Rule, Survey, Suspicion};
use dcm_core::name::ContextId;
use dcm_core::port::room::Room;
use dcm_core::port::store::{Entry, Path, Version};
use serde::de::DeserializeOwned;

use crate::proofs::StoredKey;
use crate::record::{
    Claim, Claiming, Forgotten, IdentityClaim, Lane, Outcome, ROOMS, Root, Schema, Shard, Worker,
    manifest_of, path,
};
use facts::{ClaimFacts, Facts, LaneFacts, RootFacts};

/// Looks through the records of app contexts, clusters and workers.
#[derive(Default)]
pub struct RecordSurvey {
    facts: Facts,
    suspicions: Vec<Suspicion>,
}

/// What is known of an app context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextSeen {
    /// There is none.
    Nothing,
    /// There is one that can't be read.
    Unread,
    /// There is one.
    Root {
        /// The version of its root.
        version: Version,
        /// Its generation.
        generation: Generation,
    },
}

/// What taking a record gave: nothing, or what it is suspected of so that nothing is known of it.
type Taken = Result<(), Box<Suspicion>>;

fn suspect<T>(entry: &Entry, rule: Rule, what: impl Into<String>) -> Result<T, Box<Suspicion>> {
    Err(Box::new(Suspicion::new(&entry.path, entry.version, rule, what)))
}

fn read<T: DeserializeOwned>(entry: &Entry) -> Result<T, Box<Suspicion>> {
    check::read(entry, Schema::read)
}

fn unknown(entry: &Entry) -> Box<Suspicion> {
    let what = "a segment of its path is not what it is to be";
    Box::new(Suspicion::new(&entry.path, entry.version, Rule::UnknownPath, what))
}

impl RecordSurvey {
    /// What is known of an app context, when all records were taken.
    #[must_use]
    pub fn context(&self, id: &ContextId) -> ContextSeen {
        match self.facts.roots.get(id) {
            Some(root) => ContextSeen::Root { version: root.version, generation: root.generation },
            None if self.facts.unread.contains(&path::root(id)) => ContextSeen::Unread,
            None => ContextSeen::Nothing,
        }
    }

    /// Where the root of an app context lies.
    #[must_use]
    pub fn root_path(id: &ContextId) -> Path {
        path::root(id)
    }

    fn take_one(&mut self, entry: &Entry) -> Taken {
        let room = path::room_of(&entry.path).ok_or_else(|| unknown(entry))?;
        match room.name {
            "contexts" => self.take_root(entry),
            "manifests" => self.take_manifest(entry),
            "lanes" => self.take_lane(entry),
            "results" => self.take_result(entry),
            "claims" => self.take_claim(entry),
            "claiming" => {
                let context = context(entry)?;
                let Claiming { namespaces, .. } = read(entry)?;
                self.facts.claiming.insert(context, namespaces);
                Ok(())
            }
            "shards" => {
                path::cluster_of(&entry.path).ok_or_else(|| unknown(entry))?;
                read::<Shard>(entry).map(drop)
            }
            "identities" => self.take_identity(entry),
            "workers" => read::<Worker>(entry).map(drop),
            "forgotten" => read::<Forgotten>(entry).map(drop),
            "proofs" => read::<StoredKey>(entry).map(drop),
            _ => Err(unknown(entry)),
        }
    }

    fn take_root(&mut self, entry: &Entry) -> Taken {
        let context = context(entry)?;
        if path::root(&context) != entry.path {
            return Err(unknown(entry));
        }
        let root: Root = read(entry)?;
        self.facts.roots.insert(context, RootFacts::of(root, entry.version));
        Ok(())
    }

    fn take_manifest(&mut self, entry: &Entry) -> Taken {
        let context = context(entry)?;
        let hash = path::hash_of_manifest(&entry.path).ok_or_else(|| unknown(entry))?;
        let manifest = check::read(entry, manifest_of)?;
        if manifest.hash() != hash {
            return suspect(entry, Rule::Altered, format!("its manifest has the hash {}", manifest.hash()));
        }
        if manifest.kind().is_namespace() {
            self.facts.namespaces.insert((context, hash), manifest.key().name.clone());
        }
        Ok(())
    }

    fn take_lane(&mut self, entry: &Entry) -> Taken {
        let context = context(entry)?;
        let cluster = path::cluster_of(&entry.path).ok_or_else(|| unknown(entry))?;
        let lane: Lane = read(entry)?;
        self.facts.lanes.insert((context, cluster), LaneFacts::of(lane, entry.version));
        Ok(())
    }

    fn take_result(&mut self, entry: &Entry) -> Taken {
        let context = context(entry)?;
        let cluster = path::cluster_of(&entry.path).ok_or_else(|| unknown(entry))?;
        let Outcome { name, .. } = read(entry)?;
        if path::result(&context, &cluster, &name) != entry.path {
            return suspect(entry, Rule::Misplaced, format!("it says that it is that of {name}"));
        }
        self.facts.results.push((context, cluster, name));
        Ok(())
    }

    fn take_identity(&mut self, entry: &Entry) -> Taken {
        let IdentityClaim { uid, .. } = read(entry)?;
        if path::identity(&uid) != entry.path {
            return suspect(entry, Rule::Misplaced, format!("it is that of the cluster {}", uid.0));
        }
        Ok(())
    }

    fn take_claim(&mut self, entry: &Entry) -> Taken {
        let cluster = path::cluster_of(&entry.path).ok_or_else(|| unknown(entry))?;
        let Claim { context, .. } = read(entry)?;
        self.facts.claims.insert(entry.path.clone(), ClaimFacts { context, cluster });
        Ok(())
    }
}

/// The app context that a record's path names.
fn context(entry: &Entry) -> Result<ContextId, Box<Suspicion>> {
    path::context_of(&entry.path).ok_or_else(|| unknown(entry))
}

impl Survey for RecordSurvey {
    fn rooms(&self) -> &'static [Room] {
        &ROOMS
    }

    fn take(&mut self, entry: &Entry) {
        self.facts.there.insert(entry.path.clone(), entry.version);
        if let Err(suspicion) = self.take_one(entry) {
            self.facts.unread.insert(entry.path.clone());
            self.suspicions.push(*suspicion);
        }
    }

    fn take_unread(&mut self, path: &Path, version: Version) {
        self.facts.there.insert(path.clone(), version);
        self.facts.unread.insert(path.clone());
    }

    fn suspicions(&mut self) -> Vec<Suspicion> {
        let mut suspicions = std::mem::take(&mut self.suspicions);
        rules::judge(&self.facts, &mut suspicions);
        suspicions
    }
}
