//! `dcm store import`: documents from lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;

use anyhow::Context as _;
use dcm_server::open_sealed;
use dcm_store::transfer::{ImportError, import, lines};
use futures::stream;
use serde_json::json;

use crate::arguments::Global;
use crate::exit::{Ended, Exit};
use crate::output;
use crate::session::store_of;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// File of an export; - is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let store = open_sealed(store_of(global)?.as_str()).await?;
    let name = arguments.file.display();
    let reader: Box<dyn BufRead + Send> = match arguments.file.to_str() {
        Some("-") => Box::new(BufReader::new(io::stdin())),
        _ => {
            let opened = File::open(&arguments.file).with_context(|| format!("{name} can't be read"))?;
            Box::new(BufReader::new(opened))
        }
    };
    let mut before = 0;
    match import(&*store, stream::iter(lines(reader)), |documents| before = documents).await {
        Ok(documents) => {
            let said = || format!("{documents} documents imported\n");
            output::print_either(global.output, &json!({"documents": documents}), said)?;
            Ok(Exit::Done)
        }
        Err(error) => Err(ended(&name.to_string(), before, error)),
    }
}

/// How an import ends that failed when so many documents were imported.
fn ended(name: &str, before: u64, error: ImportError<io::Error>) -> anyhow::Error {
    let place = match before {
        0 => name.to_owned(),
        _ => format!("the first {before} documents of {name} are imported, and no more"),
    };
    let with = |exit| Ended::new(exit, format_args!("{place}: {error}")).into();
    match error {
        ImportError::Exists { .. } => with(Exit::Stuck),
        ImportError::Malformed { .. } if before == 0 => with(Exit::Refused),
        error => anyhow::Error::from(error).context(place),
    }
}
