//! Everything that an API server holds, whatever its resource.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dcm_testenv::effort::patience;
use dcm_testenv::{Cluster, Route};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;

/// The objects of a server by where they are: path of group and version, resource, namespace and name.
pub(crate) type Inventory = BTreeMap<String, Value>;

/// What the servers themselves write all the time: signs of life, and news.
const NEVER_AT_REST: [&str; 2] = [" leases ", " events "];

/// Reads every object of every resource that can be listed, in every version of every group, in all namespaces; or
/// those that a label selector picks.
pub(crate) async fn everything(cluster: &Cluster, selector: Option<&str>) -> Inventory {
    let server = Server::of(cluster).await;
    let mut inventory = Inventory::new();
    for version in server.group_versions().await {
        for resource in listable(&server.get(&version).await) {
            inventory.extend(server.list(&version, &resource, selector).await);
        }
    }
    inventory
}

/// The objects of one resource, such as `/api/v1` and `namespaces`, or those that a label selector picks.
pub(crate) async fn objects_of(
    cluster: &Cluster,
    version: &str,
    resource: &str,
    selector: Option<&str>,
) -> Inventory {
    Server::of(cluster).await.list(version, resource, selector).await
}

/// How long nothing changes where all controllers are done: they write within moments of what they react to.
const REST: Duration = Duration::from_millis(500);

/// Reads everything of each cluster, but for what changes all the time, until two readings, a while apart, are equal: no controller still
/// reacts to what was done before.
pub(crate) async fn everything_at_rest(clusters: &[Cluster]) -> Vec<Inventory> {
    let started = tokio::time::Instant::now();
    let mut before = everything_that_rests(clusters).await;
    loop {
        tokio::time::sleep(REST).await;
        let now = everything_that_rests(clusters).await;
        if now == before {
            return now;
        }
        if started.elapsed() > patience() {
            assert_same(&before, &now);
        }
        before = now;
    }
}

async fn everything_that_rests(clusters: &[Cluster]) -> Vec<Inventory> {
    let mut all = Vec::new();
    for cluster in clusters {
        let mut inventory = everything(cluster, None).await;
        inventory.retain(|place, _| !NEVER_AT_REST.iter().any(|resource| place.contains(resource)));
        all.push(inventory);
    }
    all
}

/// The same where one object counts by what it says, and not by how often it was written.
pub(crate) fn with_any_version_of(place: &str, mut all: Vec<Inventory>) -> Vec<Inventory> {
    for object in all.iter_mut().filter_map(|inventory| inventory.get_mut(place)) {
        object["metadata"]["resourceVersion"] = "any".into();
    }
    all
}

/// Fails with what differs, and no more: a whole inventory would say nothing to anybody.
#[track_caller]
pub(crate) fn assert_same(before: &[Inventory], after: &[Inventory]) {
    for (before, after) in before.iter().zip(after) {
        let places: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differing = places.into_iter().filter(|place| before.get(*place) != after.get(*place));
        let told = differing
            .map(|place| format!("{place}\n  was {:?}\n  is  {:?}\n", before.get(place), after.get(place)));
        let told: String = told.collect();
        assert!(told.is_empty(), "{told}");
    }
}

/// Everything in an object that says that it is, or was, ours.
pub(crate) fn traces(object: &Value) -> Vec<String> {
    let metadata = &object["metadata"];
    let keys = ["labels", "annotations"].into_iter().filter_map(|member| metadata[member].as_object());
    let ours = keys.flatten().map(|(key, _)| key.clone()).filter(|key| key.contains("dcm"));
    let managers = metadata["managedFields"].as_array().into_iter().flatten();
    let managers = managers.filter(|entry| entry["manager"] == "dcm").map(ToString::to_string);
    ours.chain(managers).collect()
}

/// The resources of a group and version that can be listed, by their document of discovery.
fn listable(discovered: &Value) -> Vec<String> {
    let resources = discovered["resources"].as_array().unwrap().iter();
    let listable =
        resources.filter(|resource| resource["verbs"].as_array().unwrap().contains(&"list".into()));
    listable.map(|resource| resource["name"].as_str().unwrap().to_owned()).collect()
}

/// A server, read as its administrator.
struct Server(Client);

impl Server {
    async fn of(cluster: &Cluster) -> Self {
        let kubeconfig = Kubeconfig::from_yaml(&cluster.admin_kubeconfig(Route::Direct)).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        Self(Client::try_from(config).unwrap())
    }

    async fn get(&self, path: &str) -> Value {
        self.0.request(http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap()
    }

    async fn list(&self, version: &str, resource: &str, selector: Option<&str>) -> Inventory {
        let query = selector.map(|selector| format!("?labelSelector={selector}")).unwrap_or_default();
        let mut list = self.get(&format!("{version}/{resource}{query}")).await;
        let objects = list["items"].as_array_mut().unwrap().drain(..);
        let placed = objects.map(|object| {
            let text = |member: &str| object["metadata"][member].as_str().unwrap_or_default();
            (format!("{version} {resource} {}/{}", text("namespace"), text("name")), object)
        });
        placed.collect()
    }

    /// The path of every version of every group.
    async fn group_versions(&self) -> Vec<String> {
        let core = self.get("/api").await;
        let core = core["versions"].as_array().unwrap().iter();
        let core = core.map(|version| format!("/api/{}", version.as_str().unwrap()));
        let groups = self.get("/apis").await;
        let groups = groups["groups"].as_array().unwrap().iter();
        let versions = groups.flat_map(|group| group["versions"].as_array().unwrap());
        let others = versions.map(|one| format!("/apis/{}", one["groupVersion"].as_str().unwrap()));
        core.chain(others).collect()
    }
}
