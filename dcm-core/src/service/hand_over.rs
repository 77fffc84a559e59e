//! Handing an app context over, and making sure that the newest one is the one that stays.

use std::collections::BTreeMap;

use crate::app_context::{AppContext, Generation};
use crate::logical_cloud::LogicalCloud;
use crate::name::{ClusterId, ContextId, LogicalCloudName, ProjectName};
use crate::port::store::{self, StoreExt, Version};
use crate::port::synchronizer::{self, Condition, Removal};
use crate::render::{self, CaFiles};

use super::authorities;
use super::clean;
use super::commit::root_update;
use super::credentials;
use super::documents::{AppliedReference, ContextOwner, DocumentId, Root, SnapshotReference, read};
use super::error::{Error, Kind, Winner};
use super::load::{self, CONTENTION_TRIES, Found, Frozen, Parts};
use super::logical_clouds::LogicalClouds;
use super::path::{self, Place};

/// The app context of a cloud, with all its references.
pub(super) fn app_context(
    place: &Place,
    cloud: &LogicalCloud,
    credentials: &render::Credentials,
    authorities: &BTreeMap<ClusterId, CaFiles>,
) -> Result<AppContext, Error> {
    let placements = render::bundles(cloud, credentials, authorities)?;
    let identity = place.identity();
    let removal = cloud.removal();
    Ok(AppContext { id: identity.context_id(), labels: identity.labels(), removal, placements })
}

impl LogicalClouds {
    /// Hands over. When it is refused for good, the root no longer says that it is being applied, and says again what
    /// was before: that may be on clusters.
    pub(super) async fn hand_over(
        &self,
        place: &Place,
        id: &DocumentId,
        context: &AppContext,
        condition: &Condition,
    ) -> Result<Generation, Error> {
        let error = match self.synchronizer.apply_on(context, condition).await {
            Ok(generation) => return Ok(generation),
            Err(error) => error,
        };
        if is_refusal(&error) {
            self.give_up(place, id).await?;
        }
        use synchronizer::Error as Failure;
        match error {
            Failure::NamespaceTaken { namespace, cluster, winner } => {
                let winner = self.winner(winner).await?;
                Err(Error::NamespaceTaken { namespace, cluster, winner })
            }
            Failure::Stale { .. } => Err(Error::Stale { cloud: place.cloud.clone() }),
            other => Err(Error::Synchronizer(other)),
        }
    }

    /// Whose app context it is.
    async fn winner(&self, context: ContextId) -> Result<Winner, Error> {
        Ok(match self.of_context(&context).await? {
            Some((project, cloud)) => Winner::LogicalCloud { project, cloud },
            None => Winner::AppContext(context),
        })
    }

    /// The project and the name of the logical cloud that an app context was made for; none when it is another's, or the
    /// cloud was deleted.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn of_context(
        &self,
        context: &ContextId,
    ) -> Result<Option<(ProjectName, LogicalCloudName)>, Error> {
        let Some(entry) = self.documents.get(&path::context_owner(context)).await? else { return Ok(None) };
        let owner: ContextOwner = read(&entry)?;
        Ok(Some((owner.project, owner.cloud)))
    }

    /// Takes back that a snapshot is being applied, and the snapshot: whoever is refused may try again and again.
    async fn give_up(&self, place: &Place, id: &DocumentId) -> Result<(), Error> {
        let root = self.change_root(place, |root| root.give_up(id)).await?;
        // What is not cleaned up now is cleaned up by a later apply.
        drop(clean::snapshots(&*self.documents, place, &root).await);
        Ok(())
    }

    /// Records what was handed over. When a newer snapshot was handed over meanwhile, or is about to be, ours may have
    /// come later and taken its place: the newer one is handed over again. When the cloud was terminated meanwhile,
    /// what we handed over is removed again.
    pub(super) async fn settle(
        &self,
        place: &Place,
        ours: &DocumentId,
        mut generation: Generation,
    ) -> Result<Generation, Error> {
        let mut handed = Some(ours.clone());
        for _ in 0..CONTENTION_TRIES {
            let Some((root, version)) = self.found(place).await? else {
                // Nobody asks about it any more.
                let discarded = self.synchronizer.discard(&place.context_id(), Removal::default()).await;
                return discarded.map_err(Error::Synchronizer).and(Err(terminated(place)));
            };
            let Some(newest) = root.newest().cloned() else {
                self.undo(place, root.removal).await?;
                if self.found(place).await?.is_none_or(|(_, found)| found == version) {
                    return Err(terminated(place));
                }
                // Applied again, or to be taken off otherwise: what we undid may have been that.
                handed = None;
                continue;
            };
            if handed.as_ref() != Some(&newest.id) {
                if let Some(given) = self.hand_over_newer(place, &root, &newest).await? {
                    (generation, handed) = (given, Some(newest.id));
                }
                continue;
            }
            let next = applied(&root, &newest, generation);
            if next == *root || self.write_root(place, version, &next).await? {
                return if newest.id.number() < ours.number() {
                    Err(overtaken(place))
                } else {
                    Ok(generation)
                };
            }
        }
        Err(overtaken(place))
    }

    /// Hands over a snapshot of somebody else; none when it is not the newest any more.
    async fn hand_over_newer(
        &self,
        place: &Place,
        root: &Root,
        newest: &SnapshotReference,
    ) -> Result<Option<Generation>, Error> {
        let (context, condition) = match self.stored_context(place, root, newest).await {
            // Replaced while it was read: the root names another one by now.
            Err(Error::Incomplete { .. }) => return Ok(None),
            read => read?,
        };
        // What was handed over already was taken on its condition; what came after it says nothing about that.
        let is_applied = root.applied_snapshot().is_some_and(|applied| applied.id == newest.id);
        let condition = if is_applied { Condition::Always } else { condition };
        match self.hand_over(place, &newest.id, &context, &condition).await {
            // It was given up, so what it took the place of stands again.
            Err(Error::NamespaceTaken { .. } | Error::Stale { .. }) => Ok(None),
            Err(Error::Synchronizer(error)) if is_refusal(&error) => Ok(None),
            given => given.map(Some),
        }
    }

    /// Finishes what was cut off after its snapshot was stored; none when it is not the newest any more.
    pub(super) async fn finish_applying(
        &self,
        place: &Place,
        root: &Root,
        applying: &SnapshotReference,
    ) -> Result<Option<Generation>, Error> {
        let Some(generation) = self.hand_over_newer(place, root, applying).await? else { return Ok(None) };
        let generation = self.settle(place, &applying.id, generation).await?;
        self.tidy_snapshots(place).await;
        Ok(Some(generation))
    }

    /// Removes the snapshots that one which is accepted by now took the place of. What is not cleaned up is cleaned up by
    /// a later apply.
    pub(super) async fn tidy_snapshots(&self, place: &Place) {
        if let Ok(Some((root, _))) = self.found(place).await {
            drop(clean::snapshots(&*self.documents, place, &root).await);
        }
    }

    /// The root, while this very cloud is there.
    pub(super) async fn found(&self, place: &Place) -> Result<Option<(Box<Root>, Version)>, Error> {
        Ok(match load::find(&*self.documents, &place.project, &place.cloud).await? {
            Found::Standing(found, root, version) if found == *place => Some((root, version)),
            _ => None,
        })
    }

    /// Removes what was handed over for a cloud that nobody wants on clusters any more, the way that was asked for.
    async fn undo(&self, place: &Place, removal: Removal) -> Result<(), Error> {
        match self.synchronizer.remove(&place.context_id(), removal).await {
            Ok(_) | Err(synchronizer::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(Error::Synchronizer(error)),
        }
    }

    /// The app context of a stored snapshot, and on which condition it is handed over.
    async fn stored_context(
        &self,
        place: &Place,
        root: &Root,
        reference: &SnapshotReference,
    ) -> Result<(AppContext, Condition), Error> {
        let store = &*self.documents;
        let parts = Parts::list(store, place).await?;
        let Frozen { snapshot, cloud } = load::frozen(store, place, &parts, reference).await?;
        let stored = credentials::list(store, place).await?;
        let credentials = credentials::of_snapshot(&snapshot, &stored, root.accounts);
        let authorities = authorities::used(store, place, &cloud).await?.of(&cloud);
        let context = app_context(place, &cloud, &credentials, &authorities.files())?;
        Ok((context, snapshot.condition))
    }

    /// Writes a root; false when somebody else was quicker.
    async fn write_root(&self, place: &Place, version: Version, root: &Root) -> Result<bool, Error> {
        match self.documents.write_one(root_update(place, version, root)?).await {
            Ok(_) => Ok(true),
            Err(store::Error::Conflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes a standing root by compare-and-swap; `change` says whether there is something to write.
    pub(super) async fn change_root(
        &self,
        place: &Place,
        change: impl Fn(&mut Root) -> bool + Send + Sync,
    ) -> Result<Root, Error> {
        for _ in 0..CONTENTION_TRIES {
            let (found, mut root, version) =
                load::standing(&*self.documents, &place.project, &place.cloud).await?;
            if found != *place {
                return Err(Error::no_cloud(&place.project, &place.cloud));
            }
            if !change(&mut root) || self.write_root(place, version, &root).await? {
                return Ok(*root);
            }
        }
        Err(overtaken(place))
    }
}

/// True when the synchronizer will never take just this.
fn is_refusal(error: &synchronizer::Error) -> bool {
    use synchronizer::Error as Failure;
    matches!(error, Failure::NamespaceTaken { .. } | Failure::Invalid { .. } | Failure::Stale { .. })
}

fn terminated(place: &Place) -> Error {
    Error::TerminatedMeanwhile { cloud: place.cloud.clone() }
}

fn overtaken(place: &Place) -> Error {
    Error::contended(Kind::LogicalCloud, &place.cloud)
}

/// The root once a snapshot was handed over.
fn applied(root: &Root, snapshot: &SnapshotReference, generation: Generation) -> Root {
    let updates = match &root.applied {
        Some(applied) if applied.snapshot.id == snapshot.id => applied.updates,
        other => other.is_some(),
    };
    let applied = AppliedReference { snapshot: snapshot.clone(), generation, updates };
    let mut next = Root {
        applying: None,
        replaced: Vec::new(),
        applied: Some(applied),
        ended: None,
        stopped: None,
        terminated: None,
        leaving: None,
        removal: Removal::default(),
        ..root.clone()
    };
    next.remember_apply(root.applied_snapshot(), snapshot);
    next
}
