//! What a project admin may not grant, by each way that could grant it, in both dialects.

use serde_json::{Value, json};

use crate::access::callers::{Guarded, Headers};
use crate::common::UNREACHABLE;
use crate::common::server::{Listener, Server};

pub(crate) const CLOUDS: &str = "/v2/projects/shop-1/logical-clouds";

/// Verbs that stand for all others, or by which more rights are got than were given.
const STRONG: [&str; 4] = ["*", "bind", "escalate", "impersonate"];

/// By a label like this Kubernetes decides what may be in a namespace.
const LABEL: (&str, &str) = ("pod-security.kubernetes.io/enforce", "privileged");

/// A request that grants something: its first line, and its body.
pub(crate) type Request = (String, Value);

/// A server in both dialects, with a project that the admin has a role in.
pub(crate) struct Shop {
    server: Server,
    headers: Headers,
}

impl Shop {
    pub(crate) fn new() -> Self {
        let options = ["--listen", "127.0.0.1:0", "--emco-listen", "127.0.0.1:0"];
        let (server, headers) = Guarded::new().serve_with(&options);
        let shop = Self { server, headers };
        let project = json!({"metadata": {"name": "shop-1"}});
        assert_eq!(shop.status("platform", shop.documented(), &("POST /v2/projects".into(), project)), "201");
        shop
    }

    /// Registers a cluster: what has none is not planned.
    pub(crate) fn register(&self) {
        let provider = ("POST /v2/cluster-providers".into(), json!({"metadata": {"name": "edge"}}));
        assert_eq!(self.status("platform", self.documented(), &provider), "201");
        let line = "POST /v2/cluster-providers/edge/clusters?unchecked=true".to_owned();
        let cluster = json!({"metadata": {"name": "berlin"}, "spec": {"kubeconfig": UNREACHABLE}});
        assert_eq!(self.status("platform", self.documented(), &(line, cluster)), "201");
    }

    pub(crate) fn documented(&self) -> Listener {
        self.server.listeners()[0]
    }

    pub(crate) fn emco(&self) -> Listener {
        self.server.listeners()[1]
    }

    pub(crate) fn ask(&self, caller: &str, listener: Listener, (line, body): &Request) -> String {
        listener.ask(&format!("{line}\n{}\n\n{body}", self.headers.of(caller)))
    }

    pub(crate) fn status(&self, caller: &str, listener: Listener, grant: &Request) -> String {
        self.ask(caller, listener, grant)[..3].to_owned()
    }

    /// All that is stored of the project's logical clouds, and of their history.
    pub(crate) fn stored(&self) -> Vec<String> {
        let get =
            |path: String| self.documented().ask(&format!("GET {path}\n{}", self.headers.of("platform")));
        let list = get(CLOUDS.to_owned());
        let (_, page) = list.split_once("\n\n").unwrap();
        let page: Value = serde_json::from_str(page).unwrap();
        let clouds = page["items"].as_array().unwrap().iter();
        let names = clouds.map(|cloud| cloud["metadata"]["name"].as_str().unwrap());
        let documents = names.map(|name| get(format!("{CLOUDS}/{name}/document")));
        documents.chain([list.clone()]).collect()
    }

    /// Stops the server.
    pub(crate) fn end(self) {
        self.server.stop();
    }

    /// The admin is refused each of them, and it leaves nothing; a platform admin is not.
    fn hold(&self, listener: Listener, grants: &[Request]) {
        for grant in grants {
            let before = self.stored();
            let refused = self.ask("admin", listener, grant);
            assert!(
                refused.starts_with("403\n") && refused.contains("can't be granted"),
                "{grant:?}: {refused}"
            );
            assert_eq!(self.stored(), before, "{grant:?}");
        }
        for grant in grants {
            let done = self.ask("platform", listener, grant);
            assert!(done.starts_with('2'), "{grant:?}: {done}");
        }
    }
}

fn rule(verb: &str) -> Value {
    json!({"apiGroups": [""], "resources": ["pods"], "verbs": [verb]})
}

/// What a logical cloud of the documented dialect says that grants something, where it can, and what a declarative document says.
fn specifications() -> Vec<(Option<Value>, Value)> {
    let level = json!({"level": "privileged"});
    let labels = json!({"labels": {LABEL.0: LABEL.1}});
    let of_verb = |verb: &str| {
        let named = |field: &str| {
            let mut permission = rule(verb);
            permission[field] = "strong".into();
            permission
        };
        let user = json!({"user-name": "seller", "user-permissions": [named("permission-name")]});
        (Some(json!({"user": user})), json!({"users": [{"name": "seller"}], "permissions": [named("name")]}))
    };
    let verbs = STRONG.map(of_verb);
    let policies = json!({"objectPolicies": {"Namespace": {"existing": "adopt"}}});
    let others = [(Some(labels.clone()), labels), (Some(level.clone()), level), (None, policies)];
    verbs.into_iter().chain(others).collect()
}

/// Each way to each right, of a logical cloud and its documents. Those that change one have one each, `stall-0` and so on.
fn of_clouds() -> Vec<Request> {
    let mut grants = Vec::new();
    for (number, (spec, document)) in specifications().into_iter().enumerate() {
        let (new, stall) = (format!("new-{number}"), format!("stall-{number}"));
        let whole = |name: &str| {
            let (metadata, mut document) = (json!({"name": name}), document.clone());
            document["clusters"] = json!([{"provider": "edge", "cluster": "berlin"}]);
            json!({"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": metadata, "spec": document})
        };
        if let Some(spec) = spec {
            grants.extend([
                (format!("POST {CLOUDS}"), json!({"metadata": {"name": new}, "spec": spec})),
                (format!("PUT {CLOUDS}/put-{number}"), json!({"spec": spec})),
                (format!("PUT {CLOUDS}/{stall}"), json!({"spec": spec})),
            ]);
        }
        grants.extend([
            (format!("POST {CLOUDS}/{stall}/plan"), whole(&stall)),
            (format!("POST {CLOUDS}/plan-{number}/plan"), whole(&format!("plan-{number}"))),
            (format!("PUT {CLOUDS}/{stall}/document?dry-run=true"), whole(&stall)),
            (format!("PUT {CLOUDS}/{stall}/document"), whole(&stall)),
            (format!("PUT {CLOUDS}/whole-{number}/document"), whole(&format!("whole-{number}"))),
            (
                format!("PUT {CLOUDS}/applied-{number}/document?apply=true"),
                whole(&format!("applied-{number}")),
            ),
        ]);
    }
    grants
}

/// Each way to a user permission: with a verb in `till`, where the permission `look` is, and with any in the privileged `high`.
fn of_permissions() -> Vec<Request> {
    let of = |cloud: &str, name: String, verb: &str| {
        let all = format!("{CLOUDS}/{cloud}/user-permissions");
        let changed = format!("PUT {all}/look");
        let made = json!({"metadata": {"name": name}, "spec": rule(verb)});
        [(format!("POST {all}"), made), (changed, json!({"spec": rule(verb)}))]
    };
    let strong = STRONG.iter().enumerate().flat_map(|(number, verb)| of("till", format!("p-{number}"), verb));
    strong.chain(of("high", "p".to_owned(), "list")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_admin_grants_no_such_rights_by_any_way_of_the_documented_dialect() {
    let shop = Shop::new();
    shop.register();
    let weak = json!({"user": {"user-name": "seller", "user-permissions": []}});
    let stalls = (0..specifications().len()).map(|number| format!("stall-{number}"));
    for cloud in stalls.chain(["till".to_owned()]) {
        let grant = (format!("PUT {CLOUDS}/{cloud}"), json!({"spec": weak}));
        assert_eq!(shop.status("admin", shop.documented(), &grant), "200");
    }
    let high = (format!("PUT {CLOUDS}/high"), json!({"spec": {"level": "privileged"}}));
    assert_eq!(shop.status("platform", shop.documented(), &high), "200");
    for (caller, cloud) in [("admin", "till"), ("platform", "high")] {
        let look = (format!("PUT {CLOUDS}/{cloud}/user-permissions/look"), json!({"spec": rule("get")}));
        assert_eq!(shop.status(caller, shop.documented(), &look), "200");
    }
    shop.hold(shop.documented(), &of_clouds());
    shop.hold(shop.documented(), &of_permissions());
    shop.server.stop();
}

/// Each way to each right in EMCO's dialect. Those that change a logical cloud have one each.
fn in_emco() -> Vec<Request> {
    let mut grants = Vec::new();
    let specifications = [json!({"level": "0"}), json!({"labels": {LABEL.0: LABEL.1}})];
    for (number, spec) in specifications.into_iter().enumerate() {
        let of = |name: &str| json!({"metadata": {"name": name}, "spec": spec});
        grants.push((format!("POST {CLOUDS}"), of(&format!("new-{number}"))));
        grants.push((format!("PUT {CLOUDS}/stall-{number}"), of(&format!("stall-{number}"))));
    }
    let reaching = [("everywhere", "", "get"), ("elsewhere", "another", "get")];
    let strong = STRONG.map(|verb| ("strong", "till", verb));
    for (number, (name, namespace, verb)) in strong.into_iter().chain(reaching).enumerate() {
        let mut spec = rule(verb);
        spec["namespace"] = namespace.into();
        let permission = json!({"metadata": {"name": format!("{name}-{number}")}, "spec": spec});
        grants.push((format!("POST {CLOUDS}/till/user-permissions"), permission));
    }
    grants
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_admin_grants_no_such_rights_by_any_way_of_emcos_dialect() {
    let shop = Shop::new();
    for cloud in ["stall-0", "stall-1", "till"] {
        let spec = json!({"namespace": cloud, "user": {"userName": "seller"}});
        let made = (format!("POST {CLOUDS}"), json!({"metadata": {"name": cloud}, "spec": spec}));
        assert_eq!(shop.status("admin", shop.emco(), &made), "201");
    }
    let mut weak = rule("get");
    weak["namespace"] = "till".into();
    let permission = json!({"metadata": {"name": "look"}, "spec": weak});
    let look = (format!("POST {CLOUDS}/till/user-permissions"), permission);
    assert_eq!(shop.status("admin", shop.emco(), &look), "201");
    shop.hold(shop.emco(), &in_emco());
    shop.server.stop();
}
