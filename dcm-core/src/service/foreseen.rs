//! What an apply would do with a cloud's documents, before anything is written.

use crate::app_context::AppContext;
use crate::logical_cloud::life_cycle::{LifeCycle, Operation};
use crate::logical_cloud::{AccountSeed, Draft, Epoch, LogicalCloud, LogicalCloudUid, Serial, User};
use crate::name::{LogicalCloudName, ProjectName};
use crate::render::{Credential, Credentials};

use super::authorities::{self, Authorities};
use super::caller::Caller;
use super::error::Error;
use super::hand_over::app_context;
use super::load::{self, Loaded};
use super::logical_clouds::LogicalClouds;
use super::path::Place;
use super::put::{check_made, refused_name};
use super::{credentials, grants, resolve};

/// What an apply would hand over.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreseen {
    /// True while there is no such cloud. Then names that carry its UID are those of UID 0: its own is drawn when it is put.
    pub is_new: bool,
    /// The app context, with something in the place of certificate requests that are still to be made.
    pub context: AppContext,
}

impl LogicalClouds {
    /// What [`LogicalClouds::put`] and then [`LogicalClouds::apply`] would hand over for this draft, unless something is
    /// changed meanwhile. It is checked as both would; all that the two may refuse besides is a project that is not there,
    /// a namespace that belongs to somebody else, and a cloud that is larger than a store or an engine takes. Nothing is
    /// written, and no key is made.
    ///
    /// # Errors
    /// [`Error::Refused`] with all refusals of the first step that refuses; [`Error::Forbidden`] of what this caller could not put;
    /// [`Error::WrongState`] where the life cycle
    /// does not allow an apply; [`Error::Render`]; errors of the store and the synchronizer.
    pub async fn foresee(
        &self,
        caller: &Caller,
        project: &ProjectName,
        draft: Draft,
    ) -> Result<Foreseen, Error> {
        let name = match LogicalCloudName::new(&draft.metadata.name) {
            Ok(name) => name,
            Err(error) => return Err(refused_name(project, draft, error)),
        };
        match load::load(&*self.documents, project, &name).await {
            Ok(loaded) => self.foresee_change(caller, &loaded, draft).await,
            Err(Error::NotFound { .. }) => {
                let place =
                    Place { project: project.clone(), cloud: name, uid: LogicalCloudUid::from_random(0) };
                self.foresee_new(caller, &place, draft).await
            }
            Err(error) => Err(error),
        }
    }

    async fn foresee_change(
        &self,
        caller: &Caller,
        loaded: &Loaded,
        draft: Draft,
    ) -> Result<Foreseen, Error> {
        let draft = grants::complete(caller, Some(&loaded.cloud), draft);
        let (positions, order) = (resolve::positions(&draft), grants::Order::of(caller, &draft));
        let (cloud, _) = self.check_change(loaded, draft).await?;
        grants::check(caller, Some(&loaded.cloud), &cloud, &order)?;
        let cloud = self.resolve(&cloud, &positions).await?.cloud;
        let references = cloud.references().len();
        self.life(&loaded.place, &loaded.root, true, references).await?.allows(Operation::Apply)?;
        let credentials = self.credentials_to_be(loaded, &cloud).await?;
        let authorities = authorities::used(&*self.documents, &loaded.place, &cloud).await?;
        let authorities = authorities.good_of(&cloud, self.clock.now());
        foreseen(&loaded.place, false, &cloud, &credentials, &authorities)
    }

    async fn foresee_new(&self, caller: &Caller, place: &Place, draft: Draft) -> Result<Foreseen, Error> {
        let draft = grants::complete(caller, None, draft);
        let positions = resolve::positions(&draft);
        let (cloud, _) = check_made(caller, place, draft)?;
        let cloud = self.resolve(&cloud, &positions).await?.cloud;
        let references = cloud.references().len();
        LifeCycle { edited: true, references, ..LifeCycle::default() }.allows(Operation::Apply)?;
        let (epoch, serial) = (Epoch(credentials::FIRST), Serial(credentials::FIRST));
        // Like its UID, it is drawn when the cloud is stored.
        let accounts = AccountSeed::from_random(0);
        let first =
            |user: &User| (user.metadata.name.clone(), Credential::to_be_made(user, epoch, serial, accounts));
        foreseen(place, true, &cloud, &cloud.users().iter().map(first).collect(), &Authorities::default())
    }
}

fn foreseen(
    place: &Place,
    is_new: bool,
    cloud: &LogicalCloud,
    credentials: &Credentials,
    authorities: &Authorities,
) -> Result<Foreseen, Error> {
    let context = app_context(place, cloud, credentials, &authorities.files_to_be(cloud))?;
    Ok(Foreseen { is_new, context })
}
