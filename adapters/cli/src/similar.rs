//! "Did you mean …?" after the name of a logical cloud or a cluster that is not found. Contexts have their own, in `remote::contexts`.

use clap::ArgMatches;
use dcm_core::name::{ClusterId, LogicalCloudName};
use dcm_core::similar::did_you_mean;

use crate::arguments::Global;
use crate::exit::{self, Ended, Exit};
use crate::session::Session;

/// Something stored that the command line names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stored {
    /// A logical cloud of the project.
    Cloud(LogicalCloudName),
    /// A registered cluster.
    Cluster(ClusterId),
}

impl Stored {
    /// The first logical cloud or cluster among the arguments of a subcommand.
    pub(crate) fn of(matches: &ArgMatches) -> Option<Self> {
        matches.ids().find_map(|id| {
            let cloud = matches.try_get_one::<LogicalCloudName>(id.as_str()).ok().flatten();
            let cluster = matches.try_get_one::<ClusterId>(id.as_str()).ok().flatten();
            cloud.cloned().map(Self::Cloud).or_else(|| cluster.cloned().map(Self::Cluster))
        })
    }

    fn name(&self) -> String {
        match self {
            Self::Cloud(name) => name.to_string(),
            Self::Cluster(id) => id.to_string(),
        }
    }

    /// The names that it may have been meant by; none where they can't be listed.
    async fn known(&self, session: &Session) -> Vec<String> {
        match self {
            Self::Cloud(_) => {
                let names = session.clouds().names(&session.project).await.unwrap_or_default();
                names.iter().map(ToString::to_string).collect()
            }
            Self::Cluster(_) => {
                let all = session.clusters().list().await.unwrap_or_default();
                all.clusters.iter().map(|shown| shown.cluster.to_string()).collect()
            }
        }
    }
}

/// Returns the error; with the question for a similar name, where something was not found and the name that the command line has is none
/// of the known ones. The names are listed in a session of their own, as that of the command has ended.
pub(crate) async fn with_question(
    global: &Global,
    named: Option<&Stored>,
    error: anyhow::Error,
) -> anyhow::Error {
    let (Some(named), Exit::NotFound) = (named, exit::code_of(&error)) else { return error };
    let Ok(session) = Session::open(global).await else { return error };
    let (name, known) = (named.name(), named.known(&session).await);
    if known.contains(&name) {
        return error;
    }
    match did_you_mean(&name, known.iter().map(String::as_str)) {
        question if question.is_empty() => error,
        question => Ended::new(Exit::NotFound, format!("{error:#}{question}")).into(),
    }
}

#[cfg(test)]
mod tests {
    use crate::arguments::Arguments;

    use super::*;

    #[test]
    fn what_the_command_line_names_is_found_by_its_type() {
        let named = |words: &str| Arguments::read(words.split(' ')).unwrap().named;
        let cloud = Some(Stored::Cloud("web".parse().unwrap()));
        for words in
            ["dcm status web", "dcm kubeconfig web --user dev", "dcm terminate web", "dcm audit --cloud web"]
        {
            assert_eq!(named(words), cloud, "{words}");
        }
        let cluster = Some(Stored::Cluster("p/c".parse().unwrap()));
        for words in ["dcm cluster check p/c", "dcm orphans list p/c", "dcm cluster stop p/c"] {
            assert_eq!(named(words), cluster, "{words}");
        }
        assert_eq!(named("dcm get --project web"), None);
    }
}
