//! The certificate authorities of a logical cloud with a mesh: making those that are missing, and what clusters get of them.
//!
//! A root is made at the first apply of a logical cloud with a mesh, and an intermediate authority for each cluster at the first apply that
//! brings the cloud there. Keys are stored before anything that is signed with them goes to a cluster. An apply, or a renewal of credentials,
//! makes an intermediate authority anew when two thirds of its validity are over, when the key type of the mesh has changed, or when it
//! belongs to another root. The earlier one is not kept: what it signed verifies to the same root until it ends. A root is never replaced.
//!
//! A snapshot has the digest of the authorities that it was made with. Where the stored ones are others, an apply or a renewal was cut off
//! before it brought them to clusters: then they are due.

use std::collections::{BTreeMap, BTreeSet};
use std::task::{Context, Poll};

use jiff::Timestamp;

use crate::authority::{Authority, IssueError, Profile, Template};
use crate::hash::ContentHash;
use crate::logical_cloud::{LogicalCloud, ServiceMesh};
use crate::name::ClusterId;
use crate::port::store::{Document, Entry, Path, Store, StoreExt, Write};
use crate::render::CaFiles;
use crate::subject::Subject;

use super::caller::Change;
use super::documents::{AuthorityDocument, SCHEMA, read};
use super::error::Error;
use super::load::Frozen;
use super::logical_clouds::LogicalClouds;
use super::mesh::MeshAuthority;
use super::path::Place;
use super::{resolve, writing};

/// A stored authority.
pub(super) struct StoredAuthority {
    entry: Entry,
    document: AuthorityDocument,
}

/// The stored authorities of a logical cloud.
#[derive(Default)]
pub(super) struct StoredAuthorities {
    root: Option<StoredAuthority>,
    clusters: BTreeMap<ClusterId, StoredAuthority>,
}

/// Reads the authorities that a logical cloud uses: none for one without a mesh.
pub(super) async fn used(
    store: &dyn Store,
    place: &Place,
    cloud: &LogicalCloud,
) -> Result<StoredAuthorities, Error> {
    if cloud.service_mesh().is_none() {
        return Ok(StoredAuthorities::default());
    }
    list(store, place).await
}

/// Reads the authorities of a logical cloud, those that it does not use any more included.
pub(super) async fn list(store: &dyn Store, place: &Place) -> Result<StoredAuthorities, Error> {
    let mut authorities = StoredAuthorities::default();
    let stored = |entry: Entry| read(&entry).map(|document| StoredAuthority { entry, document });
    authorities.root = store.get(&place.root_authority()).await?.map(stored).transpose()?;
    for entry in store.list_all(&place.cluster_authorities()).await? {
        let one = stored(entry)?;
        if let Some(cluster) = one.document.cluster.clone() {
            authorities.clusters.insert(cluster, one);
        }
    }
    Ok(authorities)
}

/// The authorities that a logical cloud has once what is new is written.
#[derive(Default)]
pub(super) struct Authorities {
    clusters: BTreeMap<ClusterId, Authority>,
    /// The documents that are new, or written again.
    pub(super) writes: Vec<Write>,
}

/// How the authorities of a logical cloud are ensured.
pub(super) struct Ensuring<'a> {
    /// Who does it.
    pub(super) change: &'a Change,
    /// The cloud as the newest snapshot froze it. What that does not use, another apply may be about to delete as it found it.
    pub(super) frozen: Option<&'a LogicalCloud>,
    /// Which authorities are made.
    pub(super) making: Making,
}

/// Which authorities are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Making {
    /// Those that are missing, and those that are due.
    Due,
    /// Those that are missing.
    Missing,
}

impl StoredAuthorities {
    /// Those of the clusters of a cloud, as they are stored.
    pub(super) fn of(&self, cloud: &LogicalCloud) -> Authorities {
        self.owned(cloud, |_| true)
    }

    /// The same without those that are due.
    pub(super) fn good_of(&self, cloud: &LogicalCloud, now: Timestamp) -> Authorities {
        let Some(mesh) = cloud.service_mesh() else { return Authorities::default() };
        self.owned(cloud, |stored| self.is_good(stored, mesh, now))
    }

    fn owned(&self, cloud: &LogicalCloud, is_kept: impl Fn(&StoredAuthority) -> bool) -> Authorities {
        let kept = self.on(cloud).filter(|(_, stored)| is_kept(stored));
        let clusters = kept.map(|(cluster, stored)| (cluster.clone(), stored.document.authority.clone()));
        Authorities { clusters: clusters.collect(), writes: Vec::new() }
    }

    /// Those of the clusters of a cloud.
    fn on(&self, cloud: &LogicalCloud) -> impl Iterator<Item = (&ClusterId, &StoredAuthority)> {
        resolve::clusters_of(cloud).into_iter().filter_map(|cluster| self.clusters.get_key_value(cluster))
    }

    /// True for a cloud each of whose clusters has one.
    pub(super) fn has_all(&self, cloud: &LogicalCloud) -> bool {
        resolve::clusters_of(cloud).into_iter().all(|cluster| self.clusters.contains_key(cluster))
    }

    /// Those that a logical cloud does not use: of clusters that it has left, and all where it has no mesh.
    pub(super) fn unused<'a>(&'a self, cloud: &LogicalCloud) -> Vec<&'a Entry> {
        let has_mesh = cloud.service_mesh().is_some();
        let clusters = resolve::clusters_of(cloud);
        let is_left = |cluster: &ClusterId| !has_mesh || !clusters.contains(cluster);
        let left = self.clusters.iter().filter(|(cluster, _)| is_left(cluster)).map(|(_, stored)| stored);
        left.chain(self.root.as_ref().filter(|_| !has_mesh)).map(|stored| &stored.entry).collect()
    }

    /// The root and that of each cluster, without their keys.
    pub(super) fn shown(&self) -> (Option<MeshAuthority>, BTreeMap<ClusterId, MeshAuthority>) {
        let shown = |stored: &StoredAuthority, renewal: Option<Timestamp>| {
            let authority = &stored.document.authority;
            let (certificate, facts) = (authority.certificate().to_owned(), authority.facts().clone());
            MeshAuthority { certificate, facts, renewal }
        };
        let of_cluster = |(cluster, stored): (&ClusterId, &StoredAuthority)| {
            (cluster.clone(), shown(stored, Some(stored.renewal())))
        };
        let root = self.root.as_ref().map(|root| shown(root, None));
        (root, self.clusters.iter().map(of_cluster).collect())
    }

    /// The clusters of an applied cloud that need another authority: a new one, or one that an earlier call stored and did not bring there.
    pub(super) fn due(&self, frozen: &Frozen, now: Timestamp) -> BTreeSet<ClusterId> {
        let Some(mesh) = frozen.cloud.service_mesh() else { return BTreeSet::new() };
        let mut due = resolve::clusters_of(&frozen.cloud);
        if self.is_brought(frozen) {
            for (cluster, _) in self.on(&frozen.cloud).filter(|(_, stored)| self.is_good(stored, mesh, now)) {
                due.remove(cluster);
            }
        }
        due.into_iter().cloned().collect()
    }

    /// When the first authority of an applied cloud is due. A cloud without a mesh has none.
    pub(super) fn renewal(&self, frozen: &Frozen) -> Option<Timestamp> {
        frozen.cloud.service_mesh()?;
        if !self.is_brought(frozen) {
            return Some(Timestamp::MIN);
        }
        self.on(&frozen.cloud).map(|(_, stored)| stored.renewal()).min()
    }

    /// True where the stored ones are those that a snapshot was made with.
    fn is_brought(&self, Frozen { snapshot, cloud }: &Frozen) -> bool {
        let stored = self.on(cloud).map(|(cluster, stored)| (cluster, &stored.document.authority));
        digest(stored) == snapshot.authorities
    }

    /// True for an authority that stays: it is of this root, its key is of the wanted type, and it is not yet to be renewed.
    fn is_good(&self, stored: &StoredAuthority, mesh: &ServiceMesh, now: Timestamp) -> bool {
        let Some(root) = &self.root else { return false };
        let AuthorityDocument { key_type, authority, .. } = &stored.document;
        let (found, wanted) = (authority.root_facts(), root.document.authority.facts());
        let is_of_root = found.fingerprint_sha256 == wanted.fingerprint_sha256;
        is_of_root && *key_type == mesh.key() && now < stored.renewal()
    }
}

impl StoredAuthority {
    fn renewal(&self) -> Timestamp {
        self.document.authority.facts().renewal()
    }
}

impl Authorities {
    /// The files of the secret `cacerts` of each cluster.
    pub(super) fn files(&self) -> BTreeMap<ClusterId, CaFiles> {
        self.clusters
            .iter()
            .map(|(cluster, authority)| (cluster.clone(), authority.ca_certs().files().into()))
            .collect()
    }

    /// The same for all clusters of a cloud; something takes the place of authorities that would be made for it.
    pub(super) fn files_to_be(&self, cloud: &LogicalCloud) -> BTreeMap<ClusterId, CaFiles> {
        let mut files = self.files();
        if cloud.service_mesh().is_some() {
            for cluster in resolve::clusters_of(cloud) {
                files.entry(cluster.clone()).or_insert_with(CaFiles::to_be_made);
            }
        }
        files
    }

    /// Digest of these authorities. A cloud without a mesh has none.
    pub(super) fn digest(&self) -> Option<ContentHash> {
        digest(self.clusters.iter())
    }
}

/// Digest of the authorities of clusters, by their fingerprints. Without any authority there is none.
fn digest<'a>(clusters: impl Iterator<Item = (&'a ClusterId, &'a Authority)>) -> Option<ContentHash> {
    let fingerprint = |(cluster, authority): (&ClusterId, &'a Authority)| {
        (cluster.to_string(), &*authority.facts().fingerprint_sha256)
    };
    let fingerprints: BTreeMap<String, &str> = clusters.map(fingerprint).collect();
    (!fingerprints.is_empty()).then(|| ContentHash::of(&serde_json::json!(fingerprints)))
}

impl LogicalClouds {
    /// Makes the authorities that are missing, or due; nothing is written here.
    pub(super) async fn ensure_authorities(
        &self,
        place: &Place,
        cloud: &LogicalCloud,
        stored: &StoredAuthorities,
        ensuring: &Ensuring<'_>,
    ) -> Result<Authorities, Error> {
        let Some(mesh) = cloud.service_mesh() else { return Ok(Authorities::default()) };
        let now = self.clock.now();
        let mut ensured = Authorities::default();
        let used = ensuring.frozen.filter(|frozen| frozen.service_mesh().is_some());
        let used = used.map(resolve::clusters_of);
        let root = match &stored.root {
            Some(root) => {
                let authority = &root.document.authority;
                authority.check_time(now).map_err(|refused| failed(None, IssueError::Issuer(refused)))?;
                ensured.writes.extend(used.is_none().then(|| again(&root.entry)));
                authority.clone()
            }
            None => {
                let root = self.make_root(place, mesh, now)?;
                let write = write(place.root_authority(), None, (None, mesh), &root, ensuring.change)?;
                ensured.writes.push(write);
                root
            }
        };
        for cluster in resolve::clusters_of(cloud) {
            let current = stored.clusters.get(cluster);
            let good = current
                .filter(|current| ensuring.making == Making::Missing || stored.is_good(current, mesh, now));
            let authority = match good {
                Some(good) => {
                    let is_used = used.as_ref().is_some_and(|used| used.contains(cluster));
                    ensured.writes.extend((!is_used).then(|| again(&good.entry)));
                    good.document.authority.clone()
                }
                None => {
                    // A key takes a while.
                    give_way().await;
                    let authority = self.make_intermediate(place, mesh, &root, cluster, now)?;
                    let path = place.cluster_authority(cluster);
                    let write = write(path, current, (Some(cluster), mesh), &authority, ensuring.change)?;
                    ensured.writes.push(write);
                    authority
                }
            };
            ensured.clusters.insert(cluster.clone(), authority);
        }
        Ok(ensured)
    }

    fn make_root(&self, place: &Place, mesh: &ServiceMesh, now: Timestamp) -> Result<Authority, Error> {
        let template = template(place, mesh, Profile::ROOT, place.identity().root_subject());
        Authority::create_root(&*self.keys, &template, now).map_err(|source| failed(None, source))
    }

    fn make_intermediate(
        &self,
        place: &Place,
        mesh: &ServiceMesh,
        root: &Authority,
        cluster: &ClusterId,
        now: Timestamp,
    ) -> Result<Authority, Error> {
        let subject = place.identity().intermediate_subject(cluster);
        let template = template(place, mesh, Profile::INTERMEDIATE, subject);
        root.issue(&*self.keys, &template, now).map_err(|source| failed(Some(cluster), source))
    }
}

fn failed(cluster: Option<&ClusterId>, source: IssueError) -> Error {
    Error::Authority { cluster: cluster.cloned(), source: Box::new(source) }
}

/// Lets other tasks run.
async fn give_way() {
    let mut has_waited = false;
    let once = |context: &mut Context<'_>| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    };
    std::future::poll_fn(once).await;
}

fn template(place: &Place, mesh: &ServiceMesh, profile: Profile, subject: Subject) -> Template {
    let profile = Profile { key: mesh.key(), ..profile };
    Template { subject, trust_domain: place.identity().trust_domain(), profile }
}

/// The same document once more: who was about to delete it as it was found leaves it.
fn again(entry: &Entry) -> Write {
    writing::put(entry.path.clone(), Some(entry), entry.document.clone())
}

fn write(
    path: Path,
    current: Option<&StoredAuthority>,
    (cluster, mesh): (Option<&ClusterId>, &ServiceMesh),
    authority: &Authority,
    change: &Change,
) -> Result<Write, Error> {
    let document = AuthorityDocument {
        schema: SCHEMA,
        cluster: cluster.cloned(),
        key_type: mesh.key(),
        facts: authority.facts().clone(),
        authority: authority.clone(),
        changed: change.clone(),
    };
    Ok(writing::put(path, current.map(|current| &current.entry), Document::from_value(&document)?))
}
