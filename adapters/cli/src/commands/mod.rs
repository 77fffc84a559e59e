//! The subcommands, one file each.

pub(crate) mod apply;
pub(crate) mod audit;
pub(crate) mod ca;
pub(crate) mod cluster;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod credential;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod get;
pub(crate) mod kubeconfig;
pub(crate) mod login;
pub(crate) mod orphans;
mod other_bindings;
pub(crate) mod plan;
pub(crate) mod reconcile;
pub(crate) mod renew;
pub(crate) mod resume;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod store;
pub(crate) mod subject;
pub(crate) mod terminate;
pub(crate) mod token;
pub(crate) mod user;

mod documents;
mod report;

use tracing::Instrument as _;
use tracing::field::Empty;

use crate::arguments::{Arguments, Command, Global};
use crate::exit::Exit;
use crate::remote;
use crate::similar::with_question;

/// Runs a subcommand, in the span of its request. Who asks is told where the store is opened.
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let request = tracing::info_span!("request", caller = Empty, request_id = Empty);
    let Arguments { global, command, named } = arguments;
    let ended = Box::pin(dispatch(&global, command)).instrument(request).await;
    match ended {
        Err(error) => Err(Box::pin(with_question(&global, named.as_ref(), error)).await),
        ended => ended,
    }
}

async fn dispatch(global: &Global, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Apply(arguments) => apply::run(global, &arguments).await,
        Command::Audit(arguments) => audit::run(global, &arguments).await,
        Command::Ca(command) => ca::run(global, &command).await,
        Command::Cluster(command) => Box::pin(cluster::run(global, command)).await,
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Context(command) => context::run(global, &command),
        Command::Credential(arguments) => credential::run(global, &arguments).await,
        Command::Delete(cloud) => delete::run(global, &cloud).await,
        Command::Demo(arguments) => demo::run(&arguments).await,
        Command::Get(arguments) => get::run(global, &arguments).await,
        Command::Kubeconfig(arguments) => kubeconfig::run(global, &arguments).await,
        Command::Login(arguments) => login::run(global, &arguments).await,
        Command::Orphans(command) => orphans::run(global, &command).await,
        Command::Plan(arguments) => plan::run(global, &arguments).await,
        Command::Reconcile(arguments) => reconcile::run(global, &arguments).await,
        Command::Renew(arguments) => renew::run(global, &arguments).await,
        Command::Resume(arguments) => resume::run(global, &arguments).await,
        Command::Schema(arguments) => schema::run(global, &arguments),
        Command::Serve(arguments) => {
            remote::must_not_be_named(global, "dcm serve")?;
            serve::run(global, &arguments).await
        }
        Command::Status(arguments) => status::run(global, &arguments).await,
        Command::Store(command) => {
            remote::must_not_be_named(global, "dcm store")?;
            store::run(global, &command).await
        }
        Command::Stop(arguments) => stop::run(global, &arguments).await,
        Command::Subject(arguments) => subject::run(global, &arguments).await,
        Command::Terminate(arguments) => terminate::run(global, &arguments).await,
        Command::Token(command) => token::run(global, command),
        Command::User(command) => user::run(global, command).await,
    }
}
