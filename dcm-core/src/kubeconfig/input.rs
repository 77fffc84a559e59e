//! Reading of kubeconfigs that come from outside: encoding, sizes, syntax and shape, with errors that show no content.

use serde_json::{Map, Value};

#[cfg(feature = "logical-cloud")]
use super::form::name_of;
use super::{form, go_yaml};
use crate::secret::Secret;
use crate::yaml::{Place, Unreadable};

/// Largest kubeconfig that is read, in bytes. One cluster takes about 6 KiB; a person may have many hundreds.
pub const KUBECONFIG_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Most duplicate keys whose places are named.
const NAMED_DOUBLES_MAX: usize = 10;

/// Why a kubeconfig can't be used. No variant holds any of its content; the same text is refused again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It is over [`KUBECONFIG_BYTES_MAX`].
    #[error("the kubeconfig must be at most 8 MiB")]
    TooLarge,
    /// It isn't well-formed YAML or JSON.
    #[error("the kubeconfig must be well-formed YAML or JSON; see line {line}, column {column}")]
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
    /// It is no text in UTF-8.
    #[error("the kubeconfig must be UTF-8, and is {encoding}: convert it first")]
    Encoding {
        /// The encoding that it seems to have.
        encoding: &'static str,
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
#[cfg(feature = "logical-cloud")]
pub(super) struct Entry {
    /// Its name.
    pub(super) name: String,
    /// The entry as it is written, name included.
    pub(super) body: Value,
}

/// Takes the content of a file as text. A byte order mark of UTF-8 is passed over.
///
/// # Errors
/// [`Invalid::Encoding`].
pub fn decode(bytes: Vec<u8>) -> Result<Secret, Invalid> {
    let encoding = match *bytes {
        // The first two are how the others begin, too.
        [0xff, 0xfe, 0, 0, ..] => "UTF-32, little endian",
        [0, 0, 0xfe, 0xff, ..] => "UTF-32, big endian",
        [0xff, 0xfe, ..] => "UTF-16, little endian",
        [0xfe, 0xff, ..] => "UTF-16, big endian",
        [0, first, 0, second, ..] if first != 0 && second != 0 => "UTF-16, big endian",
        [first, 0, second, 0, ..] if first != 0 && second != 0 => "UTF-16, little endian",
        _ => match String::from_utf8(bytes) {
            Ok(text) => return Ok(Secret::new(text.strip_prefix('\u{feff}').unwrap_or(&text))),
            Err(_) => "in another encoding, such as Latin-1 or Windows-1252",
        },
    };
    Err(Invalid::Encoding { encoding })
}

/// What a file has.
pub(super) struct Parsed {
    /// Its fields, as they are written.
    pub(super) root: Map<String, Value>,
    /// What client-go ignores silently.
    pub(super) warnings: Vec<String>,
}

/// Reads a whole kubeconfig as client-go does. An empty text is an empty kubeconfig.
pub(super) fn parse(text: &Secret) -> Result<Parsed, Invalid> {
    let text = text.expose();
    if text.len() > KUBECONFIG_BYTES_MAX {
        return Err(Invalid::TooLarge);
    }
    let reading = go_yaml::read(text)?;
    if !(reading.value.is_object() || reading.value.is_null()) {
        return Err(field("", "a kubeconfig must be a mapping"));
    }
    form::check(&reading.value, &form::CONFIG, "")?;
    let root = match reading.value {
        Value::Object(root) => root,
        _ => Map::new(),
    };
    for (member, expected, rule) in
        [("kind", "Config", "must be `Config`"), ("apiVersion", "v1", "must be `v1`")]
    {
        if text_of(root.get(member), || member.to_owned())?.is_some_and(|found| found != expected) {
            return Err(field(member, rule));
        }
    }
    let doubled = reading.doubled.iter().take(NAMED_DOUBLES_MAX);
    let mut warnings: Vec<_> =
        doubled.map(|place| format!("{place}: duplicate key; the last value is used")).collect();
    let more = reading.doubled.len().saturating_sub(NAMED_DOUBLES_MAX);
    warnings.extend((more > 0).then(|| format!("{more} more duplicate keys")));
    warnings.extend(reading.has_more.then(|| "only the first document of the file is read".to_owned()));
    Ok(Parsed { root, warnings })
}

/// Takes a list out of a kubeconfig; a missing one is empty, and an entry without a name has the empty one.
#[cfg(feature = "logical-cloud")]
pub(super) fn take_entries(root: &mut Map<String, Value>, list: &str) -> Result<Vec<Entry>, Invalid> {
    let items = match root.remove(list) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(field(list, "must be a list")),
    };
    Ok(items.into_iter().map(|body| Entry { name: name_of(&body).to_owned(), body }).collect())
}

/// A text; none when it is missing or empty, which mean the same in a kubeconfig.
pub(super) fn text_of(value: Option<&Value>, path: impl FnOnce() -> String) -> Result<Option<&str>, Invalid> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(field(path(), "must be a text")),
    }
}
