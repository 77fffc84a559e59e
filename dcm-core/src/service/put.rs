//! Making and editing logical clouds. No edit touches a cluster.

use crate::logical_cloud::life_cycle;
use crate::logical_cloud::{AccountSeed, Draft, LogicalCloud, LogicalCloudUid};
use crate::name::{InvalidName, LogicalCloudName, ProjectName};
use crate::port::audit::Action;
use crate::port::store::{Document, StoreExt, Version, Write};
use crate::refusal::{Checks, Path, Warning};

use super::audited::about;
use super::caller::Caller;
use super::commit::{self, Plan};
use super::documents::{RootDocument, SCHEMA};
use super::error::{Error, Kind};
use super::load::{self, CONTENTION_TRIES, Found, Parts};
use super::logical_clouds::LogicalClouds;
use super::owners::OfClouds;
use super::path::Place;
use super::precondition::{EditId, Precondition};
use super::{clean, delete, grants, owners, requests};

/// An edit that was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Edited {
    /// The logical cloud as it is now.
    pub cloud: LogicalCloud,
    /// The number of its last edit; it grows with each.
    pub edit: u64,
    /// What the call did.
    pub outcome: EditOutcome,
    /// What is accepted and perhaps not meant.
    pub warnings: Vec<Warning>,
}

impl Edited {
    /// Names the edit.
    #[must_use]
    pub fn id(&self) -> EditId {
        EditId { uid: self.cloud.uid(), edit: self.edit }
    }
}

/// What a call did to documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditOutcome {
    /// There was no such thing, and now there is.
    Created,
    /// It was changed.
    Changed,
    /// It was so already.
    Unchanged,
}

/// How an edit gets from a logical cloud, or from none, to the next draft.
pub(super) trait NextDraft: Fn(Option<&LogicalCloud>) -> Result<Draft, Error> + Send + Sync {}

impl<F: Fn(Option<&LogicalCloud>) -> Result<Draft, Error> + Send + Sync> NextDraft for F {}

impl LogicalClouds {
    /// Makes a logical cloud, or brings an existing one to what the draft says: the whole cloud, with all its parts.
    /// What the draft does not name any more is removed. The UID of an existing cloud stays. Nothing reaches a
    /// cluster before the next apply.
    ///
    /// # Errors
    /// [`Error::Refused`] with all refusals at once, among them changes of what can't be changed while the cloud is on
    /// clusters and certificate requests with a wrong subject; [`Error::NotFound`] for the project;
    /// [`Error::Contended`]; [`Error::Store`].
    pub async fn put(&self, caller: &Caller, project: &ProjectName, draft: Draft) -> Result<Edited, Error> {
        let name = match LogicalCloudName::new(&draft.metadata.name) {
            Ok(name) => name,
            Err(error) => return Err(refused_name(project, draft, error)),
        };
        self.edit(caller, project, &name, &Precondition::default(), |_| Ok(draft.clone())).await
    }

    /// Brings a logical cloud, or none, to what the draft says that is made of it, under a condition. The draft is made
    /// anew, of what is there then, when somebody else was quicker. All else is as with [`LogicalClouds::put`]; a draft
    /// of another name is refused.
    ///
    /// # Errors
    /// Those of [`LogicalClouds::put`] and of `next`; [`Error::AlreadyThere`], [`Error::NotFound`] and
    /// [`Error::PreconditionFailed`] where the condition does not hold.
    pub async fn edit(
        &self,
        caller: &Caller,
        project: &ProjectName,
        name: &LogicalCloudName,
        condition: &Precondition<EditId>,
        next: impl Fn(Option<&LogicalCloud>) -> Result<Draft, Error> + Send + Sync,
    ) -> Result<Edited, Error> {
        let named = |current: Option<&LogicalCloud>| {
            let draft = next(current)?;
            let mut checks = Checks::default();
            if draft.metadata.name != name.as_str() {
                let at = Path::root().field("metadata").field("name");
                checks.refuse(&at, &draft.metadata.name, format!("must be {name}"));
            }
            Ok(checks.finish(Some(draft))?)
        };
        let editing = self.edit_tries(caller, project, name, condition, &named);
        self.audited(caller, Action::Put, about(project, name), editing).await
    }

    /// Changes the draft of a logical cloud, again when somebody else was quicker.
    pub(super) async fn edit_tries(
        &self,
        caller: &Caller,
        project: &ProjectName,
        name: &LogicalCloudName,
        condition: &Precondition<EditId>,
        next: &impl NextDraft,
    ) -> Result<Edited, Error> {
        let mut failed = Error::contended(Kind::LogicalCloud, name);
        for _ in 0..CONTENTION_TRIES {
            match self.edit_once(caller, project, name, condition, next).await {
                Ok(Some(edited)) => return Ok(edited),
                Ok(None) => {}
                Err(error) if error.is_lost_race() => {}
                // A snapshot was replaced while it was read; or the store is damaged.
                Err(error @ Error::Incomplete { .. }) => failed = error,
                Err(error) => return Err(error),
            }
        }
        Err(failed)
    }

    /// One try; none when it only came closer and has to be made again.
    async fn edit_once(
        &self,
        caller: &Caller,
        project: &ProjectName,
        name: &LogicalCloudName,
        condition: &Precondition<EditId>,
        next: &impl NextDraft,
    ) -> Result<Option<Edited>, Error> {
        let found = load::find(&*self.documents, project, name).await?;
        if let Found::Standing(..) = found {
            return match load::load(&*self.documents, project, name).await {
                Ok(loaded) => self.change_once(caller, loaded, condition, next).await.map(Some),
                // Deleted since it was found.
                Err(Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            };
        }
        condition.check(Kind::LogicalCloud, name, None)?;
        let draft = grants::complete(caller, None, next(None)?);
        if let Err(error) = owners::must_exist::<OfClouds>(&*self.documents, project).await {
            // Only what is known to have no project: it may be another caller's.
            if matches!(error, Error::NotFound { .. }) {
                self.withdraw(caller, found).await?;
            }
            return Err(error);
        }
        match found {
            Found::Reserved(place, version) => {
                self.create_once(caller, &place, version, draft).await.map(Some)
            }
            Found::Deleting(place, version) => {
                check_made(caller, &place, draft)?;
                delete::clear(&*self.documents, &place, version, self.clock.now()).await?;
                Ok(None)
            }
            Found::Nothing | Found::Standing(..) => {
                let uid = LogicalCloudUid::from_random(self.random.next());
                let place = Place { project: project.clone(), cloud: name.clone(), uid };
                check_made(caller, &place, draft)?;
                self.reserve_name(caller, &place).await?;
                Ok(None)
            }
        }
    }

    async fn reserve_name(&self, caller: &Caller, place: &Place) -> Result<(), Error> {
        let changed = self.change(caller);
        let reserved = RootDocument::Reserved { schema: SCHEMA, uid: place.uid, changed };
        let document = Document::from_value(&reserved)?;
        self.documents.write_one(Write::Create { path: place.root(), document }).await?;
        Ok(())
    }

    async fn create_once(
        &self,
        caller: &Caller,
        place: &Place,
        version: Version,
        draft: Draft,
    ) -> Result<Edited, Error> {
        let (cloud, warnings) = check_made(caller, place, draft)?;
        let parts = Parts::list(&*self.documents, place).await?;
        let change = self.change(caller);
        let plan = Plan::new(place, None, &parts, &cloud, &change)?;
        let accounts = AccountSeed::from_random(self.random.next());
        let root = commit::first_root(&cloud, accounts, &plan, change);
        commit::commit(&*self.documents, place, version, &parts, plan, &root).await?;
        // Somebody may have deleted the empty project meanwhile: one of the two sees the other.
        if let Err(error) = owners::must_exist::<OfClouds>(&*self.documents, &place.project).await {
            if matches!(error, Error::NotFound { .. }) {
                self.withdraw_made(caller, place).await?;
            }
            return Err(error);
        }
        Ok(Edited { cloud, edit: root.edit, outcome: EditOutcome::Created, warnings })
    }

    /// Removes a cloud that was just made, unless somebody has applied it since: what may be on clusters keeps its
    /// documents.
    async fn withdraw_made(&self, caller: &Caller, place: &Place) -> Result<(), Error> {
        match load::find(&*self.documents, &place.project, &place.cloud).await? {
            Found::Standing(made, root, version) if made == *place && root.newest().is_none() => {
                self.withdraw(caller, Found::Standing(made, root, version)).await
            }
            _ => Ok(()),
        }
    }

    /// Removes a cloud, or what was to become one, whose project was deleted in the moment it was made.
    async fn withdraw(&self, caller: &Caller, found: Found) -> Result<(), Error> {
        let (place, version) = match found {
            Found::Reserved(place, version) | Found::Standing(place, _, version) => {
                let change = self.change(caller);
                let version = delete::mark(&*self.documents, &place, version, change).await?;
                (place, version)
            }
            Found::Deleting(place, version) => (place, version),
            Found::Nothing => return Ok(()),
        };
        delete::clear(&*self.documents, &place, version, self.clock.now()).await
    }

    async fn change_once(
        &self,
        caller: &Caller,
        loaded: load::Loaded,
        condition: &Precondition<EditId>,
        next: &impl NextDraft,
    ) -> Result<Edited, Error> {
        let is_met = condition.check(Kind::LogicalCloud, &loaded.place.cloud, Some(&loaded.root.edit_id()));
        let draft = match is_met.and_then(|()| next(Some(&loaded.cloud))) {
            Ok(draft) => grants::complete(caller, Some(&loaded.cloud), draft),
            Err(error) => {
                // It may be done: what the try that did it has not cleaned up is cleaned up now.
                self.tidy_parts(&loaded).await;
                return Err(error);
            }
        };
        let order = grants::Order::of(caller, &draft);
        let (cloud, warnings) = self.check_change(&loaded, draft).await?;
        if cloud == loaded.cloud {
            self.tidy_parts(&loaded).await;
            let edit = loaded.root.edit;
            return Ok(Edited { cloud, edit, outcome: EditOutcome::Unchanged, warnings });
        }
        grants::check(caller, Some(&loaded.cloud), &cloud, &order)?;
        let load::Loaded { place, root, version, parts, .. } = loaded;
        let change = self.change(caller);
        let plan = Plan::new(&place, Some(&root), &parts, &cloud, &change)?;
        let next = commit::next_root(&root, &cloud, &plan, change);
        commit::commit(&*self.documents, &place, version, &parts, plan, &next).await?;
        Ok(Edited { cloud, edit: next.edit, outcome: EditOutcome::Changed, warnings })
    }

    /// Removes parts that an earlier edit left over. What is not cleaned up now is cleaned up by a later edit.
    async fn tidy_parts(&self, load::Loaded { root, parts, .. }: &load::Loaded) {
        if let Ok(named) = parts.contents(&root.contents) {
            drop(clean::parts(&*self.documents, parts, root, &named).await);
        }
    }

    /// Checks what a cloud is to become.
    pub(super) async fn check_change(
        &self,
        loaded: &load::Loaded,
        draft: Draft,
    ) -> Result<(LogicalCloud, Vec<Warning>), Error> {
        let load::Loaded { place, root, parts, cloud: before, .. } = loaded;
        let order = requests::order(&draft);
        let (cloud, warnings) = LogicalCloud::new(place.project.clone(), place.uid, draft)?;
        if cloud != *before {
            if let Some(newest) = root.newest() {
                life_cycle::fixed_while_applied(&parts.cloud(&newest.contents)?, &cloud)?;
            }
            self.check_requests(place, root, parts, &cloud, &order).await?;
        }
        Ok((cloud, warnings))
    }
}

/// Checks a draft of a cloud that is not there yet, and that this caller may make it.
pub(super) fn check_made(
    caller: &Caller,
    place: &Place,
    draft: Draft,
) -> Result<(LogicalCloud, Vec<Warning>), Error> {
    let order = grants::Order::of(caller, &draft);
    let (cloud, warnings) = check_new(place, draft)?;
    grants::check(caller, None, &cloud, &order)?;
    Ok((cloud, warnings))
}

/// Checks a draft of a cloud that is not there yet.
fn check_new(place: &Place, draft: Draft) -> Result<(LogicalCloud, Vec<Warning>), Error> {
    let mut checks = Checks::default();
    requests::none_yet(&draft, &mut checks);
    let requests = checks.finish(Some(()));
    match LogicalCloud::new(place.project.clone(), place.uid, draft) {
        Ok(made) => Ok(requests.map(|()| made)?),
        Err(refusals) => Err(refusals.with(requests.err().into_iter().flatten()).into()),
    }
}

/// The refusals of a draft whose name is none.
pub(super) fn refused_name(project: &ProjectName, draft: Draft, error: InvalidName) -> Error {
    match LogicalCloud::new(project.clone(), LogicalCloudUid::from_random(0), draft) {
        Err(refusals) => refusals.into(),
        Ok(_) => Error::no_cloud(project, error.value),
    }
}
