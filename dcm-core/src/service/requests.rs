//! Certificate requests that users bring, and the subject that they must have.

use std::collections::BTreeMap;

use crate::logical_cloud::{Draft, LogicalCloud, RequestPem, User, UserType};
use crate::name::{LogicalCloudName, ProjectName, UserName};
use crate::pki;
use crate::refusal::{Checks, Path};
use crate::subject::Subject;

use super::credentials::certificate_epoch;
use super::documents::{CredentialDocument, DocumentId, PartKind, Root, read};
use super::error::Error;
use super::load::{self, Parts};
use super::logical_clouds::LogicalClouds;
use super::path::Place;

/// Where each user is in the draft, for the paths of refusals.
pub(super) type Order = BTreeMap<String, usize>;

pub(super) fn order(draft: &Draft) -> Order {
    draft.spec.users.iter().enumerate().map(|(index, user)| (user.name.clone(), index)).collect()
}

fn csr_path(index: usize) -> Path {
    Path::root().field("spec").field("users").item(index).field("csr")
}

/// Refuses requests in the draft of a cloud that is not there yet.
pub(super) fn none_yet(draft: &Draft, checks: &mut Checks) {
    for (index, user) in draft.spec.users.iter().enumerate() {
        if user.csr.as_ref().is_some_and(|csr| !csr.is_empty()) {
            let rule = "its subject holds the UID of the logical cloud, which is not made yet: put the cloud without \
                        this user, ask for the subject of the request, and put it again with user and request";
            checks.refuse(&csr_path(index), "", rule);
        }
    }
}

/// Checks the request that a user brought.
pub(super) fn check(
    request: &RequestPem,
    subject: &Subject,
    user: &UserName,
    order: &Order,
    checks: &mut Checks,
) {
    if let Err(refused) = pki::check_request(request.as_str(), subject) {
        let index = order.get(user.as_str()).copied().unwrap_or_default();
        checks.refuse(&csr_path(index), "", refused.to_string());
    }
}

/// In which edit each user of a list of parts came into the cloud.
pub(super) fn users_since(parts: &Parts, contents: &DocumentId) -> Result<BTreeMap<UserName, u64>, Error> {
    let users = parts.of(contents)?.into_iter().filter(|(_, part)| part.kind == PartKind::User);
    Ok(users.filter_map(|(_, part)| Some((UserName::new(&part.name).ok()?, part.since))).collect())
}

pub(super) fn own_request(user: &User) -> Option<&RequestPem> {
    match &user.kind {
        UserType::Certificate { own_request } => own_request.as_ref(),
        UserType::Token => None,
    }
}

impl LogicalClouds {
    /// The subject that the certificate request of a user must have. The user need not be in the cloud yet.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the logical cloud: its subject holds the cloud's UID, so the cloud comes first.
    pub async fn subject(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
    ) -> Result<Subject, Error> {
        let loaded = load::load(&*self.documents, project, cloud).await?;
        let since = users_since(&loaded.parts, &loaded.root.contents)?;
        self.subject_of(&loaded.place, &loaded.root, &since, user).await
    }

    async fn subject_of(
        &self,
        place: &Place,
        root: &Root,
        since: &BTreeMap<UserName, u64>,
        user: &UserName,
    ) -> Result<Subject, Error> {
        let current = match self.documents.get(&place.credential(user)).await? {
            Some(entry) => Some(read::<CredentialDocument>(&entry)?),
            None => None,
        };
        let since = since.get(user).copied().unwrap_or(root.edit + 1);
        Ok(place.identity().subject(user, certificate_epoch(current.as_ref(), since)))
    }

    /// Checks the requests that users of an edited cloud brought.
    pub(super) async fn check_requests(
        &self,
        place: &Place,
        root: &Root,
        parts: &Parts,
        cloud: &LogicalCloud,
        order: &Order,
    ) -> Result<(), Error> {
        let since = users_since(parts, &root.contents)?;
        let mut checks = Checks::default();
        for user in cloud.users() {
            if let Some(request) = own_request(user) {
                let name = &user.metadata.name;
                let subject = self.subject_of(place, root, &since, name).await?;
                check(request, &subject, name, order, &mut checks);
            }
        }
        Ok(checks.finish(Some(()))?)
    }
}
