//! Following the status of a logical cloud, whether it is on clusters or not.

use std::future::ready;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _};

use crate::logical_cloud::LogicalCloudUid;
use crate::name::{LogicalCloudName, ProjectName};
use crate::port::store::{Change, Path};
use crate::port::synchronizer::Error as Failure;
use crate::status::ContextStatus;

use super::error::Error;
use super::load;
use super::logical_clouds::LogicalClouds;
use super::path;
use super::status::CloudStatus;

/// Follows the status of a logical cloud; ends when it is deleted, and after an error.
pub type StatusStream = BoxStream<'static, Result<CloudStatus, Error>>;

/// How many changes one status may answer at most.
const CHANGES_JOINED_MAX: usize = 1024;

impl LogicalClouds {
    /// The status of a logical cloud now, and again after changes of its documents and of its work; it may be the same. What in it changes
    /// with the time, or with registered clusters, is told with the next such change. Whoever is slow misses what was between: it
    /// is always the newest that is told. A cloud of the same name that is made after this one was deleted is another one.
    ///
    /// # Errors
    /// [`Error::NotFound`]; errors of the store and the synchronizer, also in the stream.
    pub async fn follow(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<StatusStream, Error> {
        let (clouds, project, cloud) = (self.clone(), project.clone(), cloud.clone());
        let following = Following { clouds, project, cloud, uid: None, news: News::Unknown };
        let missing = Error::no_cloud(&following.project, &following.cloud);
        // A cloud that is not there is an error of this call.
        let (first, following) = following.next().await?.ok_or(missing)?;
        let later = stream::try_unfold(following, Following::next);
        Ok(stream::iter([Ok(first)]).chain(later).boxed())
    }
}

struct Following {
    clouds: LogicalClouds,
    project: ProjectName,
    cloud: LogicalCloudName,
    /// Which cloud of the name; none before the first look.
    uid: Option<LogicalCloudUid>,
    news: News,
}

/// Tells when to look again.
enum News {
    /// Nothing is followed: something may have been missed.
    Unknown,
    /// The documents alone: the synchronizer knows of no app context.
    Documents(BoxStream<'static, Vec<()>>),
    /// The documents and the app context.
    All(BoxStream<'static, Vec<Result<Heard, Error>>>),
}

/// What has changed.
enum Heard {
    Documents,
    Work(ContextStatus),
}

impl Following {
    /// The next status; none when the cloud is gone.
    async fn next(mut self) -> Result<Option<(CloudStatus, Self)>, Error> {
        let status = match self.look().await {
            Err(Error::NotFound { .. }) => return Ok(None),
            status => status?,
        };
        let is_another = self.uid.replace(status.uid).is_some_and(|uid| uid != status.uid);
        Ok((!is_another).then_some((status, self)))
    }

    /// Waits for news, where there may be any, and looks.
    async fn look(&mut self) -> Result<CloudStatus, Error> {
        let (news, context) = self.hear().await?;
        self.news = news;
        self.clouds.status_with(&self.project, &self.cloud, context).await
    }

    /// What is followed from now on, and the status of the work where that is all that has changed.
    async fn hear(&mut self) -> Result<(News, Option<ContextStatus>), Error> {
        match std::mem::replace(&mut self.news, News::Unknown) {
            News::Unknown => self.begin().await,
            News::Documents(mut changes) => {
                changes.next().await;
                // There may be an app context by now.
                self.begin().await
            }
            News::All(mut changes) => {
                let Some(heard) = changes.next().await else { return self.begin().await };
                let heard = heard.into_iter().collect::<Result<Vec<_>, Error>>()?;
                let is_work = |heard: &Heard| matches!(heard, Heard::Work(_));
                let newest = if heard.iter().all(is_work) { heard.into_iter().next_back() } else { None };
                let context = newest.and_then(|heard| match heard {
                    Heard::Work(context) => Some(context),
                    Heard::Documents => None,
                });
                Ok((News::All(changes), context))
            }
        }
    }

    /// Follows from now on: what is read later is as new as that.
    async fn begin(&mut self) -> Result<(News, Option<ContextStatus>), Error> {
        let Self { clouds, project, cloud, .. } = self;
        let root = path::root(project, cloud);
        let changes = clouds.documents.watch(&path::roots(project)).await?;
        let changes = changes.take_while(|change| ready(*change != Change::Lost));
        let documents = changes.filter_map(move |change| ready(is_about(&change, &root).then_some(())));
        let (place, ..) = load::standing(&*clouds.documents, project, cloud).await?;
        let mut statuses = match clouds.synchronizer.watch(&place.context_id()).await {
            Ok(statuses) => statuses.map(|status| status.map_err(Error::Synchronizer)),
            Err(Failure::NotFound { .. }) => {
                return Ok((News::Documents(documents.ready_chunks(CHANGES_JOINED_MAX).boxed()), None));
            }
            Err(error) => return Err(Error::Synchronizer(error)),
        };
        // A watch begins with what is so already.
        let context = statuses.next().await.transpose()?;
        let documents = documents.map(|()| Ok(Heard::Documents));
        let work = statuses.map(|status| status.map(Heard::Work));
        let either = stream::select(with_end(documents), with_end(work));
        let until_one_ends = either.take_while(|heard| ready(heard.is_some())).filter_map(ready);
        Ok((News::All(until_one_ends.ready_chunks(CHANGES_JOINED_MAX).boxed()), context))
    }
}

/// A stream whose end can be told from its pauses.
fn with_end<T>(stream: impl Stream<Item = T>) -> impl Stream<Item = Option<T>> {
    stream.map(Some).chain(stream::once(ready(None)))
}

fn is_about(change: &Change, path: &Path) -> bool {
    match change {
        Change::Put(entry) => entry.path == *path,
        Change::Deleted(deleted) => deleted == path,
        Change::Lost => false,
    }
}
