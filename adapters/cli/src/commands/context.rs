//! `dcm context`: the servers that were logged in to.

use serde::Serialize;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::remote::{Context, ContextName, Contexts};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Lists contexts, without their credentials.
    List,
    /// Sets the current context.
    Use(One),
    /// Unsets the current context: commands use a store again.
    Leave,
    /// Deletes a context with its token.
    Delete(One),
}

/// A context.
#[derive(Debug, clap::Args)]
pub(crate) struct One {
    /// Name of the context.
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
            contexts.choose(name)?;
            format!("{name}: asked from now on")
        }
        Command::Leave => {
            contexts.leave();
            "no server is asked from now on".to_owned()
        }
        Command::Delete(One { name }) => {
            contexts.remove(name)?;
            format!("{name}: forgotten")
        }
    };
    contexts.write()?;
    output::note(said);
    Ok(Exit::Done)
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
