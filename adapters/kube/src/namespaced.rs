//! Rights that are needed in one namespace alone: the caller gives them to itself there.
//!
//! Only the ClusterRole [`NAMESPACE_ROLE`] lets the engine list all kinds of objects and make tokens. The engine may bind that role. Before such
//! a request, a review shows whether the caller has the right in all namespaces, as an administrator does; the answer is kept for the
//! connection. If not, a review shows whether the caller has the right in the one namespace. If not, the RoleBinding
//! [`NAMESPACE_BINDING`] is written there.
//!
//! The content of that binding is never trusted. If it binds the role, its subjects are replaced by the caller alone. So a kubeconfig with another
//! user needs nothing else. A binding of another role is not the engine's, and stays as it is.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dcm_core::port::cluster::{Access, Call, Error, FIELD_MANAGER, NAMESPACE_BINDING, NAMESPACE_ROLE};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::resource::{Resource, escape};
use crate::transport::{Request, Transport};
use crate::{review, whoami};

const RBAC: &str = "rbac.authorization.k8s.io";

/// How long a cluster may take until a new binding is in effect: its API servers follow bindings by watches.
const EFFECT_WAIT_MAX: Duration = Duration::from_secs(5);

/// The pause between two looks whether it does.
const EFFECT_LOOK_PAUSE: Duration = Duration::from_millis(50);

/// A right that is needed in one namespace alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Right {
    /// To make tokens.
    Token,
    /// To list all kinds of objects.
    List,
}

impl Right {
    fn access(self, namespace: Option<&str>) -> Access {
        let [token, list] = Access::in_namespaces();
        let access = match self {
            Self::Token => token,
            Self::List => list,
        };
        Access { namespace: namespace.map(Into::into), ..access }
    }
}

/// Whether the caller has the rights in all namespaces, as far as it was asked. An administrator has, and so needs no review for
/// each namespace.
#[derive(Debug, Default)]
pub(crate) struct ClusterWideRights(Mutex<BTreeMap<Right, bool>>);

impl ClusterWideRights {
    /// Sees to it that the caller has a right in a namespace, and makes the request that needs it.
    pub(crate) async fn request<T, F: Future<Output = Result<T, Error>>>(
        &self,
        transport: &Transport,
        call: &Call,
        right: Right,
        namespace: &str,
        request: impl Fn() -> F,
    ) -> Result<T, Error> {
        if self.holds(transport, call, right).await? {
            match request().await {
                // It was taken away. From now on each namespace is asked for.
                Err(Error::Forbidden { .. }) => {
                    self.known().insert(right, false);
                }
                answered => return answered,
            }
        }
        enter(transport, call, right, namespace).await?;
        request().await
    }

    async fn holds(&self, transport: &Transport, call: &Call, right: Right) -> Result<bool, Error> {
        let known = self.known().get(&right).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let holds = review::review(transport, call, &[right.access(None)]).await? == [true];
        self.known().insert(right, holds);
        Ok(holds)
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Right, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sees to it that the caller has a right in a namespace.
async fn enter(transport: &Transport, call: &Call, right: Right, namespace: &str) -> Result<(), Error> {
    let asked = [right.access(Some(namespace))];
    let has_it = async || Ok::<_, Error>(review::review(transport, call, &asked).await? == [true]);
    if has_it().await? {
        return Ok(());
    }
    bind(transport, call, namespace).await.map_err(|error| unbound(error, &asked[0], namespace))?;
    let written = Instant::now();
    while !has_it().await? {
        if written.elapsed() > EFFECT_WAIT_MAX {
            return Err(Error::Forbidden { message: without_effect(namespace).into() });
        }
        sleep(EFFECT_LOOK_PAUSE).await;
    }
    Ok(())
}

/// Names the right for which the binding was to be written.
fn unbound(error: Error, right: &Access, namespace: &str) -> Error {
    match error {
        Error::Forbidden { message } => {
            let Access { verb, resource, .. } = right;
            let message = format!(
                "the right to {verb} {resource} in namespace {namespace} is missing, and RoleBinding {NAMESPACE_BINDING} can't give it: \
                 {message}"
            );
            Error::Forbidden { message: message.into() }
        }
        other => other,
    }
}

fn without_effect(namespace: &str) -> String {
    format!(
        "RoleBinding {namespace}/{NAMESPACE_BINDING} does not give the rights of ClusterRole {NAMESPACE_ROLE}; \
         dcm cluster role prints that ClusterRole"
    )
}

/// Gives up what the binding gave.
pub(crate) async fn leave(transport: &Transport, call: &Call, namespace: &str) -> Result<(), Error> {
    let path = path(namespace);
    let live: Value = match transport.send(call, Request::get(path.clone())).await.map_err(Error::from) {
        Ok(answer) => answer.read().await?,
        // An administrator of namespaces that sees no bindings has made none.
        Err(Error::NotFound | Error::Forbidden { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    if !binds_role(&live) {
        return Ok(());
    }
    let metadata = &live["metadata"];
    let options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]},
    });
    match transport.send(call, Request::delete(path, options)).await.map_err(Error::from) {
        Ok(_) | Err(Error::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

/// True where the binding of that name is the one that the engine writes.
pub(crate) async fn is_own(transport: &Transport, call: &Call, namespace: &str) -> Result<bool, Error> {
    match transport.send(call, Request::get(path(namespace))).await.map_err(Error::from) {
        Ok(answer) => Ok(binds_role(&answer.read().await?)),
        Err(Error::NotFound | Error::Forbidden { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes the binding for the caller.
async fn bind(transport: &Transport, call: &Call, namespace: &str) -> Result<(), Error> {
    let user = whoami::whoami(transport, call).await?;
    let options = format!("fieldManager={FIELD_MANAGER}&fieldValidation=Strict");
    let creation = Request::post(
        format!("{}?{options}", bindings().collection(Some(namespace))),
        binding(namespace, &user),
    );
    match transport.send(call, creation).await.map_err(Error::from) {
        Ok(_) => return Ok(()),
        Err(Error::AlreadyExists) => {}
        Err(error) => return Err(error),
    }
    let path = path(namespace);
    let mut live: Value = transport.send(call, Request::get(path.clone())).await?.read().await?;
    if !binds_role(&live) {
        let message = format!(
            "RoleBinding {namespace}/{NAMESPACE_BINDING} binds another role than {NAMESPACE_ROLE}, so it is not the engine's; delete it"
        );
        return Err(Error::Forbidden { message: message.into() });
    }
    let subjects = json!([subject(&user)]);
    if live["subjects"] == subjects {
        return Ok(());
    }
    live["subjects"] = subjects;
    transport.send(call, Request::put(format!("{path}?{options}"), live)).await?;
    Ok(())
}

fn bindings() -> Resource {
    Resource { group: RBAC.into(), version: "v1".into(), plural: "rolebindings".into(), namespaced: true }
}

fn path(namespace: &str) -> String {
    format!("{}/{}", bindings().collection(Some(namespace)), escape(NAMESPACE_BINDING))
}

fn binding(namespace: &str, user: &str) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "RoleBinding",
        "metadata": {
            "name": NAMESPACE_BINDING,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": FIELD_MANAGER},
        },
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAMESPACE_ROLE},
        "subjects": [subject(user)],
    })
}

/// A ServiceAccount is a user, too: `system:serviceaccount:NAMESPACE:NAME`.
fn subject(user: &str) -> Value {
    json!({"apiGroup": RBAC, "kind": "User", "name": user})
}

fn binds_role(binding: &Value) -> bool {
    let role = &binding["roleRef"];
    role["apiGroup"] == RBAC && role["kind"] == "ClusterRole" && role["name"] == NAMESPACE_ROLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_binding_of_the_role_for_namespaces_is_the_engines() {
        assert!(binds_role(&binding("n", "u")));
        for (member, value) in [("kind", "Role"), ("name", "cluster-admin"), ("apiGroup", "")] {
            let mut other = binding("n", "u");
            other["roleRef"][member] = value.into();
            assert!(!binds_role(&other), "{member}");
        }
    }

    #[test]
    fn the_path_of_the_binding_has_its_colon_escaped() {
        assert_eq!(path("n"), "/apis/rbac.authorization.k8s.io/v1/namespaces/n/rolebindings/dcm%3Aengine");
    }
}
