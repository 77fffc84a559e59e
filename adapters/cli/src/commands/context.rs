//! `dcm context`: the servers that were logged in to.

use serde::Serialize;

use crate::arguments::Global;
use crate::exit::{Ended, Exit};
use crate::output;
use crate::remote::{Context, ContextName, Contexts};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Shows all contexts. Shows no credential.
    List,
    /// Makes a context the current one.
    Use(One),
    /// Asks no server any more unless one is named: commands work on a store.
    Leave,
    /// Forgets a context, with its token.
    Delete(One),
}

/// A context.
#[derive(Debug, clap::Args)]
pub(crate) struct One {
    /// Its name.
    #[arg(value_name = "NAME")]
    name: ContextName,
}

/// What is shown of a context.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    name: String,
    server: String,
    /// By what the server knows who asks.
    credential: &'static str,
    is_current: bool,
}

pub(crate) fn run(global: &Global, command: &Command) -> anyhow::Result<Exit> {
    let mut contexts = Contexts::read()?;
    let said = match command {
        Command::List => return list(global, &contexts),
        Command::Use(One { name }) => {
            must_be_there(contexts.choose(Some(name.clone())), name)?;
            format!("{name}: asked from now on")
        }
        Command::Leave => {
            contexts.choose(None);
            "no server is asked from now on".to_owned()
        }
        Command::Delete(One { name }) => {
            must_be_there(contexts.remove(name), name)?;
            format!("{name}: forgotten")
        }
    };
    contexts.write()?;
    output::note(said);
    Ok(Exit::Done)
}

fn must_be_there(is_there: bool, name: &ContextName) -> anyhow::Result<()> {
    if is_there {
        Ok(())
    } else {
        Err(Ended::new(Exit::NotFound, format!("there is no context {name}")).into())
    }
}

fn list(global: &Global, contexts: &Contexts) -> anyhow::Result<Exit> {
    let shown = |(name, context): (&ContextName, &Context)| Shown {
        name: name.to_string(),
        server: context.server.to_string(),
        credential: context.credential_kind(),
        is_current: contexts.current() == Some(name),
    };
    let shown: Vec<Shown> = contexts.all().map(shown).collect();
    output::print_either(global.output, &shown, || {
        let row = |one: &Shown| {
            let mark = if one.is_current { "*" } else { "" };
            [mark.to_owned(), one.name.clone(), one.server.clone(), one.credential.to_owned()]
        };
        output::columns(["CURRENT", "NAME", "SERVER", "CREDENTIAL"], shown.iter().map(row))
    })?;
    Ok(Exit::Done)
}
