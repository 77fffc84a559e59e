//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use dcm_client::ServerUrl;
use dcm_core::ignored::IgnoredObjects;
use dcm_core::name::ProjectName;
use dcm_store::StoreUrl;

use crate::commands::{
    apply, audit, cluster, completions, context, credential, demo, get, kubeconfig, login, orphans, plan,
    renew, schema, serve, status, stop, store, terminate, token, user,
};
use crate::output::Format;
use crate::remote::ContextName;
use crate::session::{Named, NamedUser};
use crate::{duration, exit, log};

/// Logical clouds on Kubernetes clusters: from one document to working credentials, and back to nothing.
#[derive(Debug, Parser)]
#[command(name = "dcm", version, after_help = exit::HELP, max_term_width = 120)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Reads what the process was given.
    pub(crate) fn read(
        words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(words)?;
        let mut read = Self::from_arg_matches(&matches)?;
        let is_store = matches!(&read.command, Command::Credential(arguments) if arguments.secret.is_store());
        read.global
            .choose_place(&matches, is_store)
            .map_err(|message| command.error(ErrorKind::ArgumentConflict, message))?;
        Ok(read)
    }
}

impl Global {
    /// Leaves one of context, server and store, if any is named: what the command line says goes before what the environment says, and
    /// there a context before a server, and a server before a store. The command line may also say that it is the store that the
    /// environment names.
    fn choose_place(&mut self, matches: &ArgMatches, is_store: bool) -> Result<(), &'static str> {
        let mut innermost = matches;
        while let Some((_, matches)) = innermost.subcommand() {
            innermost = matches;
        }
        let mut is_said = ["context", "server", "store"]
            .map(|name| innermost.value_source(name) == Some(ValueSource::CommandLine));
        is_said[2] |= is_store;
        let kept = match is_said {
            [false, false, false] => {
                [true, self.context.is_none(), self.context.is_none() && self.server.is_none()]
            }
            _ if is_said.iter().filter(|is_said| **is_said).count() > 1 => {
                return Err("say one of --context, --server and --store");
            }
            said => said,
        };
        let [context, server, store] = kept;
        self.context = self.context.take().filter(|_| context);
        self.server = self.server.take().filter(|_| server);
        self.store = self.store.take().filter(|_| store);
        Ok(())
    }
}

/// What every subcommand takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Form of the result.
    #[arg(short, long, global = true, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) output: Format,
    /// Where everything is kept: sqlite:PATH, etcd://HOST:PORT, mongodb://HOST:PORT, or memory: for nothing that stays.
    /// Default: a file in the user's data folder. A URL with a password belongs in the environment. With user, TLS and names:
    /// etcd://USER:PASSWORD@HOST,HOST/PREFIX?ca=FILE&cert=FILE&key=FILE and
    /// mongodb://USER:PASSWORD@HOST,HOST/DATABASE?collection=NAME&tls=true&tlsCAFile=FILE. Another machine needs TLS, or insecure=true.
    #[arg(long, global = true, env = "DCM_STORE", hide_env_values = true, value_name = "URL")]
    pub(crate) store: Option<StoreUrl>,
    /// Where app contexts and the state of work on clusters are kept, if not in the store as well: a URL of the same kinds.
    #[arg(long, global = true, env = "DCM_CONTEXTS_STORE", hide_env_values = true, value_name = "URL")]
    pub(crate) contexts_store: Option<StoreUrl>,
    /// The server to ask instead of a store: https://HOST[:PORT], http:// for a loopback address, or unix:PATH for a Unix socket. It is
    /// asked with the token in DCM_TOKEN, or else with the credential of its context.
    #[arg(long, global = true, env = "DCM_SERVER", value_name = "URL")]
    pub(crate) server: Option<ServerUrl>,
    /// The context whose server is asked (dcm login, dcm context). Default: the current one, where no store is named.
    #[arg(long, global = true, env = "DCM_CONTEXT", value_name = "NAME")]
    pub(crate) context: Option<ContextName>,
    /// The file with the keys that secrets in the store are encrypted with; made when there is none and nothing is encrypted
    /// yet. Default: the text of such a file in the environment variable DCM_KEYS, or a file in the user's configuration folder.
    #[arg(long, global = true, env = "DCM_KEY_FILE", value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// The project of logical clouds whose document or command names none.
    #[arg(short, long, global = true, env = "DCM_PROJECT", default_value = "default", value_name = "NAME")]
    pub(crate) project: ProjectName,
    /// How long this worker's clusters stay its own without a sign of life; at most 1h. Default: 10s.
    #[arg(long, global = true, env = "DCM_LEASE", value_parser = duration::lease, value_name = "DURATION")]
    pub(crate) lease: Option<Duration>,
    /// What controllers of clusters put into every namespace, and does not count as contents of others: KIND[.GROUP]/NAME, where NAME
    /// may end with *, or KIND[.GROUP]:LABEL[=VALUE]; may be repeated, and takes the place of the default. Default: what Istio,
    /// OpenShift, GKE and trust-manager put there.
    #[arg(long, global = true, env = "DCM_IGNORED_CONTENTS", value_delimiter = ',', value_name = "OBJECTS")]
    pub(crate) ignored_contents: Vec<IgnoredObjects>,
    /// Why this is done; the audit log keeps it.
    #[arg(
        long,
        global = true,
        env = "DCM_WHY",
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT"
    )]
    pub(crate) why: String,
    /// What the request is called in the audit log and in logs, to find it in other systems'. Default: a random number.
    #[arg(long, global = true, env = "DCM_REQUEST_ID", value_name = "TEXT")]
    pub(crate) request_id: Option<String>,
    /// Logs what happens; may be repeated for more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Form of the log.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) log_format: log::Form,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The clusters that logical clouds can be on.
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Brings logical clouds from their documents to their clusters.
    Apply(apply::Arguments),
    /// Shows what an apply would do. Changes nothing.
    Plan(plan::Arguments),
    /// Shows logical clouds, or the document of one.
    Get(get::Arguments),
    /// Shows how far logical clouds are: clusters, objects, causes.
    Status(status::Arguments),
    /// Gives a user's kubeconfig.
    Kubeconfig(kubeconfig::Arguments),
    /// Gives a user's credential to a client of Kubernetes that runs this as a plugin.
    ///
    /// It is what kubeconfigs of `dcm kubeconfig --exec` run: an ExecCredential of client.authentication.k8s.io/v1, the newest
    /// that the cluster has issued, until the time of its renewal.
    Credential(credential::Arguments),
    /// Shows the subject that a user's own certificate request must have.
    ///
    /// A user who brings a request keeps the private key: it is never in our hands. The subject holds the identity of the
    /// logical cloud, so: apply the document without this user, ask for the subject, make the request, put user and
    /// request (spec.users[].csr) into the document, and apply it again.
    Subject(NamedUser),
    /// Renews credentials, without waiting for a worker to do it in time. What was applied is applied again, and no edit
    /// since.
    Renew(renew::Arguments),
    /// The users of logical clouds.
    #[command(subcommand)]
    User(user::Command),
    /// Takes a logical cloud off its clusters. Its document stays.
    Terminate(terminate::Arguments),
    /// Pauses the work on a logical cloud, and waits until none of its requests is under way.
    Stop(stop::Arguments),
    /// Goes on with the work on a logical cloud.
    Resume(Awaited),
    /// Takes what the store holds of a logical cloud as the truth where clusters hold later changes: after the store was
    /// restored from an old copy. The status tells what differs.
    Reconcile(Awaited),
    /// Objects that clusters hold of ours, and the store does not know of.
    #[command(subcommand)]
    Orphans(orphans::Command),
    /// The store itself: a check, export, import, another key for its secrets.
    #[command(subcommand)]
    Store(store::Command),
    /// Shows who decided what, when and why: the audit log.
    ///
    /// What has no result was cut off, or is under way: it may have been done, in part or whole. What was then done to
    /// clusters is in the audit logs of their API servers: app context and generation, which are shown here with
    /// -o json, are in the User-Agent there.
    Audit(audit::Arguments),
    /// Deletes a logical cloud that is on no cluster.
    Delete(Named),
    /// Works until it is ended: keeps everything in the store in sync, and answers whoever asks.
    Serve(Box<serve::Arguments>),
    /// Remembers a server, and how it is asked: as a context, which is the current one from then on.
    Login(login::Arguments),
    /// The servers that were logged in to, and which of them is asked.
    #[command(subcommand)]
    Context(context::Command),
    /// The static tokens by which callers of a server prove who they are.
    #[command(subcommand)]
    Token(token::Command),
    /// Shows the whole way of a logical cloud on simulated clusters. Touches nothing outside this process.
    Demo(demo::Arguments),
    /// Prints the JSON Schema of documents.
    Schema(schema::Arguments),
    /// Prints a completion script for a shell.
    Completions(completions::Arguments),
}

/// Waiting for work to be done.
#[derive(Debug, Args)]
pub(crate) struct Waiting {
    /// Waits until the work is done, or can't go on. This is the default.
    #[arg(long, overrides_with = "no_wait")]
    wait: bool,
    /// Returns when the work is accepted. It is done by a running `dcm serve`.
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Longest time to wait; then it ends with exit code 4.
    #[arg(long, default_value = "10m", value_parser = duration::parse, value_name = "DURATION")]
    pub(crate) timeout: Duration,
}

/// Waiting until nothing is under way.
#[derive(Debug, Args)]
pub(crate) struct StopWaiting {
    /// Longest time to wait for requests that are under way. After it the work is paused all the same.
    #[arg(long, default_value = "45s", value_parser = duration::parse, value_name = "DURATION")]
    pub(crate) timeout: Duration,
}

/// A logical cloud whose work begins, and waiting for its end.
#[derive(Debug, Args)]
pub(crate) struct Awaited {
    #[command(flatten)]
    pub(crate) cloud: Named,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_waits_as_long_as_the_library_says() {
        let arguments = Arguments::try_parse_from(["dcm", "stop", "shop"]).unwrap();
        let Command::Stop(stop) = arguments.command else { panic!("another command") };
        assert_eq!(stop.waiting.timeout, dcm_core::port::synchronizer::STOP_LIMIT);
    }

    #[test]
    fn what_is_said_goes_before_the_environment_and_one_place_alone_may_be_said() {
        let read = |words: &[&str]| Arguments::read(words.iter().copied()).map(|read| read.global);
        let named =
            |global: &Global| [global.context.is_some(), global.server.is_some(), global.store.is_some()];
        let server = "http://127.0.0.1:1";
        for (words, expected) in [
            (&["dcm", "get", "--server", server][..], [false, true, false]),
            (&["dcm", "--store", "memory:", "cluster", "list"], [false, false, true]),
            (&["dcm", "user", "revoke", "a", "b", "--context", "c"], [true, false, false]),
            (&["dcm", "get"], [false, false, false]),
        ] {
            assert_eq!(named(&read(words).unwrap()), expected, "{words:?}");
        }
        let both = read(&["dcm", "--store", "memory:", "get", "--server", server]).unwrap_err();
        assert_eq!(both.kind(), ErrorKind::ArgumentConflict);
        let plugin = ["dcm", "credential", "a", "b", "c", "--store-in-environment", "--server", server];
        assert_eq!(read(&plugin).unwrap_err().kind(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_last_of_wait_and_no_wait_holds() {
        let no_wait = |arguments: &[&str]| {
            let all = ["dcm", "terminate", "c"].iter().chain(arguments);
            match Arguments::try_parse_from(all).unwrap().command {
                Command::Terminate(arguments) => arguments.waiting.no_wait,
                other => panic!("{other:?}"),
            }
        };
        assert!(!no_wait(&[]) && no_wait(&["--no-wait"]));
        assert!(!no_wait(&["--no-wait", "--wait"]) && no_wait(&["--wait", "--no-wait"]));
    }
}
