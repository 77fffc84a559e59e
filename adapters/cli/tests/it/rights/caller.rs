//! Somebody who sends requests to one cluster with a kubeconfig.

use http::{Method, Request, StatusCode, header};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::rights::answer::Answer;
use crate::rights::asked::{Asked, PROBE, Resource, Verb};

/// A user at a cluster.
pub(crate) struct Caller {
    pub(crate) user: String,
    pub(crate) cluster: String,
    /// The kubeconfig, with the context of the cluster as the current one.
    kubeconfig: Kubeconfig,
    client: Client,
}

impl Caller {
    /// With the current context of a kubeconfig.
    pub(crate) async fn new(user: &str, cluster: &str, kubeconfig: Kubeconfig) -> Self {
        let options = KubeConfigOptions::default();
        let mut config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await.unwrap();
        // Neither the environment nor a second try may change what is answered.
        (config.proxy_url, config.default_retry) = (None, false);
        let client = Client::try_from(config).unwrap();
        Self { user: user.to_owned(), cluster: cluster.to_owned(), kubeconfig, client }
    }

    /// The same credential, shown to another cluster.
    pub(crate) async fn moved(&self, cluster: &dcm_testenv::Cluster) -> Self {
        let there = Kubeconfig::from_yaml(&cluster.admin_kubeconfig(dcm_testenv::Route::Direct)).unwrap();
        let place = there.clusters.into_iter().next().unwrap().cluster;
        let mut kubeconfig = self.kubeconfig.clone();
        kubeconfig.clusters.iter_mut().for_each(|named| named.cluster.clone_from(&place));
        Self::new(&self.user, cluster.name(), kubeconfig).await
    }

    pub(crate) async fn ask(&self, asked: &Asked) -> Answer {
        let (code, body) = self.send(request(asked)).await;
        Answer::of(asked, code, &body)
    }

    /// Sends a request. The body of a success is not read: that of a watch has no end.
    pub(crate) async fn send(&self, request: Request<Body>) -> (StatusCode, Vec<u8>) {
        let response = self.client.send(request).await.unwrap();
        let code = response.status();
        if code.is_success() {
            return (code, Vec::new());
        }
        (code, response.into_body().collect_bytes().await.unwrap().to_vec())
    }
}

/// The request as HTTP; it changes nothing.
fn request(asked: &Asked) -> Request<Body> {
    match asked {
        Asked::Path(path) => Request::get(*path).body(Body::empty()).unwrap(),
        Asked::Object { verb, resource, namespace, name } => {
            let name = name.as_deref();
            let in_path = if resource.is_named_by(*verb) { name } else { None };
            let mut uri = path(resource, namespace.as_deref(), in_path);
            uri.push_str(&query(*verb, name));
            let (method, media) = method(*verb);
            let request = Request::builder().method(method).uri(uri).header(header::CONTENT_TYPE, media);
            request.body(body(*verb, resource, name.unwrap_or(PROBE))).unwrap()
        }
    }
}

fn path(resource: &Resource, namespace: Option<&str>, name: Option<&str>) -> String {
    let Resource { group, version, plural, subresource, .. } = resource;
    let mut path =
        if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    let namespace = namespace.map(|namespace| ["namespaces", namespace]).into_iter().flatten();
    for part in namespace.chain([*plural]).chain(name).chain(*subresource) {
        path.push('/');
        path.push_str(part);
    }
    path
}

/// The name of one object among all is a field selector.
fn query(verb: Verb, name: Option<&str>) -> String {
    let selector = name.map(|name| format!("&fieldSelector=metadata.name%3D{name}")).unwrap_or_default();
    match verb {
        Verb::Get => String::new(),
        Verb::List => format!("?limit=1{selector}"),
        Verb::Watch => format!("?watch=true&timeoutSeconds=1{selector}"),
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete | Verb::DeleteCollection => {
            "?dryRun=All".to_owned()
        }
    }
}

fn method(verb: Verb) -> (Method, &'static str) {
    let json = "application/json";
    match verb {
        Verb::Get | Verb::List | Verb::Watch => (Method::GET, json),
        Verb::Create => (Method::POST, json),
        Verb::Update => (Method::PUT, json),
        Verb::Patch => (Method::PATCH, "application/merge-patch+json"),
        Verb::Delete | Verb::DeleteCollection => (Method::DELETE, json),
    }
}

/// As much of an object as the API server has to have to understand it.
fn body(verb: Verb, resource: &Resource, name: &str) -> Body {
    let (version, kind) = resource.body;
    let body = match verb {
        Verb::Patch => json!({"metadata": {"labels": {"rights": "probe"}}}),
        Verb::Create if kind.ends_with("AccessReview") => review(version, kind),
        Verb::Create | Verb::Update => object(version, kind, name),
        Verb::Get | Verb::List | Verb::Watch | Verb::Delete | Verb::DeleteCollection => return Body::empty(),
    };
    body.to_string().into_bytes().into()
}

/// A role has a rule that most users don't have, so that Kubernetes doesn't let them give it.
fn object(version: &str, kind: &str, name: &str) -> Value {
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
    if kind.ends_with("Role") {
        object["rules"] = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["impersonate"]}]);
    }
    object
}

fn review(version: &str, kind: &str) -> Value {
    let attributes = json!({"verb": "get", "resource": "pods"});
    json!({"apiVersion": version, "kind": kind, "spec": {"user": "somebody", "resourceAttributes": attributes}})
}
