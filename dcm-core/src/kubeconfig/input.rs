//! Reading of kubeconfigs that come from outside: sizes, syntax and shape, with errors that show no content.

use serde_json::{Map, Value};

use crate::secret::Secret;
use crate::yaml::{self, Place, Unreadable};

/// Largest kubeconfig that is read, in bytes. One cluster takes about 6 KiB; a person may have many hundreds.
pub const KUBECONFIG_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Why a kubeconfig can't be used. No variant holds any of its content; the same text is refused again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It is over [`KUBECONFIG_BYTES_MAX`].
    #[error("the kubeconfig must be at most 8 MiB")]
    TooLarge,
    /// It isn't one document of YAML or JSON.
    #[error("the kubeconfig must be one YAML or JSON document; see line {line}, column {column}")]
    Syntax {
        /// The line, from 1.
        line: u64,
        /// The column, from 1.
        column: u64,
    },
    /// It breaks a limit or rule of the [reader](crate::yaml).
    #[error("the kubeconfig {rule}; see line {line}, column {column}")]
    Limit {
        /// The line, from 1.
        line: u64,
        /// The column, from 1.
        column: u64,
        /// The limit or rule.
        rule: String,
    },
    /// A field is missing or refused.
    #[error("{path}: {rule}")]
    Field {
        /// The field, such as `clusters[0].cluster.server`.
        path: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
}

impl From<Unreadable> for Invalid {
    fn from(Unreadable { place: Place { line, column }, rule }: Unreadable) -> Self {
        match rule {
            Some(rule) => Self::Limit { line, column, rule },
            None => Self::Syntax { line, column },
        }
    }
}

/// The [`Invalid::Field`] of a path and a rule.
pub(super) fn field(path: impl Into<String>, rule: &'static str) -> Invalid {
    Invalid::Field { path: path.into(), rule }
}

/// An entry of one of the lists of a kubeconfig: `clusters`, `contexts` or `users`.
pub(super) struct Entry {
    /// Its name.
    pub(super) name: String,
    /// The entry as it is written, name included.
    pub(super) body: Value,
}

/// Reads a whole kubeconfig. An empty text is an empty kubeconfig.
pub(super) fn parse(text: &Secret) -> Result<Map<String, Value>, Invalid> {
    let text = text.expose();
    if text.len() > KUBECONFIG_BYTES_MAX {
        return Err(Invalid::TooLarge);
    }
    let value: Value = yaml::read(text)?;
    let root = match value {
        Value::Null => Map::new(),
        Value::Object(root) => root,
        _ => return Err(field("", "a kubeconfig must be a mapping")),
    };
    for (member, expected, rule) in
        [("kind", "Config", "must be `Config`"), ("apiVersion", "v1", "must be `v1`")]
    {
        if text_of(root.get(member), || member.to_owned())?.is_some_and(|found| found != expected) {
            return Err(field(member, rule));
        }
    }
    Ok(root)
}

/// Takes a list out of a kubeconfig; a missing one is empty.
pub(super) fn take_entries(root: &mut Map<String, Value>, list: &str) -> Result<Vec<Entry>, Invalid> {
    let items = match root.remove(list) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(field(list, "must be a list")),
    };
    let entry = |(index, body): (usize, Value)| {
        let name = text_of(body.get("name"), || format!("{list}[{index}].name"))?.map(str::to_owned);
        let name = name.ok_or_else(|| field(format!("{list}[{index}].name"), "must be set"))?;
        Ok(Entry { name, body })
    };
    items.into_iter().enumerate().map(entry).collect()
}

/// A text; none when it is missing or empty, which mean the same in a kubeconfig.
pub(super) fn text_of(value: Option<&Value>, path: impl FnOnce() -> String) -> Result<Option<&str>, Invalid> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(field(path(), "must be a text")),
    }
}
