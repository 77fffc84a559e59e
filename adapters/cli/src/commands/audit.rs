//! `dcm audit`: who decided what, when and why.

use dcm_client::{Broken, Listed};
use dcm_core::audit::{Entries, Recorded};
use dcm_core::name::{LogicalCloudName, UserName};
use dcm_core::port::audit::{Action, Decision, Outcome};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, civil};

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::place::{self, Place};
use crate::session::{Session, told};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Shows only the entries about this logical cloud of the project.
    #[arg(long, value_name = "LOGICAL_CLOUD")]
    cloud: Option<LogicalCloudName>,
    /// Shows only entries from this time on: 2026-03-01T08:00:00Z, 2026-03-01, or an age such as 24h.
    #[arg(long, value_parser = Since::parse, value_name = "TIME")]
    since: Option<Since>,
}

/// From when on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Time(Timestamp),
    Ago(SignedDuration),
}

impl Since {
    fn parse(text: &str) -> Result<Self, String> {
        if let Ok(time) = text.parse() {
            return Ok(Self::Time(time));
        }
        if let Some(day) = text.parse::<civil::Date>().ok().and_then(|day| day.to_zoned(TimeZone::UTC).ok()) {
            return Ok(Self::Time(day.timestamp()));
        }
        let ago = text.parse().ok().filter(|ago: &SignedDuration| ago.is_positive());
        ago.map(Self::Ago).ok_or_else(|| "must be a time, a day such as 2026-03-01, or 24h".to_owned())
    }

    fn time(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Time(time) => time,
            Self::Ago(ago) => now.checked_sub(ago).unwrap_or(Timestamp::MIN),
        }
    }
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let since = arguments.since.map(|since| since.time(session.now()));
    let (entries, broken) = read(&session, arguments.cloud.as_ref(), since).await?;
    output::print_either(session.format, &entries, || table(&entries))?;
    broken.iter().for_each(output::note);
    Ok(if broken.is_empty() { Exit::Done } else { Exit::Failed })
}

/// The decisions, or those about one logical cloud of the session's project, and what can't be read of them.
async fn read(
    session: &Session,
    cloud: Option<&LogicalCloudName>,
    since: Option<Timestamp>,
) -> anyhow::Result<(Vec<Recorded>, Vec<String>)> {
    let project = &session.project;
    match session.place() {
        Place::Here(deployment) => {
            let is_wanted = |Decision { about, .. }: &Decision| {
                cloud.is_none() || (about.cloud.as_ref() == cloud && about.project.as_ref() == Some(project))
            };
            let Entries { entries, broken, .. } = deployment.audit().read(since, is_wanted).await?;
            Ok((entries, told(&broken)))
        }
        Place::There(client) => {
            let listed = match cloud {
                Some(cloud) => client.audit().of_project(project, Some(cloud), since).await,
                None => client.audit().list(since).await,
            };
            let Listed { items, broken } = listed.map_err(place::Error::from)?;
            Ok((items, broken.iter().map(Broken::told).collect()))
        }
    }
}

fn table(entries: &[Recorded]) -> String {
    let rows = entries.iter().map(|Recorded { asked, ended }| {
        let result =
            ended.as_ref().map_or("unknown: cut off, or under way".to_owned(), |ended| said(&ended.outcome));
        let why = if asked.why.is_empty() { "-" } else { &*asked.why };
        [
            asked.at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            asked.who.clone(),
            action(asked.action),
            about(asked),
            result,
            why.to_owned(),
        ]
    });
    output::columns(["TIME", "WHO", "WHAT", "ABOUT", "RESULT", "WHY"], rows)
}

/// The name of an action, as programs see it.
fn action(action: Action) -> String {
    let name = serde_json::to_value(action).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

fn about(Decision { about, .. }: &Decision) -> String {
    let project = about.project.as_ref().map(ToString::to_string);
    let cloud = about.cloud.as_ref().map(|cloud| format!("/{cloud}"));
    let cluster = about.cluster.as_ref().map(ToString::to_string);
    let users: Vec<&str> = about.users.iter().map(UserName::as_str).collect();
    let name: String = project.into_iter().chain(cloud).chain(cluster).collect();
    let rest = [users.join(","), about.detail.clone()];
    [name].into_iter().chain(rest.into_iter().filter(|part| !part.is_empty())).collect::<Vec<_>>().join(" ")
}

fn said(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Accepted { generation: Some(generation) } => format!("accepted, generation {generation}"),
        Outcome::Accepted { generation: None } => "accepted".to_owned(),
        Outcome::Unchanged => "unchanged".to_owned(),
        Outcome::Refused { message } => format!("refused: {message}"),
        Outcome::Failed { message } => format!("failed: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_a_time_a_day_or_how_long_ago() {
        let now: Timestamp = "2026-03-02T00:00:00Z".parse().unwrap();
        for text in ["2026-03-01T00:00:00Z", "2026-03-01", "24h"] {
            let since = Since::parse(text).unwrap().time(now);
            assert_eq!(since.to_string(), "2026-03-01T00:00:00Z", "{text}");
        }
        for text in ["", "-1h", "yesterday", "0s"] {
            assert!(Since::parse(text).is_err(), "{text}");
        }
    }
}
