//! `dcm token`: the static tokens of a server's callers.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use dcm_core::secret::Secret;
use dcm_identity::tokens::{self, Entry, FileError, New, RANDOM_BYTES, TokenFile};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::{duration, output, private_file};

/// Commands for static tokens. A server takes changes of the file into account within a second.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Creates a token, adds its hash to the file, and prints the token.
    ///
    /// The token itself is stored nowhere.
    New(NewArguments),
    /// Lists the tokens of the file: names, users and ends.
    List(In),
    /// Deletes tokens from the file.
    Delete(DeleteArguments),
}

/// A file of tokens.
#[derive(Debug, clap::Args)]
pub(crate) struct In {
    /// File of the tokens' hashes; `new` creates it.
    #[arg(long, env = "DCM_TOKEN_FILE", value_name = "FILE")]
    token_file: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct NewArguments {
    #[command(flatten)]
    file: In,
    /// Name of the token, in the file and in logs.
    name: String,
    /// User of the token, for bindings of roles.
    #[arg(long, value_name = "USER")]
    user: String,
    /// Group of the user. May be repeated.
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// Lifetime, for example 90d or 12h. Default: until it is deleted.
    #[arg(long, value_parser = duration::parse, value_name = "DURATION")]
    valid_for: Option<Duration>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DeleteArguments {
    #[command(flatten)]
    file: In,
    /// Names of the tokens.
    #[arg(required = true)]
    names: Vec<String>,
}

pub(crate) fn run(global: &Global, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::New(arguments) => new(global, arguments),
        Command::List(file) => list(global, &file.token_file),
        Command::Delete(DeleteArguments { file, names }) => delete(&file.token_file, &names),
    }
}

/// A token and its entry, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Made<'a> {
    token: &'a str,
    entry: &'a Entry,
}

fn new(global: &Global, arguments: NewArguments) -> anyhow::Result<Exit> {
    let NewArguments { file, name, user, groups, valid_for } = arguments;
    let _alone = alone(&file.token_file)?;
    let mut known = or_empty(TokenFile::read(&file.token_file))?;
    anyhow::ensure!(
        known.tokens.iter().all(|entry| entry.name != name),
        "there is a token {name} in {} already",
        file.token_file.display()
    );
    let until = valid_for.map(|valid| -> anyhow::Result<Timestamp> {
        Timestamp::now().checked_add(SignedDuration::try_from(valid)?).context("that is too long")
    });
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random).context("the system gives no randomness")?;
    let groups: BTreeSet<String> = groups.into_iter().collect();
    let made = tokens::make(New { name, user, groups, until: until.transpose()? }, &random)?;
    known.tokens.push(made.entry.clone());
    keep(&file.token_file, &known)?;
    let token = made.token.expose();
    output::print_either(global.output, &Made { token, entry: &made.entry }, || format!("{token}\n"))?;
    Ok(Exit::Done)
}

fn list(global: &Global, file: &Path) -> anyhow::Result<Exit> {
    let known = TokenFile::read(file)?;
    output::print_either(global.output, &known, || {
        let rows = known.tokens.iter().map(|entry| {
            let until = entry.until.map_or_else(|| "-".to_owned(), |until| until.to_string());
            let groups: Vec<&str> = entry.groups.iter().map(String::as_str).collect();
            let groups = if groups.is_empty() { "-".to_owned() } else { groups.join(",") };
            [entry.name.clone(), entry.id.clone(), entry.user.clone(), groups, until]
        });
        output::columns(["NAME", "ID", "USER", "GROUPS", "UNTIL"], rows)
    })?;
    Ok(Exit::Done)
}

fn delete(file: &Path, names: &[String]) -> anyhow::Result<Exit> {
    let _alone = alone(file)?;
    let mut known = TokenFile::read(file)?;
    for name in names {
        let before = known.tokens.len();
        known.tokens.retain(|entry| entry.name != *name);
        anyhow::ensure!(known.tokens.len() < before, "there is no token {name} in {}", file.display());
    }
    keep(file, &known)?;
    Ok(Exit::Done)
}

/// A file that is not there has no tokens yet.
fn or_empty(loaded: Result<TokenFile, FileError>) -> anyhow::Result<TokenFile> {
    match loaded {
        Err(FileError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(TokenFile::default())
        }
        loaded => Ok(loaded?),
    }
}

fn keep(file: &Path, known: &TokenFile) -> anyhow::Result<()> {
    known.check()?;
    private_file::write_as_it_is(file, &Secret::new(known.to_yaml()))
}

/// Nobody else changes the file meanwhile: what one takes out another would write back. It ends with what is returned.
fn alone(file: &Path) -> anyhow::Result<File> {
    let mut name = file.file_name().context("the path of the file has no name")?.to_owned();
    name.push(".lock");
    let lock = file.with_file_name(name);
    let failed = || format!("{} can't be locked", lock.display());
    let opened = File::options().create(true).truncate(false).write(true).open(&lock).with_context(failed)?;
    opened.lock().with_context(failed)?;
    Ok(opened)
}
