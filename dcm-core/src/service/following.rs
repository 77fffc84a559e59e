//! Following the status of a logical cloud, whether it is on clusters or not.

use std::future::ready;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _};

use crate::name::{LogicalCloudName, ProjectName};
use crate::port::store::{Change, Path};
use crate::port::synchronizer::Error as Failure;

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
    /// The status of a logical cloud now, and again whenever its documents or its work have made it another one. What in it changes
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
        let following = Following {
            clouds: self.clone(),
            project: project.clone(),
            cloud: cloud.clone(),
            told: None,
            news: News::Unknown,
        };
        // A cloud that is not there is an error of this call.
        let (first, following) = following.next().await?.ok_or_else(|| Error::no_cloud(project, cloud))?;
        let later = stream::try_unfold(following, Following::next);
        Ok(stream::iter([Ok(first)]).chain(later).boxed())
    }
}

struct Following {
    clouds: LogicalClouds,
    project: ProjectName,
    cloud: LogicalCloudName,
    told: Option<CloudStatus>,
    news: News,
}

/// Tells when to look again.
enum News {
    /// Nothing is followed: something may have been missed.
    Unknown,
    /// The documents alone: the synchronizer knows of no app context.
    Documents(BoxStream<'static, Vec<Result<(), Error>>>),
    /// The documents and the app context.
    All(BoxStream<'static, Vec<Result<(), Error>>>),
}

impl Following {
    /// The next status; none when the cloud is gone.
    async fn next(mut self) -> Result<Option<(CloudStatus, Self)>, Error> {
        loop {
            self.news = match self.hear().await {
                Err(Error::NotFound { .. }) => return Ok(None),
                news => news?,
            };
            let status = match self.clouds.status(&self.project, &self.cloud).await {
                Err(Error::NotFound { .. }) => return Ok(None),
                status => status?,
            };
            match &self.told {
                Some(told) if *told == status => {}
                Some(told) if told.uid != status.uid => return Ok(None),
                _ => {
                    self.told = Some(status.clone());
                    return Ok(Some((status, self)));
                }
            }
        }
    }

    /// Waits for news, where there may be any; gives what is followed from then on.
    async fn hear(&mut self) -> Result<News, Error> {
        match std::mem::replace(&mut self.news, News::Unknown) {
            News::Unknown => self.begin().await,
            News::Documents(mut changes) => {
                let heard = changes.next().await;
                heard.into_iter().flatten().collect::<Result<(), Error>>()?;
                // There may be an app context by now.
                self.begin().await
            }
            News::All(mut changes) => match changes.next().await {
                None => self.begin().await,
                Some(heard) => {
                    heard.into_iter().collect::<Result<(), Error>>()?;
                    Ok(News::All(changes))
                }
            },
        }
    }

    /// Follows from now on: what is read later is as new as that.
    async fn begin(&mut self) -> Result<News, Error> {
        let Self { clouds, project, cloud, .. } = self;
        let root = path::root(project, cloud);
        let changes = clouds.documents.watch(&path::roots(project)).await?;
        let changes = changes.take_while(|change| ready(*change != Change::Lost));
        let documents = changes.filter_map(move |change| ready(is_about(&change, &root).then_some(Ok(()))));
        let (place, ..) = load::standing(&*clouds.documents, project, cloud).await?;
        let context = match clouds.synchronizer.watch(&place.context_id()).await {
            Ok(statuses) => statuses.map(|status| status.map(drop).map_err(Error::Synchronizer)),
            Err(Failure::NotFound { .. }) => {
                return Ok(News::Documents(documents.ready_chunks(CHANGES_JOINED_MAX).boxed()));
            }
            Err(error) => return Err(Error::Synchronizer(error)),
        };
        let either = stream::select(with_end(documents), with_end(context));
        let until_one_ends = either.take_while(|heard| ready(heard.is_some())).filter_map(ready);
        Ok(News::All(until_one_ends.ready_chunks(CHANGES_JOINED_MAX).boxed()))
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
