//! Whether the guard is in force on a cluster, by what the cluster does.
//!
//! A policy that is there may be bound to nobody, to another user, or only be reported on. So no policy is read: two writes that
//! the guard always refuses are rehearsed as the engine's user. Nothing is written, and no right is needed beyond those of the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Needs;
use super::guard::REFUSAL;
use crate::app_context::Generation;
use crate::manifest::Manifest;
use crate::name::ContextId;
use crate::port::cluster::{Access, Call, Cluster, Error, Marks, Origin, Stamped};

/// The name of what is rehearsed.
const REHEARSED: &str = "kube-dcm-guard";

/// Whether the engine's user is confined to its own namespaces and requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Guard {
    /// The cluster refuses, by the guard, what is not the engine's.
    InForce,
    /// The cluster lets the engine's user write outside its own namespaces.
    Absent,
    /// The cluster did not answer so that it can be known, or the user lacks the rights that the guard would confine.
    Unknown,
}

impl Guard {
    /// What two looks tell together: one write that passes is enough.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Absent, _) | (_, Self::Absent) => Self::Absent,
            (Self::InForce, Self::InForce) => Self::InForce,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
        }
    }

    /// What the answer to a rehearsal tells.
    fn told_by(answer: &Result<Value, Error>) -> Self {
        match answer {
            Err(Error::Forbidden { message }) if message.contains(REFUSAL) => Self::InForce,
            // Admission comes before a name that is taken.
            Ok(_) | Err(Error::AlreadyExists) => Self::Absent,
            Err(_) => Self::Unknown,
        }
    }
}

/// Rehearses what the guard refuses. Not asked is a user who lacks the rights for it, as RBAC refuses them first.
pub(super) async fn look(cluster: &dyn Cluster, call: &Call, needs: &Needs, missing: &[Access]) -> Guard {
    let writes = [
        ("namespaces", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": REHEARSED}})),
        (
            "serviceaccounts",
            json!({"apiVersion": "v1", "kind": "ServiceAccount",
                   "metadata": {"name": REHEARSED, "namespace": "kube-system"}}),
        ),
    ];
    let mut all = Guard::InForce;
    for (resource, body) in writes {
        let create = Access::new("create", "", resource);
        let is_known = needs.accesses().any(|need| *need == create) && !missing.contains(&create);
        let one = if is_known { rehearse(cluster, call, body).await } else { Guard::Unknown };
        all = all.and(one);
    }
    all
}

async fn rehearse(cluster: &dyn Cluster, call: &Call, body: Value) -> Guard {
    let (Ok(manifest), Ok(context)) = (Manifest::new(body), ContextId::new(REHEARSED)) else {
        return Guard::Unknown;
    };
    let marks = Marks {
        owner: call.owner.clone(),
        context,
        generation: Generation::default(),
        manifest: None,
        origin: Origin::Created,
    };
    let object = Stamped { manifest, marks, labels: Arc::new(BTreeMap::new()), proof: None };
    Guard::told_by(&cluster.rehearse(call, &object, None, false).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_by_the_guard_tells_that_it_is_in_force() {
        let forbidden = |message: String| Err(Error::Forbidden { message: message.into() });
        let by_guard = format!("ValidatingAdmissionPolicy 'dcm' denied request: {REFUSAL}a rule");
        for (answer, expected) in [
            (forbidden(by_guard), Guard::InForce),
            (forbidden("User cannot create".to_owned()), Guard::Unknown),
            (Ok(json!({})), Guard::Absent),
            (Err(Error::AlreadyExists), Guard::Absent),
            (Err(Error::Unsupported { what: "a dry run".to_owned() }), Guard::Unknown),
        ] {
            assert_eq!(Guard::told_by(&answer), expected, "{answer:?}");
        }
    }

    #[test]
    fn one_write_that_passes_is_enough_to_know_that_there_is_no_guard() {
        let all = [Guard::InForce, Guard::Absent, Guard::Unknown];
        for one in all {
            assert_eq!(one.and(Guard::Absent), Guard::Absent);
            assert_eq!(Guard::Absent.and(one), Guard::Absent);
            assert_eq!(one.and(Guard::InForce), one);
            assert_eq!(Guard::InForce.and(one), one);
        }
        assert_eq!(Guard::Unknown.and(Guard::Unknown), Guard::Unknown);
    }
}
