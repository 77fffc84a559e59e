//! "Did you mean …?" after the name of a logical cloud or a cluster that is not found. Contexts have their own, in `remote::contexts`.

use dcm_core::name::{LogicalCloudName, ProjectName};
use dcm_core::similar::did_you_mean;

use crate::arguments::Global;
use crate::exit::{self, Ended, Exit};
use crate::session::Session;

/// Something that a store or a server does not have, as their messages name it.
#[derive(Debug, PartialEq, Eq)]
enum Missing<'a> {
    Cloud { name: &'a str, project: &'a str },
    Cluster { name: &'a str },
}

impl<'a> Missing<'a> {
    /// Reads a message: a server has no other form of it.
    fn of(message: &'a str) -> Option<Self> {
        let named = message.strip_prefix("there is no ")?;
        if let Some(cloud) = named.strip_prefix("logical cloud ") {
            let (name, project) = cloud.split_once(" in project ")?;
            return Some(Self::Cloud { name, project });
        }
        let name = named.strip_prefix("cluster ").filter(|name| name.contains('/'))?;
        Some(Self::Cluster { name })
    }

    /// The question for a similar name; nothing where no name is similar, or names can't be listed.
    async fn question(&self, session: &Session) -> String {
        match self {
            Self::Cloud { name, project } => {
                let Ok(project) = ProjectName::new(project) else { return String::new() };
                let names = session.clouds().names(&project).await.unwrap_or_default();
                did_you_mean(name, names.iter().map(LogicalCloudName::as_str))
            }
            Self::Cluster { name } => {
                let all = session.clusters().list().await.unwrap_or_default();
                let names: Vec<String> = all.clusters.iter().map(|shown| shown.cluster.to_string()).collect();
                did_you_mean(name, names.iter().map(String::as_str))
            }
        }
    }
}

/// Returns the error; with the question for a similar name, where the name of a logical cloud or a cluster was not found.
pub(crate) async fn with_question(global: &Global, error: anyhow::Error) -> anyhow::Error {
    if exit::code_of(&error) != Exit::NotFound {
        return error;
    }
    let message = format!("{error:#}");
    let Some(missing) = Missing::of(&message) else { return error };
    let Ok(session) = Session::open(global).await else { return error };
    let question = missing.question(&session).await;
    if question.is_empty() { error } else { Ended::new(Exit::NotFound, message + &question).into() }
}

#[cfg(test)]
mod tests {
    use dcm_core::service::{Error, Kind};

    use super::*;

    #[test]
    fn what_is_missing_is_read_from_the_message() {
        let message = |kind, name: &str, project: Option<&str>| {
            let project = project.map(|project| project.parse().unwrap());
            Error::NotFound { kind, name: name.to_owned(), project }.to_string()
        };
        let cloud = message(Kind::LogicalCloud, "webb", Some("default"));
        assert_eq!(Missing::of(&cloud), Some(Missing::Cloud { name: "webb", project: "default" }));
        let cluster = message(Kind::Cluster, "p/c", None);
        assert_eq!(Missing::of(&cluster), Some(Missing::Cluster { name: "p/c" }));
        for other in ["there is no cluster provider p", "there is no user dev", "web is applied"] {
            assert_eq!(Missing::of(other), None, "{other}");
        }
    }
}
