//! Writing a cloud as the document that makes it.

use crate::logical_cloud::LogicalCloud;
use crate::yaml;

use super::written::Written;

/// Why a cloud can't be written as a document.
#[derive(Debug, thiserror::Error)]
#[error("the logical cloud can't be written as {form}")]
pub struct WriteError {
    /// `YAML` or `JSON`.
    pub form: &'static str,
    /// What the writer said.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Writes a cloud as a YAML document in canonical form: [`parse`](super::parse()) reads the same cloud from it.
///
/// # Errors
/// [`WriteError`] when the writer fails, which no valid cloud makes it do.
pub fn to_yaml(cloud: &LogicalCloud) -> Result<String, WriteError> {
    yaml::write(&Written::from(cloud)).map_err(|error| WriteError { form: "YAML", source: error.into() })
}

/// Writes a cloud as a JSON document in canonical form: [`parse`](super::parse()) reads the same cloud from it.
///
/// # Errors
/// [`WriteError`] when the writer fails, which no valid cloud makes it do.
pub fn to_json(cloud: &LogicalCloud) -> Result<String, WriteError> {
    let text = serde_json::to_string_pretty(&Written::from(cloud))
        .map_err(|error| WriteError { form: "JSON", source: error.into() })?;
    Ok(escaped(&text))
}

/// Writes characters that JSON takes as they are, but many readers of YAML don't, as escapes. Outside of texts JSON has
/// none of them.
fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}
