//! `dcm status`: how far logical clouds are.

use std::io::IsTerminal as _;
use std::time::Duration;

use dcm_core::name::LogicalCloudName;
use dcm_core::service::CloudStatus;
use futures::StreamExt as _;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::lane_tree::Detail;
use crate::output::{self, Format, Notation, Reader};
use crate::place::Followed;
use crate::session::{Session, of_many};
use crate::{status_tree, work};

/// How often watched statuses of a whole project are looked at, and ages shown anew: quick enough for eyes, and nothing for a store.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Clears a terminal and goes to its beginning.
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Name of the logical cloud. Default: all of the project.
    #[arg(value_name = "LOGICAL_CLOUD")]
    cloud: Option<LogicalCloudName>,
    /// Prints the status again after each change, until interrupted.
    #[arg(short, long)]
    watch: bool,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    if !arguments.watch {
        let (statuses, failed) = read(&session, arguments).await?;
        output::print(&shown(&session, arguments, &statuses)?)?;
        failed.iter().for_each(output::note);
        return Ok(if failed.is_empty() { Exit::Done } else { Exit::Failed });
    }
    let on_terminal = std::io::stdout().is_terminal() && session.format.for_programs().is_none();
    tokio::select! {
        biased;
        interrupted = work::interrupted() => interrupted.map(|()| Exit::Interrupted),
        ended = watch(&session, arguments, on_terminal, output::print_on) => ended.map(|()| Exit::Done),
    }
}

/// Shows the statuses whenever they change, until nobody reads them any more.
async fn watch(
    session: &Session,
    arguments: &Arguments,
    on_terminal: bool,
    mut print: impl FnMut(&str) -> anyhow::Result<Reader>,
) -> anyhow::Result<()> {
    let mut last: Option<Statuses> = None;
    let mut looking = Looking::default();
    loop {
        let statuses = looking.next(session, arguments, last.as_ref().filter(|_| on_terminal)).await?;
        // Ages change all the time; on a terminal they are shown, elsewhere only news are.
        if on_terminal || last.as_ref() != Some(&statuses) {
            let text = shown(session, arguments, &statuses.0)?;
            let before = match session.format.for_programs() {
                None if on_terminal => CLEAR,
                Some(Notation::Yaml) if last.is_some() => output::NEXT_DOCUMENT,
                _ => "",
            };
            if print(&format!("{before}{text}"))? == Reader::Gone {
                return Ok(());
            }
            statuses.1.iter().for_each(output::note);
        }
        last = Some(statuses);
    }
}

/// How statuses are watched: one cloud is followed, and all of a project are looked at again and again.
#[derive(Default)]
struct Looking {
    has_looked: bool,
    followed: Option<Followed>,
}

impl Looking {
    /// The statuses as they are next. Those that are shown come again in time, as ages change; where none are, only news do.
    async fn next(
        &mut self,
        session: &Session,
        arguments: &Arguments,
        shown: Option<&Statuses>,
    ) -> anyhow::Result<Statuses> {
        let Some(name) = &arguments.cloud else {
            self.pause().await;
            return read(session, arguments).await;
        };
        loop {
            let Some(followed) = &mut self.followed else {
                self.pause().await;
                self.followed = Some(session.clouds().statuses(&session.project, name).await?);
                continue;
            };
            let told = match shown {
                None => followed.next().await,
                Some(shown) => match tokio::time::timeout(LOOK_INTERVAL, followed.next()).await {
                    Ok(told) => told,
                    Err(_) => return Ok(shown.clone()),
                },
            };
            match told {
                Some(status) => return Ok((vec![status?], Vec::new())),
                // Whoever told it has ended, or the cloud has: asked again, that is told.
                None => self.followed = None,
            }
        }
    }

    /// Between one look and the next.
    async fn pause(&mut self) {
        if std::mem::replace(&mut self.has_looked, true) {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}

/// Statuses, and why some clouds have none.
type Statuses = (Vec<CloudStatus>, Vec<String>);

async fn read(session: &Session, arguments: &Arguments) -> anyhow::Result<Statuses> {
    if let Some(name) = &arguments.cloud {
        return Ok((vec![session.clouds().status(&session.project, name).await?], Vec::new()));
    }
    of_all(session, &session.clouds().names(&session.project).await?).await
}

/// The statuses of clouds that were listed.
async fn of_all(session: &Session, names: &[LogicalCloudName]) -> anyhow::Result<Statuses> {
    let clouds = session.clouds();
    let mut reads = Vec::with_capacity(names.len());
    for name in names {
        reads.push((name.to_string(), async move { clouds.status(&session.project, name).await }));
    }
    Ok(of_many(reads).await?)
}

/// One named cloud is one value; all of a project are a list.
fn shown(session: &Session, arguments: &Arguments, statuses: &[CloudStatus]) -> anyhow::Result<String> {
    let detail = if session.format == Format::Wide { Detail::Each } else { Detail::Grouped };
    match (session.format.for_programs(), &arguments.cloud, statuses) {
        (None, _, _) => {
            let trees = statuses.iter().map(|status| status_tree::draw(status, detail, session.now()));
            Ok(trees.collect())
        }
        (Some(notation), Some(_), [only]) => written(notation, only),
        (Some(notation), _, all) => written(notation, all),
    }
}

fn written<T: serde::Serialize + ?Sized>(notation: Notation, value: &T) -> anyhow::Result<String> {
    notation.write(&value)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use dcm_core::logical_cloud::{Draft, MetadataDraft};

    use super::*;
    use crate::exit::code_of;
    use crate::session::in_memory;

    async fn put(session: &Session, description: &str) {
        let named = |name: &str| MetadataDraft { name: name.to_owned(), ..MetadataDraft::default() };
        let project = named(session.project.as_str());
        session.here().unwrap().projects().put(&session.caller, project).await.unwrap();
        let metadata = MetadataDraft { description: description.to_owned(), ..named("c") };
        let mut draft = Draft { metadata, ..Draft::default() };
        draft.spec.namespace = Some("c".to_owned());
        session.here().unwrap().clouds().put(&session.caller, &session.project, draft).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_watched_status_is_shown_when_it_changed_and_not_at_each_look() {
        let session = in_memory().await;
        put(&session, "as it is").await;
        let arguments = Arguments { cloud: None, watch: true };
        let shown = Cell::new(0);
        let looking = watch(&session, &arguments, false, |_| {
            shown.set(shown.get() + 1);
            Ok(if shown.get() == 1 { Reader::There } else { Reader::Gone })
        });
        let mut looking = std::pin::pin!(looking);
        let unchanged = tokio::time::timeout(LOOK_INTERVAL * 10, &mut looking).await;
        assert!(unchanged.is_err(), "it was shown again, and nothing had changed");
        put(&session, "as it is now").await;
        looking.await.unwrap();
        assert_eq!(shown.get(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn one_cloud_is_followed_and_shown_in_the_moment_in_which_it_changes() {
        let session = in_memory().await;
        put(&session, "as it is").await;
        let arguments = Arguments { cloud: Some(LogicalCloudName::new("c").unwrap()), watch: true };
        let (shown, begun) = (Cell::new(0), tokio::time::Instant::now());
        let (first, is_shown) = futures::channel::oneshot::channel();
        let first = Cell::new(Some(first));
        let looking = watch(&session, &arguments, false, |_| {
            shown.set(shown.get() + 1);
            first.take().into_iter().for_each(|first| first.send(()).unwrap());
            Ok(if shown.get() == 1 { Reader::There } else { Reader::Gone })
        });
        let changing = async {
            is_shown.await.unwrap();
            put(&session, "as it is now").await;
        };
        let (watched, ()) = futures::join!(looking, changing);
        watched.unwrap();
        assert_eq!((shown.get(), begun.elapsed()), (2, Duration::ZERO));
    }

    #[tokio::test]
    async fn a_cloud_that_is_gone_is_missed_only_where_it_was_named() {
        let session = in_memory().await;
        let gone = LogicalCloudName::new("gone").unwrap();
        assert_eq!(of_all(&session, std::slice::from_ref(&gone)).await.unwrap().0, []);
        let named = Arguments { cloud: Some(gone), watch: false };
        assert_eq!(code_of(&read(&session, &named).await.unwrap_err()), Exit::NotFound);
    }
}
