//! Each role at each route of each dialect, in a project of theirs, in another's and in one that is not there.

use dcm_rest::access::Need;
use dcm_rest::emco::{self, Service};
use dcm_rest::{Route, documented};
use serde_json::{Value, json};

use crate::access::callers::{CALLERS, Guarded, Headers, PROJECTS};
use crate::common::server::Server;

/// Who has what a route needs, in a project of theirs and in another one. This is the table of `docs/authentication.md`.
fn allowed(need: Need) -> (&'static [&'static str], &'static [&'static str]) {
    match need {
        Need::Nothing => {
            let all = &["nobody", "viewer", "admin", "registrar", "monitor", "platform"];
            (all, all)
        }
        Need::AnyRole => {
            let all = &["viewer", "admin", "registrar", "monitor", "platform"];
            (all, all)
        }
        Need::View => (&["viewer", "admin", "platform"], &["platform"]),
        Need::Change => (&["admin", "platform"], &["platform"]),
        Need::Clusters => (&["registrar", "platform"], &["registrar", "platform"]),
        Need::Metrics => (&["monitor", "platform"], &["monitor", "platform"]),
        Need::Platform => (&["platform"], &["platform"]),
    }
}

/// A request that no handler takes any further than to its own checks, in a project.
fn request(route: &Route, project: &str) -> String {
    let segments = route.path().split('/').map(|segment| match segment {
        "{project}" => project,
        named if named.starts_with('{') => "absent",
        plain => plain,
    });
    let path: Vec<&str> = segments.collect();
    // The documented dialect refuses parameters that it does not know; EMCO's asks for what is not there.
    format!("{} {}?no-such-parameter=1\nX-Request-Id: same", route.method(), path.join("/"))
}

/// What was answered, as far as it does not differ from one second to the next.
fn answer(server: &Server, request: &str, header: Option<&str>) -> String {
    let header = header.map(|header| format!("\n{header}")).unwrap_or_default();
    server.ask(&format!("{request}{header}"))
}

fn status(answer: &str) -> u16 {
    answer.lines().next().unwrap().parse().unwrap()
}

/// Holds every route against the table. Where something is said of it, that is what a handler answers that was asked.
fn hold(server: &Server, headers: &Headers, routes: &[Route], no_project: &str, handled: Option<u16>) {
    let mut asked = 0;
    for route in routes {
        let is_of_project = route.path().contains("{project}");
        let (here, elsewhere) = allowed(route.need());
        for (index, project) in PROJECTS.iter().enumerate().take(if is_of_project { 3 } else { 1 }) {
            let request = request(route, project);
            for (caller, _) in CALLERS {
                let answer = answer(server, &request, Some(headers.of(caller)));
                let has_it = if index == 0 { here } else { elsewhere }.contains(&caller);
                let is_told_of = has_it || index == 0 && ["viewer", "admin"].contains(&caller);
                let of_its_own = matches!(route.need(), Need::View | Need::Change);
                let expected = match has_it {
                    true => None,
                    false if of_its_own && !is_told_of => Some(404),
                    false => Some(403),
                };
                let context = format!("{caller} {request}: {answer}");
                match expected {
                    Some(404) => {
                        assert_eq!(status(&answer), 404, "{context}");
                        assert!(answer.contains(&no_project.replace("PROJECT", project)), "{context}");
                    }
                    Some(expected) => assert_eq!(status(&answer), expected, "{context}"),
                    None => {
                        assert!(![401, 403].contains(&status(&answer)), "{context}");
                        assert!(
                            index > 0 || !answer.contains(&no_project.replace("PROJECT", project)),
                            "{context}"
                        );
                        assert!(handled.is_none_or(|handled| status(&answer) == handled), "{context}");
                    }
                }
                asked += 1;
            }
            for header in [None, Some("Authorization: Bearer dcm_0"), Some("Authorization: Basic YTpi")] {
                let answer = answer(server, &request, header);
                if route.need() == Need::Nothing {
                    assert_ne!(status(&answer), 401, "{header:?} {request}: {answer}");
                    continue;
                }
                assert_eq!(status(&answer), 401, "{header:?} {request}: {answer}");
                assert!(answer.contains("www-authenticate: Bearer"), "{answer}");
            }
        }
        if is_of_project {
            for (caller, _) in CALLERS.iter().take(CALLERS.len() - 1) {
                let [other, absent] = [PROJECTS[1], PROJECTS[2]].map(|project| {
                    let answer = answer(server, &request(route, project), Some(headers.of(caller)));
                    answer.replace(project, "PROJECT")
                });
                assert_eq!(other, absent, "{caller}");
            }
        }
    }
    assert!(asked > routes.len() * CALLERS.len(), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_the_documented_dialect_is_for_whom_it_says() {
    let (server, headers) = Guarded::new().serve("--listen");
    for project in &PROJECTS[..2] {
        let body = format!("{{\"metadata\": {{\"name\": \"{project}\"}}}}");
        let request = format!("POST /v2/projects\n{}\n\n{body}", headers.of("platform"));
        assert_eq!(status(&server.ask(&request)), 201);
    }
    hold(&server, &headers, &documented::routes(), "there is no project PROJECT", Some(400));
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_emcos_dialect_is_for_whom_it_says() {
    let (server, headers) = Guarded::new().serve("--emco-listen");
    for project in &PROJECTS[..2] {
        let body = format!("{{\"metadata\": {{\"name\": \"{project}\"}}}}");
        let request = format!("POST /v2/projects\n{}\n\n{body}", headers.of("platform"));
        assert_eq!(status(&server.ask(&request)), 201);
    }
    let routes: Vec<Route> = Service::ALL.into_iter().flat_map(emco::routes).collect();
    // Whoever may delete a project does so in the end.
    let (last, routes): (Vec<Route>, Vec<Route>) = routes
        .into_iter()
        .partition(|route| route.method() == "DELETE" && route.path() == "/v2/projects/{project}");
    hold(&server, &headers, &routes, "Project not found", None);
    hold(&server, &headers, &last, "Project not found", None);
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_path_written_otherwise_is_for_the_same_people() {
    let (server, headers) = Guarded::new().serve("--listen");
    for project in &PROJECTS[..2] {
        let body = format!("{{\"metadata\": {{\"name\": \"{project}\"}}}}");
        let request = format!("POST /v2/projects\n{}\n\n{body}", headers.of("platform"));
        assert_eq!(status(&server.ask(&request)), 201);
    }
    let asked = |line: &str| status(&server.ask(&format!("{line}\n{}", headers.of("viewer"))));
    for own in ["GET /v2/projects/shop-1", "HEAD /v2/projects/shop-1/", "GET /v2/projects/%73hop-1"] {
        assert_eq!(asked(own), 200, "{own}");
    }
    let others = [
        "GET /v2/projects/bank-1",
        "HEAD /v2/projects/bank-1",
        "GET /v2/projects/bank-1/",
        "GET /v2/projects/%62ank-1",
        "GET /v2/projects/%62ank-1/logical-clouds/",
        "GET /v2/projects/shop-1%2f..%2fbank-1",
        "GET /v2/projects/shop-1/../bank-1",
        "GET //v2/projects/bank-1",
        "GET /v2/projects/%ff",
        "GET /v2/projects//logical-clouds",
    ];
    for other in others {
        assert_eq!(asked(other), 404, "{other}");
    }
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_projects_has_those_that_the_caller_may_see() {
    let (server, headers) = Guarded::new().serve("--listen");
    for project in &PROJECTS[..2] {
        let body = format!("{{\"metadata\": {{\"name\": \"{project}\"}}}}");
        let request = format!("POST /v2/projects\n{}\n\n{body}", headers.of("platform"));
        assert_eq!(status(&server.ask(&request)), 201);
    }
    let names = |caller: &str| -> Vec<String> {
        let answer = server.ask(&format!("GET /v2/projects\n{}", headers.of(caller)));
        let (_, body) = answer.split_once("\n\n").unwrap();
        let page: Value = serde_json::from_str(body).unwrap();
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("viewer"), ["shop-1"]);
    assert_eq!(names("admin"), ["shop-1"]);
    assert_eq!(names("registrar"), [""; 0]);
    assert_eq!(names("platform"), ["bank-1", "shop-1"]);
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cloud_that_a_project_admin_makes_has_the_labels_that_the_server_sets() {
    const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
    let (server, headers) = Guarded::new().serve("--listen");
    let ask = |caller: &str, line: &str, body: &Value| {
        let (method, path) = line.split_once(' ').unwrap();
        let (of_caller, body) = (headers.of(caller), Some(body).filter(|body| !body.is_null()));
        let body = body.map(Value::to_string).unwrap_or_default();
        server.ask(&format!("{method} /v2/projects{path}\n{of_caller}\n\n{body}"))
    };
    assert_eq!(status(&ask("platform", "POST ", &json!({"metadata": {"name": "shop-1"}}))), 201);
    let cloud = |name: &str, labels: Value| json!({"metadata": {"name": name}, "spec": {"labels": labels}});
    let document = |name: &str, labels: Value| {
        let mut document = cloud(name, labels);
        document["apiVersion"] = json!("dcm.internal/v1");
        document["kind"] = json!("LogicalCloud");
        document
    };
    let clouds = "/shop-1/logical-clouds";
    type Body<'a> = &'a dyn Fn(&str, Value) -> Value;
    let ways: [(String, &str, Body<'_>); 3] = [
        (format!("POST {clouds}"), "posted", &cloud),
        (format!("PUT {clouds}/put"), "put", &cloud),
        (format!("PUT {clouds}/documented/document"), "documented", &document),
    ];
    for (line, name, body) in ways {
        let refused = ask("admin", &line, &body(name, json!({ENFORCE: "privileged"})));
        assert_eq!(status(&refused), 403, "{line}: {refused}");
        let made = ask("admin", &line, &body(name, json!({"tier": "gold"})));
        assert!(status(&made) < 300, "{line}: {made}");
        // What is sent again leaves them as they are.
        let again = ask("admin", &line, &body(name, json!({"tier": "gold"})));
        assert_eq!(status(&again), if line.starts_with("POST") { 409 } else { 200 }, "{line}: {again}");
        let got = ask("viewer", &format!("GET {clouds}/{name}"), &Value::Null);
        assert!(
            got.contains(&format!("\"labels\":{{\"{ENFORCE}\":\"baseline\",\"tier\":\"gold\"}}")),
            "{line}: {got}"
        );
    }
    let free = ask("platform", &format!("PUT {clouds}/free"), &cloud("free", json!({ENFORCE: "privileged"})));
    assert!(status(&free) < 300, "{free}");
    server.stop();
}
