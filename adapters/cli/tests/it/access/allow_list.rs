//! Of all generated grants a project admin makes those that the allow list holds, by each route of both dialects, and no other one.

use dcm_testenv::effort::budget;
use serde_json::{Value, json};

use crate::access::generated::{GRANTS, Grant, What, generated};
use crate::access::granting::{CLOUDS, Request, Shop};

/// How many grants that are allowed one document has.
const BATCH: usize = 200;

/// Of how many grants that are allowed one is made by itself.
const ALONE: usize = 20;

fn named(rule: &Value, field: &str, name: &str) -> Value {
    let mut permission = rule.clone();
    permission[field] = name.into();
    permission
}

/// A declarative document of a logical cloud with these grants.
fn document<'a>(cloud: &str, grants: impl IntoIterator<Item = &'a What>) -> Value {
    let (mut permissions, mut manifests) = (Vec::new(), Vec::new());
    for (number, what) in grants.into_iter().enumerate() {
        match what {
            What::Permission(rule) => permissions.push(named(rule, "name", &format!("p-{number}"))),
            What::Manifest(body) => manifests.push(body.clone()),
        }
    }
    json!({
        "apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": cloud},
        "spec": {
            "users": [{"name": "seller"}], "permissions": permissions, "manifests": manifests,
            "clusters": [{"provider": "edge", "cluster": "berlin"}],
        },
    })
}

/// Each way of the documented dialect to one grant.
fn documented(what: &What) -> Vec<Request> {
    let stall = format!("{CLOUDS}/stall");
    let whole = |cloud: &str| document(cloud, [what]);
    let mut requests = vec![
        (format!("POST {stall}/plan"), whole("stall")),
        (format!("PUT {stall}/document?dry-run=true"), whole("stall")),
        (format!("PUT {stall}/document"), whole("stall")),
        (format!("PUT {stall}/document?apply=true"), whole("stall")),
        (format!("PUT {CLOUDS}/new/document"), whole("new")),
    ];
    if let What::Permission(rule) = what {
        let metadata = json!({"name": "generated"});
        let permissions = [named(rule, "permission-name", "generated")];
        let user = json!({"user": {"user-name": "seller", "user-permissions": permissions}});
        requests.extend([
            (format!("POST {stall}/user-permissions"), json!({"metadata": metadata, "spec": rule})),
            (format!("PUT {stall}/user-permissions/look"), json!({"spec": rule})),
            (format!("PUT {stall}"), json!({"spec": user})),
            (format!("POST {CLOUDS}"), json!({"metadata": {"name": "made"}, "spec": user})),
        ]);
    }
    requests
}

/// The way of EMCO's dialect to one grant.
fn in_emco(what: &What, name: &str) -> Option<Request> {
    let What::Permission(rule) = what else { return None };
    let spec = named(rule, "namespace", "till");
    let permission = json!({"metadata": {"name": name}, "spec": spec});
    Some((format!("POST {CLOUDS}/till/user-permissions"), permission))
}

/// Makes the clouds in which all is asked.
fn prepared() -> Shop {
    let shop = Shop::new();
    shop.register();
    let look = What::Permission(json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}));
    let stall = (format!("PUT {CLOUDS}/stall/document"), document("stall", [&look]));
    assert_eq!(shop.status("admin", shop.documented(), &stall), "201");
    let spec = json!({"namespace": "till", "user": {"userName": "seller"}});
    let till = (format!("POST {CLOUDS}"), json!({"metadata": {"name": "till"}, "spec": spec}));
    assert_eq!(shop.status("admin", shop.emco(), &till), "201");
    shop
}

/// Refused with 403 by each way, with the field and the way out.
fn refused(shop: &Shop, grant: &Grant) {
    for request in documented(&grant.what) {
        let answer = shop.ask("admin", shop.documented(), &request);
        assert!(answer.starts_with("403\n"), "{request:?}: {answer}");
        let (_, body) = answer.split_once("\n\n").unwrap();
        let problem: Value = serde_json::from_str(body).unwrap();
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("can't be granted") && detail.contains("ask a platform admin"), "{problem}");
        let field = problem["field"].as_str().unwrap_or_default();
        let ends = ["apiGroups", "resources", "verbs", "kind"].iter().any(|end| field.ends_with(end));
        assert!(ends, "{request:?}: {problem}");
    }
    if let Some(request) = in_emco(&grant.what, "generated") {
        let answer = shop.ask("admin", shop.emco(), &request);
        assert!(answer.starts_with("403\n") && answer.contains("can't be granted"), "{request:?}: {answer}");
    }
}

/// Accepted: all of them in documents, and some by each way.
fn accepted(shop: &Shop, inside: &[&Grant]) {
    for batch in inside.chunks(BATCH) {
        let whole = document("stall", batch.iter().map(|grant| &grant.what));
        let request = (format!("PUT {CLOUDS}/stall/document"), whole);
        let answer = shop.ask("admin", shop.documented(), &request);
        assert!(answer.starts_with('2'), "{answer}");
    }
    for (number, grant) in inside.iter().enumerate().step_by(ALONE) {
        let name = format!("generated-{number}");
        let mut requests = documented(&grant.what);
        // Without a worker to bring it to its cluster, what was applied once is under way for good.
        requests.retain(|(line, _)| !line.ends_with("apply=true"));
        for (line, body) in requests {
            let made = (line.replace("/new", &format!("/new-{number}")), renamed(body, &name));
            let answer = shop.ask("admin", shop.documented(), &made);
            assert!(answer.starts_with('2'), "{made:?}: {answer}");
        }
        if let Some(request) = in_emco(&grant.what, &name) {
            assert_eq!(shop.status("admin", shop.emco(), &request), "201", "{request:?}");
        }
    }
}

/// The same under another name, where something new is made.
fn renamed(mut body: Value, name: &str) -> Value {
    let number = name.trim_start_matches("generated");
    if let Some(old @ ("new" | "made" | "generated")) = body["metadata"]["name"].as_str() {
        body["metadata"]["name"] = format!("{old}{number}").into();
    }
    body
}

/// Of all grants 500, or as many as are asked for, evenly spread, so that all kinds are among them.
fn spread(grants: &[Grant]) -> Vec<Grant> {
    assert_eq!(grants.len(), GRANTS);
    let count = budget("grants", 500, GRANTS).clamp(1, GRANTS);
    let spread: Vec<Grant> = (0..count).map(|number| grants[number * GRANTS / count].clone()).collect();
    let kinds = |is_inside| {
        let of = move |grant: &&Grant| grant.is_inside == is_inside;
        let manifests = spread.iter().filter(of).filter(|grant| matches!(grant.what, What::Manifest(_)));
        (manifests.count(), spread.iter().filter(of).count())
    };
    for (manifests, all) in [kinds(true), kinds(false)] {
        assert!(count < 100 || (manifests > 0 && all > manifests), "{manifests} manifests of {all} grants");
    }
    spread
}

#[tokio::test(flavor = "multi_thread")]
async fn of_generated_grants_a_project_admin_makes_those_of_the_allow_list_by_each_route_and_no_other_one() {
    let shop = prepared();
    let grants = spread(&generated());
    let (inside, outside): (Vec<&Grant>, Vec<&Grant>) = grants.iter().partition(|grant| grant.is_inside);
    let before = shop.stored();
    for grant in &outside {
        refused(&shop, grant);
    }
    assert_eq!(shop.stored(), before);
    accepted(&shop, &inside);
    shop.end();
}
