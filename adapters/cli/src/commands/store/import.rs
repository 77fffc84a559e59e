//! `dcm store import`: documents from lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;

use anyhow::Context as _;
use dcm_server::open_sealed;
use dcm_store::transfer::{ImportError, import, lines};
use futures::stream;

use crate::arguments::Global;
use crate::exit::{Ended, Exit};
use crate::output;
use crate::session::store_of;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file of an export; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let store = open_sealed(&store_of(global)?).await?;
    let name = arguments.file.display();
    let reader: Box<dyn BufRead + Send> = match arguments.file.to_str() {
        Some("-") => Box::new(BufReader::new(io::stdin())),
        _ => {
            let opened = File::open(&arguments.file).with_context(|| format!("{name} can't be read"))?;
            Box::new(BufReader::new(opened))
        }
    };
    match import(&*store, stream::iter(lines(reader)), |_| ()).await {
        Ok(documents) => {
            output::note(format_args!("{documents} documents imported"));
            Ok(Exit::Done)
        }
        Err(error @ ImportError::Exists { .. }) => Err(Ended::new(Exit::Stuck, error).into()),
        Err(error @ ImportError::Malformed { .. }) => {
            Err(Ended::new(Exit::Refused, format_args!("{name}: {error}")).into())
        }
        Err(error) => Err(anyhow::Error::from(error).context(name.to_string())),
    }
}
