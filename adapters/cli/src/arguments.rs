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
    apply, audit, ca, cluster, completions, context, credential, demo, get, kubeconfig, login, orphans, plan,
    renew, schema, serve, status, stop, store, terminate, token, user,
};
use crate::examples::with_examples;
use crate::output::Format;
use crate::remote::ContextName;
use crate::session::{Named, NamedUser};
use crate::similar::Stored;
use crate::{duration, exit, log};

/// Gives a tenant one logical cloud over many Kubernetes clusters: namespaces, credentials, permissions and quotas.
#[derive(Debug, Parser)]
#[command(name = "dcm", version, after_help = exit::HELP, max_term_width = 120)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Something stored that the subcommand names.
    #[arg(skip)]
    pub(crate) named: Option<Stored>,
}

/// What was given to the last of the subcommands.
fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, below)| innermost(below))
}

impl Arguments {
    /// The command line with the examples of all commands.
    pub(crate) fn described() -> clap::Command {
        with_examples(Self::command())
    }

    /// Reads what the process was given.
    pub(crate) fn read(
        words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let mut command = Self::described();
        let matches = command.try_get_matches_from_mut(words)?;
        let mut read = Self::from_arg_matches(&matches)?;
        let innermost = innermost(&matches);
        read.named = Stored::of(innermost);
        let is_store = matches!(&read.command, Command::Credential(arguments) if arguments.secret.is_store());
        read.global
            .choose_place(innermost, is_store)
            .map_err(|message| command.error(ErrorKind::ArgumentConflict, message))?;
        Ok(read)
    }
}

impl Global {
    /// Leaves one of context, server and store, if any is named: what the command line says goes before what the environment says, and
    /// there a context before a server, and a server before a store. The command line may also say that it is the store that the
    /// environment names.
    fn choose_place(&mut self, innermost: &ArgMatches, is_store: bool) -> Result<(), &'static str> {
        let mut is_said = ["context", "server", "store"]
            .map(|name| innermost.value_source(name) == Some(ValueSource::CommandLine));
        is_said[2] |= is_store;
        let kept = match is_said {
            [false, false, false] => {
                [true, self.context.is_none(), self.context.is_none() && self.server.is_none()]
            }
            _ if is_said.iter().filter(|is_said| **is_said).count() > 1 => {
                return Err("--context, --server and --store exclude each other: give one of them");
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
    /// Format of the result.
    #[arg(short, long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,
    /// URL of the store: sqlite:PATH, etcd://HOST:PORT, mongodb://HOST:PORT, or memory: for one that ends with the command.
    ///
    /// Default: an SQLite file in the user's data folder. Put a URL with a password into the environment. With user, TLS and names:
    /// etcd://USER:PASSWORD@HOST,HOST/PREFIX?ca=FILE&cert=FILE&key=FILE and
    /// mongodb://USER:PASSWORD@HOST,HOST/DATABASE?collection=NAME&tls=true&tlsCAFile=FILE. Another machine needs TLS or insecure=true.
    #[arg(long, global = true, env = "DCM_STORE", hide_env_values = true, value_name = "URL")]
    pub(crate) store: Option<StoreUrl>,
    /// URL of a second store, for app contexts and the engine's records. Default: the store.
    #[arg(long, global = true, env = "DCM_CONTEXTS_STORE", hide_env_values = true, value_name = "URL")]
    pub(crate) contexts_store: Option<StoreUrl>,
    /// URL of a server to use instead of a store: https://HOST[:PORT], http:// on a loopback address, or unix:PATH.
    ///
    /// The credential is the token in DCM_TOKEN, otherwise that of the server's context.
    #[arg(long, global = true, env = "DCM_SERVER", value_name = "URL")]
    pub(crate) server: Option<ServerUrl>,
    /// Context of the server to use (dcm login, dcm context). Default: the current context, unless a store is named.
    #[arg(long, global = true, env = "DCM_CONTEXT", value_name = "NAME")]
    pub(crate) context: Option<ContextName>,
    /// File of the keys that encrypt the secrets in the store; created for a new store.
    ///
    /// Default: the text of such a file in the environment variable DCM_KEYS, otherwise a file in the user's configuration folder.
    #[arg(long, global = true, env = "DCM_KEY_FILE", value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Project of the logical clouds, unless the document names one.
    #[arg(short, long, global = true, env = "DCM_PROJECT", default_value = "default", value_name = "NAME")]
    pub(crate) project: ProjectName,
    /// Lease on clusters: other workers take over after this time without a sign of life; at most 1h. Default: 10s.
    #[arg(long, global = true, env = "DCM_LEASE", value_parser = duration::lease, value_name = "DURATION")]
    pub(crate) lease: Option<Duration>,
    /// Objects that controllers write into every namespace, which don't keep a namespace from deletion.
    ///
    /// KIND[.GROUP]/NAME, where NAME may end with *, or KIND[.GROUP]:LABEL[=VALUE]. May be repeated; replaces the default: the objects of
    /// Istio, OpenShift, GKE and trust-manager.
    #[arg(long, global = true, env = "DCM_IGNORED_CONTENTS", value_delimiter = ',', value_name = "OBJECTS")]
    pub(crate) ignored_contents: Vec<IgnoredObjects>,
    /// Reason of the change, for the audit log.
    #[arg(
        long,
        global = true,
        env = "DCM_WHY",
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT"
    )]
    pub(crate) why: String,
    /// Request ID for the audit log and all logs. Default: a random number.
    #[arg(long, global = true, env = "DCM_REQUEST_ID", value_name = "TEXT")]
    pub(crate) request_id: Option<String>,
    /// Logs the work to standard error; may be repeated for more detail.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Format of the log.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) log_format: log::Form,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Registers, checks and pauses the clusters of logical clouds.
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Applies the documents of logical clouds to their clusters, and waits until the clusters are ready.
    Apply(apply::Arguments),
    /// Shows what `dcm apply` would change on each cluster, without changing anything.
    Plan(plan::Arguments),
    /// Shows logical clouds, or the document of one.
    Get(get::Arguments),
    /// Shows the status of logical clouds: clusters, objects, and the causes of trouble.
    Status(status::Arguments),
    /// Prints a user's kubeconfig, or merges it into your own.
    Kubeconfig(kubeconfig::Arguments),
    /// Prints a user's credential as a credential plugin of kubectl (exec).
    ///
    /// Kubeconfigs of `dcm kubeconfig --exec` run this command. It prints an ExecCredential of client.authentication.k8s.io/v1 with the
    /// newest credential that the cluster has issued, which expires at the time of its renewal.
    Credential(credential::Arguments),
    /// Prints the subject for a certificate signing request that a user makes.
    ///
    /// With a request of their own, users keep their private keys: dcm never has them. The subject holds the identity of the
    /// logical cloud. So apply the document without this user, print the subject, make the request, add the user with the
    /// request (spec.users[].csr) to the document, and apply it again.
    Subject(NamedUser),
    /// Renews credentials that are due, or those of one user.
    ///
    /// The last applied state is applied again, without later edits. `dcm serve` renews credentials in time by itself.
    Renew(renew::Arguments),
    /// Revokes users of logical clouds.
    #[command(subcommand)]
    User(user::Command),
    /// Shows the certificate authorities of a logical cloud's service mesh.
    #[command(subcommand)]
    Ca(ca::Command),
    /// Removes a logical cloud from its clusters; its document stays.
    Terminate(terminate::Arguments),
    /// Pauses the work on a logical cloud, and waits until no request of it is in flight.
    Stop(stop::Arguments),
    /// Resumes the work on a paused logical cloud.
    Resume(Awaited),
    /// Makes clusters follow the store again after the store was restored from an old copy.
    ///
    /// Until then, clusters that hold later changes of a logical cloud are left alone, and `dcm status` shows the differences.
    Reconcile(Awaited),
    /// Lists and removes objects of this installation that the store has no record of.
    #[command(subcommand)]
    Orphans(orphans::Command),
    /// Checks, exports and imports the store, and changes its keys.
    #[command(subcommand)]
    Store(store::Command),
    /// Shows the audit log: who changed what, when and why.
    ///
    /// An entry without a result is under way or was interrupted; its change may have taken effect in part. The audit logs of the
    /// API servers have each request to a cluster: app context and generation, which `-o json` shows here, are in its User-Agent.
    Audit(audit::Arguments),
    /// Deletes the document of a logical cloud that is on no cluster.
    Delete(Named),
    /// Runs the server: keeps the logical clouds of the store in sync, and serves the APIs.
    Serve(Box<serve::Arguments>),
    /// Logs in to a server, and makes it the current context.
    Login(login::Arguments),
    /// Lists and chooses the servers that you are logged in to.
    #[command(subcommand)]
    Context(context::Command),
    /// Creates, lists and deletes static tokens for the callers of a server.
    #[command(subcommand)]
    Token(token::Command),
    /// Runs the life of a logical cloud on simulated clusters, within this process.
    Demo(demo::Arguments),
    /// Prints the JSON Schema of documents.
    Schema(schema::Arguments),
    /// Prints a completion script for a shell.
    Completions(completions::Arguments),
}

/// Waiting for work to be done.
#[derive(Debug, Args)]
pub(crate) struct Waiting {
    /// Waits until the work is done or action is required; the default.
    #[arg(long, overrides_with = "no_wait")]
    wait: bool,
    /// Returns as soon as the change is stored; a running `dcm serve` does the work.
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Longest time to wait; exit code 4 after it.
    #[arg(long, default_value = "10m", value_parser = duration::parse, value_name = "DURATION")]
    pub(crate) timeout: Duration,
}

/// Waiting until nothing is under way.
#[derive(Debug, Args)]
pub(crate) struct StopWaiting {
    /// Longest time to wait for requests in flight; the work is paused in any case.
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
