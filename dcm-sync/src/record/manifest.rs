//! A manifest, as it is stored: the values of a Secret as secrets, which stores seal.

use dcm_core::manifest::{Manifest, secret_values};
use dcm_core::port::schema::ReadError;
use dcm_core::port::store::{Document, Entry, Error};
use dcm_core::secret::SECRET_MEMBER;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::{SCHEMA, Schema, read};

/// One distinct manifest, beside which stands its schema: a manifest itself is Kubernetes' and has no room for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StoredManifest {
    pub schema: Schema,
    #[serde(serialize_with = "serialize", deserialize_with = "deserialize")]
    pub manifest: Manifest,
}

fn serialize<S: Serializer>(manifest: &Manifest, serializer: S) -> Result<S::Ok, S::Error> {
    if !manifest.holds_secrets() {
        return manifest.serialize(serializer);
    }
    let mut body = manifest.body().clone();
    for value in secret_values(&mut body).filter(|value| value.is_string()) {
        *value = json!({SECRET_MEMBER: value.take()});
    }
    body.serialize(serializer)
}

fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Manifest, D::Error> {
    let mut body = Value::deserialize(deserializer)?;
    for value in secret_values(&mut body).filter(|value| value[SECRET_MEMBER].is_string()) {
        *value = value[SECRET_MEMBER].take();
    }
    Manifest::new(body).map_err(serde::de::Error::custom)
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
    fn the_values_of_a_secret_are_stored_as_secrets_and_come_back() {
        let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cacerts", "namespace": "n"},
            "type": "Opaque", "data": {"ca-key.pem": "a2V5"}, "stringData": {"other": "clear"}});
        let manifest = Manifest::new(body.clone()).unwrap();
        let document = manifest_document(&manifest).unwrap();
        let stored = document.read::<Value>().unwrap();
        assert_eq!(stored["manifest"]["data"], json!({"ca-key.pem": {"$secret": "a2V5"}}));
        assert_eq!(stored["manifest"]["stringData"], json!({"other": {"$secret": "clear"}}));
        assert_eq!(stored["manifest"]["metadata"], body["metadata"]);
        let read = read_manifest(&entry(document)).unwrap();
        assert_eq!((&read, read.hash()), (&manifest, manifest.hash()));
        // Data of other kinds is theirs.
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}});
        let stored =
            manifest_document(&Manifest::new(map.clone()).unwrap()).unwrap().read::<Value>().unwrap();
        assert_eq!(stored["manifest"], map);
    }

    #[test]
    fn a_stored_manifest_says_its_schema_and_one_of_another_schema_is_not_read() {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
        let manifest = Manifest::new(body.clone()).unwrap();
        let document = manifest_document(&manifest).unwrap();
        assert_eq!(document.read::<Value>().unwrap(), json!({"schema": 1, "manifest": body}));
        assert_eq!(read_manifest(&entry(document)).unwrap(), manifest);
        let later = Document::from_value(&json!({"schema": 2, "manifest": body})).unwrap();
        let error = read_manifest(&entry(later)).unwrap_err().to_string();
        assert!(error.contains("manifests/c/h has schema 2"), "{error}");
    }
}
