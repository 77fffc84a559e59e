use dcm_core::app_context::TokenRequest;
use dcm_core::port::cluster::{Access, IssuedToken};

use super::super::{Identity, Rights};
use super::*;

const GROUP: &str = "rbac.authorization.k8s.io";

fn access(verb: &str, resource: &str, namespace: Option<&str>) -> Access {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    Access {
        verb: verb.into(),
        group: "".into(),
        resource: resource.into(),
        subresource: subresource.into(),
        name: "".into(),
        namespace: namespace.map(Into::into),
    }
}

fn role(kind: &str, name: &str, rule: &Value) -> Value {
    let mut metadata = json!({"name": name});
    if kind == "Role" {
        metadata["namespace"] = "default".into();
    }
    json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": metadata, "rules": [rule]})
}

fn binding(kind: &str, role: (&str, &str), subject: &Value) -> Value {
    let mut body =
        self::role(if kind == "RoleBinding" { "Role" } else { "ClusterRole" }, role.1, &Value::Null);
    body["kind"] = kind.into();
    body.as_object_mut().unwrap().remove("rules");
    body["roleRef"] = json!({"apiGroup": GROUP, "kind": role.0, "name": role.1});
    body["subjects"] = json!([subject]);
    body
}

fn user(name: &str) -> Value {
    json!({"apiGroup": GROUP, "kind": "User", "name": name})
}

/// A lab in which alice reads pods of `default`.
fn lab() -> Lab {
    let mut lab = Lab::new();
    let rule = json!({"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get", "list"]});
    lab.create(&role("Role", "reader", &rule)).unwrap();
    lab.create(&binding("RoleBinding", ("Role", "reader"), &user("alice"))).unwrap();
    lab
}

#[test]
fn a_role_gives_its_verbs_on_its_resources_in_its_namespace_to_its_subjects() {
    let lab = lab();
    let alice = Identity::user("alice");
    let may = |identity: &Identity, verb, resource, namespace| {
        lab.server.may(identity, &access(verb, resource, namespace))
    };
    assert!(may(&alice, "get", "pods", Some("default")));
    assert!(may(&alice, "get", "pods/log", Some("default")));
    assert!(!may(&alice, "get", "pods/exec", Some("default")));
    assert!(!may(&alice, "delete", "pods", Some("default")));
    assert!(!may(&alice, "get", "secrets", Some("default")));
    assert!(!may(&alice, "get", "pods", Some("kube-system")));
    assert!(!may(&alice, "get", "pods", None));
    assert!(!may(&Identity::user("bob"), "get", "pods", Some("default")));
    assert!(may(&Identity::user("root").in_group("system:masters"), "delete", "pods", None));
}

#[test]
fn a_cluster_role_reaches_as_far_as_its_binding() {
    let mut lab = lab();
    let rule = json!({"apiGroups": ["*"], "resources": ["*/log", "nodes"], "verbs": ["*"]});
    lab.create(&role("ClusterRole", "wide", &rule)).unwrap();
    lab.create(&binding("RoleBinding", ("ClusterRole", "wide"), &user("bob"))).unwrap();
    let bob = Identity::user("bob");
    assert!(lab.server.may(&bob, &access("get", "pods/log", Some("default"))));
    assert!(!lab.server.may(&bob, &access("get", "nodes", None)));
    let group = json!({"apiGroup": GROUP, "kind": "Group", "name": "ops"});
    lab.create(&binding("ClusterRoleBinding", ("ClusterRole", "wide"), &group)).unwrap();
    assert!(lab.server.may(&Identity::user("eve").in_group("ops"), &access("get", "nodes", None)));
    assert!(
        lab.server
            .may(&Identity::user("eve").in_group("ops"), &access("get", "pods/log", Some("kube-system")))
    );
    assert!(!lab.server.may(&bob, &access("get", "nodes", None)));
}

#[test]
fn a_rule_with_names_gives_these_only() {
    let mut lab = Lab::new();
    let rule =
        json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": ["one"]});
    lab.create(&role("Role", "one", &rule)).unwrap();
    lab.create(&binding("RoleBinding", ("Role", "one"), &user("alice"))).unwrap();
    let named = |name: &str| Access { name: name.into(), ..access("get", "configmaps", Some("default")) };
    let may = |access: Access| lab.server.may(&Identity::user("alice"), &access);
    assert_eq!(["one", "two", ""].map(|name| may(named(name))), [true, false, false]);
}

#[test]
fn taking_a_binding_away_takes_the_right_away() {
    let mut lab = lab();
    lab.delete(&binding("RoleBinding", ("Role", "reader"), &user("alice"))).unwrap();
    assert!(!lab.server.may(&Identity::user("alice"), &access("get", "pods", Some("default"))));
}

fn account() -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"}})
}

fn token(lab: &mut Lab, seconds: i64) -> Result<IssuedToken, Error> {
    let (namespace, service_account) = ("default".into(), "robot".into());
    let request = TokenRequest { namespace, service_account, lifetime_seconds: Some(seconds) };
    let reply = lab.ask(Operation::IssueToken(request))?;
    let shown = format!("{reply:?} {reply:#?} {:?} {:#?}", lab.server, lab.server);
    match reply {
        Reply::Issued(token) => {
            assert!(!shown.contains(token.token.expose()));
            Ok(token)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_token_stands_for_its_service_account_until_it_ends() {
    let mut lab = lab();
    lab.create(&account()).unwrap();
    let subject = json!({"kind": "ServiceAccount", "name": "robot", "namespace": "default"});
    lab.create(&role(
        "ClusterRole",
        "reader",
        &json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}),
    ))
    .unwrap();
    lab.create(&binding("ClusterRoleBinding", ("ClusterRole", "reader"), &subject)).unwrap();
    let issued = token(&mut lab, 600).unwrap();
    assert_eq!(issued.expires, lab.now + Duration::from_secs(600));
    let identity = lab.server.identify_token(&issued.token).unwrap();
    assert!(lab.server.may(&identity, &access("get", "pods", Some("kube-system"))));
    lab.wait(Duration::from_secs(600));
    assert_eq!(lab.server.identify_token(&issued.token), None);
}

#[test]
fn a_token_ends_with_its_service_account() {
    let mut lab = Lab::new();
    lab.create(&account()).unwrap();
    let issued = token(&mut lab, 600).unwrap();
    lab.delete(&account()).unwrap();
    assert_eq!(lab.server.identify_token(&issued.token), None);
    lab.create(&account()).unwrap();
    assert_eq!(lab.server.identify_token(&issued.token), None, "the account is another one");
}

#[test]
fn a_token_lives_ten_minutes_at_least() {
    let mut lab = Lab::new();
    assert!(matches!(token(&mut lab, 600), Err(Error::NotFound)));
    lab.create(&account()).unwrap();
    assert!(matches!(token(&mut lab, 599), Err(Error::Invalid { .. })));
}

#[test]
fn the_engine_can_be_held_to_the_rights_of_an_identity_on_the_cluster() {
    let mut lab = lab();
    lab.server.set_rights(Rights::Of(Identity::user("alice")));
    let reply = lab.ask(Operation::Review {
        accesses: vec![access("get", "pods", Some("default")), access("get", "secrets", Some("default"))],
    });
    assert!(matches!(reply, Ok(Reply::Reviewed(answers)) if answers == [true, false]));
    assert!(matches!(lab.create(&config_map("c", &json!({}))), Err(Error::Forbidden { .. })));
}
