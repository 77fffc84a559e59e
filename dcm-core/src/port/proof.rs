//! Proof that the marks on an object are those that this installation wrote.
//!
//! Anyone that may change an object may write labels and annotations, and copy them from another one. So marks count only
//! with a *proof*: a message authentication code over the marks and the name of the object that carries them. Its key is a
//! secret of the installation; who can't read the installation's store can't make a proof.
//!
//! A proof shows that the marks were written for an object of this kind, namespace and name on this cluster. It does not show
//! that this is still the same object: that is what its UID is for, where it is recorded.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use super::cluster::{ClusterUid, Marks};
use crate::hexadecimal;
use crate::manifest::ObjectKey;
use crate::secret::Secret;

/// Annotation: the proof of an object's marks, as lower-case hexadecimal digits.
pub const ANNOTATION_PROOF: &str = "dcm.internal/proof";

/// Bytes of a key and of a proof.
pub const PROOF_BYTES: usize = hexadecimal::BYTES;

/// What is authenticated before everything else, so that a proof is no proof of something else under the same key.
const PURPOSE: &[u8] = b"dcm marks 2";

/// Proves marks: an HMAC-SHA-256.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Proof([u8; PROOF_BYTES]);

impl Proof {
    /// The proof that an object carries; none where it carries none, or something else.
    #[must_use]
    pub fn read(body: &Value) -> Option<Self> {
        hexadecimal::read(body["metadata"]["annotations"][ANNOTATION_PROOF].as_str()?).map(Self)
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hexadecimal::write(&self.0, f)
    }
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proof({self})")
    }
}

/// The key of an installation's proofs. Marks are proved for one cluster: [`ProofKey::on`].
#[derive(Clone)]
pub struct ProofKey(Arc<Hmac<Sha256>>);

/// The key of the proofs of one cluster's objects.
#[derive(Clone)]
pub struct ClusterProofKey {
    key: ProofKey,
    cluster: ClusterUid,
}

impl fmt::Debug for ProofKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProofKey(…)")
    }
}

impl fmt::Debug for ClusterProofKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterProofKey").field("cluster", &self.cluster.0).finish_non_exhaustive()
    }
}

impl ProofKey {
    /// A key of these bytes.
    #[must_use]
    pub fn new(bytes: &[u8; PROOF_BYTES]) -> Self {
        let mac = Hmac::new_from_slice(bytes);
        Self(Arc::new(mac.unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"))))
    }

    /// A key that is kept as text: 64 lower-case hexadecimal digits. None for another text.
    #[must_use]
    pub fn parse(text: &Secret) -> Option<Self> {
        hexadecimal::read(text.expose()).map(|bytes| Self::new(&bytes))
    }

    /// The text form of a key ([`ProofKey::parse`]).
    #[must_use]
    pub fn text_of(bytes: &[u8; PROOF_BYTES]) -> Secret {
        Secret::new(Proof(*bytes).to_string())
    }

    /// The key for the cluster with this UID, which each proof covers: marks that were copied from another cluster are not proved.
    #[must_use]
    pub fn on(&self, cluster: &ClusterUid) -> ClusterProofKey {
        ClusterProofKey { key: self.clone(), cluster: cluster.clone() }
    }
}

impl ClusterProofKey {
    /// The proof of these marks on this object.
    #[must_use]
    pub fn prove(&self, object: &ObjectKey, marks: &Marks) -> Proof {
        Proof(self.mac(object, marks).finalize().into_bytes().into())
    }

    /// True for an object whose body, or the metadata of that, has marks with their proof.
    #[must_use]
    pub fn proves(&self, object: &ObjectKey, body: &Value) -> bool {
        let (Some(marks), Some(Proof(proof))) = (Marks::read(body), Proof::read(body)) else { return false };
        self.mac(object, &marks).verify_slice(&proof).is_ok()
    }

    fn mac(&self, object: &ObjectKey, marks: &Marks) -> Hmac<Sha256> {
        let Marks { owner, context, generation, manifest, origin } = marks;
        let manifest = manifest.map(|hash| hash.to_string()).unwrap_or_default();
        let parts = [
            PURPOSE,
            self.cluster.0.as_bytes(),
            owner.as_str().as_bytes(),
            context.as_str().as_bytes(),
            &generation.0.to_be_bytes(),
            manifest.as_bytes(),
            origin.as_str().as_bytes(),
            object.group.as_bytes(),
            object.kind.as_bytes(),
            object.namespace.as_deref().unwrap_or_default().as_bytes(),
            object.name.as_bytes(),
        ];
        // Each part with its length: no two lists of parts are authenticated by the same bytes.
        parts.iter().fold((*self.key.0).clone(), |mac, part| {
            mac.chain_update((part.len() as u64).to_be_bytes()).chain_update(part)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::app_context::Generation;
    use crate::hash::ContentHash;
    use crate::manifest::{GroupVersionKind, Manifest};
    use crate::name::{ContextId, OwnerId};
    use crate::port::cluster::{Origin, Stamped};

    fn key() -> ClusterProofKey {
        key_of(7, "one")
    }

    fn key_of(byte: u8, cluster: &str) -> ClusterProofKey {
        ProofKey::new(&[byte; PROOF_BYTES]).on(&ClusterUid(cluster.into()))
    }

    fn marks() -> Marks {
        Marks {
            owner: OwnerId::new("dcm").unwrap(),
            context: ContextId::new("lc-1").unwrap(),
            generation: Generation(3),
            manifest: Some(ContentHash::of(&json!({}))),
            origin: Origin::Created,
        }
    }

    fn object_key(kind: &str, namespace: &str, name: &str) -> ObjectKey {
        ObjectKey::of_kind(&GroupVersionKind::new("", "v1", kind), Some(namespace), name)
    }

    /// True when the key proves an object with these marks and this proof.
    fn proves(key: &ClusterProofKey, object: &ObjectKey, marks: &Marks, proof: &str) -> bool {
        let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
        let (manifest, labels) = (Manifest::new(manifest).unwrap(), Arc::default());
        let mut body = Stamped { manifest, marks: marks.clone(), labels, proof: None }.body();
        body["metadata"]["annotations"][ANNOTATION_PROOF] = proof.into();
        key.proves(object, &body)
    }

    #[test]
    fn a_proof_holds_for_the_marks_and_the_object_that_it_was_made_for_and_for_no_other() {
        let at = object_key("ConfigMap", "n", "c");
        let proof = key().prove(&at, &marks()).to_string();
        assert!(proves(&key(), &at, &marks(), &proof));
        let other_marks = [
            Marks { owner: OwnerId::new("dcn").unwrap(), ..marks() },
            Marks { context: ContextId::new("lc-2").unwrap(), ..marks() },
            Marks { generation: Generation(4), ..marks() },
            Marks { manifest: None, ..marks() },
            Marks { manifest: Some(ContentHash::of(&json!([]))), ..marks() },
            Marks { origin: Origin::Adopted, ..marks() },
        ];
        for other in other_marks {
            assert!(!proves(&key(), &at, &other, &proof), "{other:?}");
        }
        let other_objects = [
            object_key("Secret", "n", "c"),
            object_key("ConfigMap", "m", "c"),
            object_key("ConfigMap", "n", "d"),
            object_key("ConfigMap", "nc", ""),
        ];
        for other in other_objects {
            assert!(!proves(&key(), &other, &marks(), &proof), "{other}");
        }
        for other_key in [key_of(8, "one"), key_of(7, "two"), key_of(7, "")] {
            assert!(!proves(&other_key, &at, &marks(), &proof));
        }
        for text in ["", "00", &proof[1..], &proof.to_uppercase(), &format!("{proof}0")] {
            assert!(!proves(&key(), &at, &marks(), text), "{text}");
        }
    }

    #[test]
    fn an_object_without_marks_proves_nothing() {
        let at = object_key("ConfigMap", "n", "c");
        let proof = key().prove(&at, &marks()).to_string();
        let body = json!({"metadata": {"annotations": {ANNOTATION_PROOF: proof}}});
        assert!(!key().proves(&at, &body));
    }

    #[test]
    fn a_key_is_kept_as_text_and_not_shown() {
        let text = ProofKey::text_of(&[7; PROOF_BYTES]);
        let read = ProofKey::parse(&text).unwrap();
        let at = object_key("ConfigMap", "n", "c");
        let on_cluster = read.on(&ClusterUid("one".into()));
        assert_eq!(on_cluster.prove(&at, &marks()), key().prove(&at, &marks()));
        assert_eq!(
            format!("{read:?} {on_cluster:?} {text:?}"),
            r#"ProofKey(…) ClusterProofKey { cluster: "one", .. } Secret(…)"#
        );
        assert!(ProofKey::parse(&Secret::new("07")).is_none());
    }
}
