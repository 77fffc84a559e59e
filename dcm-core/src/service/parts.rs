//! Editing one part of a logical cloud: the same as putting the whole cloud with that part changed.

use std::sync::{Mutex, PoisonError};

use crate::logical_cloud::{
    Draft, KeyValuesDraft, LogicalCloud, PermissionDraft, QuotaDraft, ReferenceDraft, UserDraft,
};
use crate::name::{
    KeyValuesName, LogicalCloudName, PermissionName, ProjectName, QuotaName, ReferenceName, UserName,
};
use crate::port::audit::{About, Action, TEXT_MAX};
use crate::refusal::{Refusal, Refusals};

use super::audited::about;
use super::caller::Caller;
use super::error::{Error, Kind};
use super::logical_clouds::LogicalClouds;
use super::precondition::{EditId, Precondition};
use super::put::{EditOutcome, Edited};

/// One part of a logical cloud, as it is written down.
#[derive(Debug, Clone, PartialEq)]
pub enum PartDraft {
    /// A user.
    User(UserDraft),
    /// A user permission.
    Permission(PermissionDraft),
    /// A quota.
    Quota(QuotaDraft),
    /// A cluster reference.
    Reference(ReferenceDraft),
    /// A set of key-value pairs.
    KeyValues(KeyValuesDraft),
}

/// Names one part of a logical cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartName {
    /// A user.
    User(UserName),
    /// A user permission.
    Permission(PermissionName),
    /// A quota.
    Quota(QuotaName),
    /// A cluster reference.
    Reference(ReferenceName),
    /// A set of key-value pairs.
    KeyValues(KeyValuesName),
}

impl PartName {
    fn kind(&self) -> Kind {
        match self {
            Self::User(_) => Kind::User,
            Self::Permission(_) => Kind::Permission,
            Self::Quota(_) => Kind::Quota,
            Self::Reference(_) => Kind::Reference,
            Self::KeyValues(_) => Kind::KeyValues,
        }
    }

    fn as_str(&self) -> &str {
        match self {
            Self::User(name) => name.as_str(),
            Self::Permission(name) => name.as_str(),
            Self::Quota(name) => name.as_str(),
            Self::Reference(name) => name.as_str(),
            Self::KeyValues(name) => name.as_str(),
        }
    }

    /// Takes the part out of a draft; true when it was there.
    fn take_from(&self, draft: &mut Draft) -> bool {
        let (spec, name) = (&mut draft.spec, self.as_str());
        match self {
            Self::User(_) => take(&mut spec.users, |part| part.name == name),
            Self::Permission(_) => take(&mut spec.permissions, |part| part.name == name),
            Self::Quota(_) => take(&mut spec.quotas, |part| part.name == name),
            Self::Reference(_) => take(&mut spec.clusters, |part| part.name == name),
            Self::KeyValues(_) => take(&mut spec.key_values, |part| part.name == name),
        }
    }
}

fn take<T>(list: &mut Vec<T>, is_it: impl Fn(&T) -> bool) -> bool {
    let before = list.len();
    list.retain(|part| !is_it(part));
    list.len() < before
}

impl PartDraft {
    /// Puts the part into a draft, at the end of its list, so that what two parts can't both be is told of this one.
    fn put_into(self, draft: &mut Draft) -> Put {
        let spec = &mut draft.spec;
        match self {
            Self::User(part) => put_last(&mut spec.users, part, |part| &part.name),
            Self::Permission(part) => put_last(&mut spec.permissions, part, |part| &part.name),
            Self::Quota(part) => put_last(&mut spec.quotas, part, |part| &part.name),
            Self::Reference(part) => put_last(&mut spec.clusters, part, |part| &part.name),
            Self::KeyValues(part) => put_last(&mut spec.key_values, part, |part| &part.name),
        }
    }

    /// What it is and its name, as it was written: it may be none.
    fn named(&self) -> (Kind, &str) {
        match self {
            Self::User(part) => (Kind::User, &part.name),
            Self::Permission(part) => (Kind::Permission, &part.name),
            Self::Quota(part) => (Kind::Quota, &part.name),
            Self::Reference(part) => (Kind::Reference, &part.name),
            Self::KeyValues(part) => (Kind::KeyValues, &part.name),
        }
    }

    fn title(&self) -> String {
        let (kind, name) = self.named();
        format!("{kind} {name}").chars().take(TEXT_MAX).collect()
    }

    /// The list of a draft that holds such parts.
    fn list(&self) -> &'static str {
        match self {
            Self::User(_) => "spec.users",
            Self::Permission(_) => "spec.permissions",
            Self::Quota(_) => "spec.quotas",
            Self::Reference(_) => "spec.clusters",
            Self::KeyValues(_) => "spec.keyValues",
        }
    }
}

/// What became of a part that was put into a draft.
#[derive(Clone, Copy, Default)]
struct Put {
    /// One of its name was there.
    was_there: bool,
    /// Where it is in its list.
    index: usize,
}

fn put_last<T>(list: &mut Vec<T>, item: T, name: impl Fn(&T) -> &String) -> Put {
    let was_there = take(list, |part| name(part) == name(&item));
    list.push(item);
    Put { was_there, index: list.len() - 1 }
}

impl LogicalClouds {
    /// Makes one part of a logical cloud, or replaces the one of its name. [`Edited::outcome`] speaks of the part, and so
    /// does the presence of the condition; what it knows is the cloud's edit.
    ///
    /// # Errors
    /// Those of [`LogicalClouds::edit`]; the paths of refusals about the part begin in the part.
    pub async fn put_part(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        part: PartDraft,
        condition: &Precondition<EditId>,
    ) -> Result<Edited, Error> {
        self.put_part_into(caller, (project, cloud), part, condition, LogicalCloud::to_draft).await
    }

    /// The same for callers to whom a standard and a privileged cloud are one level: a standard one becomes privileged where the part
    /// needs that.
    ///
    /// # Errors
    /// The same.
    pub async fn put_part_of_one_level(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        part: PartDraft,
        condition: &Precondition<EditId>,
    ) -> Result<Edited, Error> {
        self.put_part_into(caller, (project, cloud), part, condition, LogicalCloud::to_draft_of_one_level)
            .await
    }

    async fn put_part_into(
        &self,
        caller: &Caller,
        (project, cloud): (&ProjectName, &LogicalCloudName),
        part: PartDraft,
        condition: &Precondition<EditId>,
        to_draft: fn(&LogicalCloud) -> Draft,
    ) -> Result<Edited, Error> {
        let (kind, name) = part.named();
        let last = Mutex::new(Put::default());
        let next = |current: Option<&LogicalCloud>| {
            let mut draft = to_draft(current.ok_or_else(|| Error::no_cloud(project, cloud))?);
            let put = part.clone().put_into(&mut draft);
            condition.presence.check(kind, name, put.was_there)?;
            *last.lock().unwrap_or_else(PoisonError::into_inner) = put;
            Ok(draft)
        };
        let about = About { detail: part.title(), ..about(project, cloud) };
        let of_cloud = Precondition { known: condition.known.clone(), ..Precondition::default() };
        let putting = self.edit_tries(caller, project, cloud, &of_cloud, &next);
        let edited = self.audited(caller, Action::Put, about, putting).await;
        let Put { was_there, index } = *last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut edited = edited.map_err(|error| match error {
            Error::Refused(refusals) => relative(refusals, &format!("{}[{index}]", part.list())).into(),
            Error::Forbidden(refusal) => {
                Error::Forbidden(shortened(refusal, &format!("{}[{index}]", part.list())))
            }
            other => other,
        })?;
        if !was_there {
            edited.outcome = EditOutcome::Created;
        }
        Ok(edited)
    }

    /// Removes one part of a logical cloud under a condition: its presence is the part's, and what it knows is the cloud's edit.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the cloud or the part, and those of [`LogicalClouds::edit`]; a user whom a permission
    /// names is refused.
    pub async fn delete_part(
        &self,
        caller: &Caller,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        part: &PartName,
        condition: &Precondition<EditId>,
    ) -> Result<Edited, Error> {
        let next = |current: Option<&LogicalCloud>| {
            let mut draft = current.ok_or_else(|| Error::no_cloud(project, cloud))?.to_draft();
            let was_there = part.take_from(&mut draft);
            condition.presence.check(part.kind(), part.as_str(), was_there)?;
            if was_there { Ok(draft) } else { Err(Error::not_found(part.kind(), part.as_str())) }
        };
        let detail = format!("without {} {}", part.kind(), part.as_str());
        let about = About { detail, ..about(project, cloud) };
        let of_cloud = Precondition { known: condition.known.clone(), ..Precondition::default() };
        let deleting = self.edit_tries(caller, project, cloud, &of_cloud, &next);
        self.audited(caller, Action::Put, about, deleting).await
    }
}

/// Refusals with the paths that they have in the part alone.
fn relative(refusals: Refusals, part: &str) -> Refusals {
    let shortened: Vec<Refusal> =
        refusals.as_slice().iter().cloned().map(|refusal| shortened(refusal, part)).collect();
    Refusals::of(shortened).unwrap_or(refusals)
}

/// A refusal with the path that it has in the part alone.
fn shortened(refusal: Refusal, part: &str) -> Refusal {
    match refusal.path.strip_prefix(part) {
        Some(rest) => Refusal { path: rest.trim_start_matches('.').to_owned(), ..refusal },
        None => refusal,
    }
}
