//! Seeing to it that credentials are renewed in time, and that clouds are deleted that were to be deleted once they are off
//! their clusters; over all logical clouds, without looking at all of them all the time.
//!
//! A round lists the roots. What a cloud's clusters issued is read only when its root has changed since, or when the time
//! has come that the last look named. So a store with many clouds at rest is asked for one small document of each.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::name::{LogicalCloudName, ProjectName, UserName};
use crate::port::store::{Entry, StoreExt, Version};
use crate::port::synchronizer::Removal;

use super::caller::{Caller, Change};
use super::documents::Root;
use super::error::Error;
use super::leaving::SeenOff;
use super::load::{self, Found};
use super::logical_clouds::LogicalClouds;
use super::outlook::Ending;
use super::path::{self, Place};
use super::renew::Renewed;

/// Time between two rounds at most: what was applied since the last one is seen by then. The shortest life is 600 seconds,
/// and its renewal begins after 400.
const ROUND_MAX: SignedDuration = SignedDuration::from_secs(60);

/// Time between two rounds at least, however much is due.
const ROUND_MIN: SignedDuration = SignedDuration::from_secs(5);

/// Time between two looks at one cloud at least: what is due and can't be renewed now is tried again then.
const PAUSE: SignedDuration = SignedDuration::from_secs(30);

/// Time between two looks at a cloud that is to be deleted, and is being taken off its clusters.
const LEAVING_PAUSE: SignedDuration = ROUND_MIN;

/// After this time an apply that is under way was cut off: nobody waits longer for a synchronizer.
const CUT_OFF: SignedDuration = SignedDuration::from_mins(2);

/// What is to be looked at when. It is a memory and no record: a new one leads to one look at every cloud.
#[derive(Debug, Default)]
pub struct Agenda {
    clouds: BTreeMap<(ProjectName, LogicalCloudName), Appointment>,
}

#[derive(Debug, Clone)]
struct Appointment {
    /// The root that was looked at.
    version: Version,
    /// When to look again, if it stays so.
    look: Timestamp,
    /// What was warned of.
    warned: BTreeMap<UserName, Ending>,
    /// When the credentials of each user end.
    ends: Vec<Timestamp>,
}

/// What a look at one cloud gave.
struct Seen {
    /// When to look again.
    look: Timestamp,
    warned: BTreeMap<UserName, Ending>,
    ends: Vec<Timestamp>,
}

impl Seen {
    fn nothing(look: Timestamp) -> Self {
        Self { look, warned: BTreeMap::new(), ends: Vec::new() }
    }
}

impl Agenda {
    /// When the credentials of each user end, as they were when their cloud was looked at last: of each user the first that
    /// ends, over all clusters. In the past where one has ended and no newer one is there.
    pub fn ends(&self) -> impl Iterator<Item = Timestamp> {
        self.clouds.values().flat_map(|appointment| &appointment.ends).copied()
    }
}

/// What a round saw and did.
#[derive(Debug)]
pub struct Round {
    /// What there is to tell.
    pub events: Vec<AgendaEvent>,
    /// When the next round is to be.
    pub next: Timestamp,
}

/// News of a logical cloud.
#[derive(Debug)]
pub struct AgendaEvent {
    /// Its project.
    pub project: ProjectName,
    /// The logical cloud.
    pub cloud: LogicalCloudName,
    /// What happened.
    pub what: News,
}

/// What happened to a logical cloud, or to its credentials.
#[derive(Debug)]
pub enum News {
    /// Newer credentials, or newer certificate authorities of the mesh, are on the way.
    Renewed(Renewed),
    /// The end of a user's credentials is near, and no newer ones are there.
    Ending(UserName, Ending),
    /// It was to be deleted once it is off its clusters, and is deleted.
    Deleted,
    /// The cloud could not be looked at, or not be handed over, or not be deleted. It is tried again.
    Failed(Error),
}

impl LogicalClouds {
    /// Renews what is due in all logical clouds, and deletes those that were to be deleted and are off their clusters. To be called again at the time that it gives, with the same agenda. Several
    /// processes may do so: one of them renews, the others see that it is done.
    ///
    /// # Errors
    /// Those of listing the clouds. What fails for one cloud is among the events, and holds up no other.
    pub async fn tend(&self, caller: &Caller, agenda: &mut Agenda) -> Result<Round, Error> {
        let mut before = std::mem::take(&mut agenda.clouds);
        let mut events = Vec::new();
        for entry in self.documents.list_all(&path::all_roots()).await? {
            let Some(key) = path::of_root(&entry.path) else { continue };
            let known = before.remove(&key).filter(|known| known.version == entry.version);
            let appointment = match known {
                Some(known) if known.look > self.clock.now() => known,
                known => {
                    let warned = known.map(|known| known.warned).unwrap_or_default();
                    self.keep(caller, &key, &entry, warned, &mut events).await
                }
            };
            agenda.clouds.insert(key, appointment);
        }
        let first = agenda.clouds.values().map(|appointment| appointment.look).min();
        let now = self.clock.now();
        let next = first.unwrap_or(Timestamp::MAX).clamp(now + ROUND_MIN, now + ROUND_MAX);
        Ok(Round { events, next })
    }

    /// Keeps an appointment and makes the next one.
    async fn keep(
        &self,
        caller: &Caller,
        (project, cloud): &(ProjectName, LogicalCloudName),
        entry: &Entry,
        warned: BTreeMap<UserName, Ending>,
        events: &mut Vec<AgendaEvent>,
    ) -> Appointment {
        let mut news = Vec::new();
        let mut pause = PAUSE;
        let seen = match load::found(project, cloud, entry) {
            Ok(Found::Standing(place, root, _)) => match &root.leaving {
                None => self.see_to(caller, &place, &root, &warned, &mut news).await,
                Some(wanted) => {
                    pause = LEAVING_PAUSE;
                    self.see_leaving(&place, wanted, &mut news).await
                }
            },
            // Whoever began to delete it may have died.
            Ok(Found::Deleting(place, version)) => {
                let finished = self.finish_deleting(&place, version, Removal::default()).await;
                finished.map(|()| Seen::nothing(Timestamp::MAX))
            }
            Ok(_) => Ok(Seen { warned, ..Seen::nothing(Timestamp::MAX) }),
            Err(error) => Err(error),
        };
        let again = self.clock.now() + pause;
        let Seen { look, warned, ends } = match seen {
            Ok(seen) => Seen { look: seen.look.max(again), ..seen },
            // It was deleted after it was listed.
            Err(Error::NotFound { .. }) => Seen::nothing(Timestamp::MAX),
            Err(error) => {
                news.push(News::Failed(error));
                Seen::nothing(again)
            }
        };
        let event = |what| AgendaEvent { project: project.clone(), cloud: cloud.clone(), what };
        events.extend(news.into_iter().map(event));
        Appointment { version: entry.version, look, warned, ends }
    }

    /// Deletes a cloud that is to be deleted, once it is off its clusters.
    async fn see_leaving(&self, place: &Place, wanted: &Change, news: &mut Vec<News>) -> Result<Seen, Error> {
        let seen = self.see_off(place, wanted).await?;
        news.extend((seen == SeenOff::Deleted).then_some(News::Deleted));
        Ok(Seen::nothing(if seen == SeenOff::NotYet { Timestamp::MIN } else { Timestamp::MAX }))
    }

    /// Renews what is due of one cloud.
    async fn see_to(
        &self,
        caller: &Caller,
        place: &Place,
        root: &Root,
        warned: &BTreeMap<UserName, Ending>,
        news: &mut Vec<News>,
    ) -> Result<Seen, Error> {
        if root.applying.is_some() {
            let look = self.see_to_applying(place, root).await?;
            return Ok(Seen { warned: warned.clone(), ..Seen::nothing(look) });
        }
        if root.applied.is_none() {
            return Ok(Seen::nothing(Timestamp::MAX));
        }
        let Some(looked) = self.look(&place.project, &place.cloud).await? else {
            return Ok(Seen::nothing(Timestamp::MAX));
        };
        match self.renew_looked(caller, &looked).await {
            Ok(renewed) if renewed.generation.is_none() => {}
            Ok(renewed) => news.push(News::Renewed(renewed)),
            // Somebody else renewed or applied it: the root is another one by now.
            Err(error) if error.is_lost_race() => {}
            Err(error) => news.push(News::Failed(error)),
        }
        let next = looked.next();
        let ends = looked.outlooks.values().filter_map(|outlook| outlook.first_end).collect();
        let ending = looked.outlooks.into_iter().filter_map(|(user, outlook)| Some((user, outlook.ending?)));
        let ending: BTreeMap<UserName, Ending> = ending.collect();
        let is_news = |(user, ending): &(&UserName, &Ending)| warned.get(*user) != Some(*ending);
        let told = ending.iter().filter(is_news);
        news.extend(told.map(|(user, ending)| News::Ending(user.clone(), ending.clone())));
        Ok(Seen { look: next, warned: ending, ends })
    }

    /// Finishes a renewal that was cut off, as nobody else would. Gives the time of the next look.
    async fn see_to_applying(&self, place: &Place, root: &Root) -> Result<Timestamp, Error> {
        let Some(applying) = root.cut_off_renewal() else { return Ok(Timestamp::MAX) };
        let cut_off = applying.made.at + CUT_OFF;
        if cut_off <= self.clock.now() {
            self.finish_applying(place, root, applying).await?;
        }
        Ok(cut_off)
    }
}
