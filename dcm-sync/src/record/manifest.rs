//! A manifest, as it is stored.

use dcm_core::manifest::Manifest;
use dcm_core::port::schema::ReadError;
use dcm_core::port::store::{Document, Entry, Error};
use serde::{Deserialize, Serialize};

use super::{SCHEMA, Schema, read};

/// One distinct manifest, beside which stands its schema: a manifest itself is Kubernetes' and has no room for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StoredManifest {
    pub schema: Schema,
    pub manifest: Manifest,
}

/// The document of a manifest.
pub(crate) fn manifest_document(manifest: &Manifest) -> Result<Document, Error> {
    Document::from_value(&StoredManifest { schema: SCHEMA, manifest: manifest.clone() })
}

/// Reads the document of a manifest.
pub(crate) fn read_manifest(entry: &Entry) -> Result<Manifest, Error> {
    read::<StoredManifest>(entry).map(|stored| stored.manifest)
}

/// The same, with the schema in the error.
pub(crate) fn manifest_of(entry: &Entry) -> Result<Manifest, ReadError> {
    Schema::read::<StoredManifest>(entry).map(|stored| stored.manifest)
}

#[cfg(test)]
mod tests {
    use dcm_core::port::store::{Path, Version};
    use serde_json::json;

    use super::*;

    fn entry(document: Document) -> Entry {
        Entry { path: Path::new("manifests/c/h").unwrap(), version: Version(1), document }
    }

    #[test]
    fn a_stored_manifest_says_its_schema_and_one_of_another_schema_is_not_read() {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
        let manifest = Manifest::new(body.clone()).unwrap();
        let document = manifest_document(&manifest).unwrap();
        assert_eq!(document.read::<serde_json::Value>().unwrap(), json!({"schema": 1, "manifest": body}));
        assert_eq!(read_manifest(&entry(document)).unwrap(), manifest);
        let later = Document::from_value(&json!({"schema": 2, "manifest": body})).unwrap();
        let error = read_manifest(&entry(later)).unwrap_err().to_string();
        assert!(error.contains("manifests/c/h has schema 2"), "{error}");
    }
}
