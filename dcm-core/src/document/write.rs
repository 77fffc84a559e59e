//! Writing a cloud as the document that makes it.

use crate::logical_cloud::LogicalCloud;

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
    serde_saphyr::to_string(&Written::from(cloud))
        .map_err(|error| WriteError { form: "YAML", source: error.to_string().into() })
}

/// Writes a cloud as a JSON document in canonical form: [`parse`](super::parse()) reads the same cloud from it.
///
/// # Errors
/// [`WriteError`] when the writer fails, which no valid cloud makes it do.
pub fn to_json(cloud: &LogicalCloud) -> Result<String, WriteError> {
    serde_json::to_string_pretty(&Written::from(cloud))
        .map_err(|error| WriteError { form: "JSON", source: error.into() })
}
