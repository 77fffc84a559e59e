//! Values of YAML 1.1 and large numbers in documents, beside the real kubectl, on a real API server and through a server.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::fmt::Write as _;

use dcm_core::document::{Limits, parse};
use dcm_core::name::ProjectName;
use dcm_testenv::Environment;
use serde_json::{Value, json};

use crate::common::installation::{Installation, kubectl};
use crate::common::server::Server;
use crate::common::{Ran, User, fed};

/// One is enough: each case is about what one API server takes.
const CLUSTERS: usize = 1;

/// Words that a reader of YAML may take for a boolean, nothing or a text.
const WORDS: &str = "y Y n N yes Yes YES yEs no No NO on On ON off Off OFF oFF true True TRUE tRue false False FALSE ~ null Null \
    NULL nULL t f none";

/// Texts that a reader of YAML may take for a number or a date.
const NUMBERS: &str = ".5_0 ._5 .5__0 .5_ .1e1_0 0 00 01 07 08 0755 0o755 0O755 0o8 0x1F 0X1f 0xg 0b101 0B101 0b2 0b-101 0b+1 1_000 1__0 1_ _1 0_7 0x_1F 1_0.5 \
    1e3 1E3 1e+3 1e-3 1_0e3 1e e3 1.5 1. .5 . ..5 1.5e3 .5e-1 1.5.2 1e400 1e-400 12e4 123456789 2147483648 \
    9223372036854775807 9223372036854775808 18446744073709551615 9007199254740993 1:30 190:20:30 2026-01-01 \
    2026-1-1 2026-01-01T10:00:00Z 1-2 1/2 1,000 ١ 0.10 100.0 1e20 123e18";

/// Plain scalars: these, and the numbers with each sign.
fn scalars() -> Vec<String> {
    let words = WORDS.split_whitespace().chain(NUMBERS.split_whitespace()).map(str::to_owned);
    let signed = NUMBERS.split_whitespace().flat_map(|number| [format!("+{number}"), format!("-{number}")]);
    words.chain(signed).collect()
}

/// Our reading of a scalar in a manifest: the value, or the words of the refusal.
fn read(scalar: &str) -> Result<Value, String> {
    let text = format!(
        "apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {{name: a}}\nspec:\n  manifests:\n  - apiVersion: example.com/v1\n    kind: Widget\n    metadata: {{name: a}}\n    value: {scalar}\n"
    );
    let read = parse(text.as_bytes(), &ProjectName::new("default").unwrap(), &Limits::default());
    let documents = read.map_err(|refused| refused.to_string())?;
    Ok(documents[0].draft.spec.manifests[0]["value"].clone())
}

#[tokio::test]
async fn a_scalar_has_the_value_that_kubectl_gives_it_or_is_refused_with_that_value() {
    let environment = Environment::group("as_written", CLUSTERS).await.unwrap();
    let scalars = scalars();
    let mut text = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nvalues:\n".to_owned();
    for scalar in &scalars {
        writeln!(text, "- {scalar}").unwrap();
    }
    let mut command = environment.clusters()[0].kubectl();
    let labelled = fed(command.args(["label", "--local", "-o", "json", "-f", "-", "a=b"]), &text).done();
    let labelled: Value = serde_json::from_str(&labelled).unwrap();
    let values = labelled["values"].as_array().unwrap();
    assert_eq!(values.len(), scalars.len());
    assert!(scalars.len() > 150);
    let mut refused_count = 0;
    for (scalar, by_kubectl) in scalars.iter().zip(values) {
        match read(scalar) {
            Ok(here) => {
                assert!(is_same(&here, by_kubectl), "{scalar}: {here} here, {by_kubectl} for kubectl");
            }
            Err(refused) => {
                refused_count += 1;
                let named = refused
                    .split_once(": is ")
                    .and_then(|(_, words)| Some(words.split_once(" for kubectl and ")?.0));
                let is_named = match (named, by_kubectl) {
                    (Some(named), Value::String(text)) => named == format!("the text {text:?}"),
                    (Some(named), _) => is_same(&serde_json::from_str(named).unwrap(), by_kubectl),
                    (None, _) => refused.contains("is an integer of more than 64 bits"),
                };
                assert!(is_named, "{scalar}: {by_kubectl}: {refused}");
            }
        }
    }
    assert!((30..120).contains(&refused_count), "{refused_count}");
}

/// The same value: Go writes a float without a fraction as an integer.
fn is_same(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && one.as_f64() == other.as_f64())
}

fn planned(user: &User, spec: &str) -> Ran {
    let text = format!(
        "apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {{name: values}}\nspec:\n{spec}\n"
    );
    user.run_with_input(&["plan", "--offline", "-f", "-"], &text)
}

#[test]
fn an_offline_plan_refuses_values_that_kubectl_reads_otherwise_and_fractions_instead_of_integers() {
    let user = User::new();
    let pod = |spec: &str| {
        format!(
            "  manifests:\n  - apiVersion: v1\n    kind: Pod\n    metadata: {{name: a}}\n    spec: {{{spec}}}"
        )
    };
    for (spec, words) in [
        (
            pod("volumes: [{name: v, configMap: {name: c, defaultMode: 0755}}]"),
            "line 9, column 66: spec.manifests[0].spec.volumes[0].configMap.defaultMode: is 493 for kubectl and 755 here: write 493 or 0o755, or put it in quotes",
        ),
        (
            pod("automountServiceAccountToken: no"),
            "line 9, column 42: spec.manifests[0].spec.automountServiceAccountToken: is false for kubectl and the text \"no\" here",
        ),
        (
            "  quotas: [{name: q, hard: {pods: 010}}]".to_owned(),
            "line 5, column 35: spec.quotas[0].hard[\"pods\"]: is 8 for kubectl and 10 here: write 8 or 0o10",
        ),
        (
            pod("activeDeadlineSeconds: 1.5"),
            "spec.manifests[0].spec.activeDeadlineSeconds: must be an integer",
        ),
        (
            pod("nodeSelector: {on: a}"),
            "spec.manifests[0].spec.nodeSelector.on: is the key \"true\" for kubectl",
        ),
        (
            pod("priority: 1_000"),
            "spec.manifests[0].spec.priority: is 1000 for kubectl and the text \"1_000\" here",
        ),
    ] {
        let ran = planned(&user, &spec);
        assert_eq!(ran.code, 3, "{ran:#?}");
        assert!(ran.err.contains(words), "{words}: {ran:#?}");
    }
}

/// Objects whose numbers are written in each way that both readers take for one value, and pairs whose numbers no 64 bits hold.
const WRITTEN: &str = "
  keyValues:
  - name: k
    kv:
    - {code: 0815, id: 123456789012345678901234, list: [1.50, 12e4, -0], phone: +4930123, pi: 3.14159265358979323846}
  quotas: [{name: q, hard: {pods: 0x10, limits.cpu: 2.50, limits.memory: 1e9}}]
  manifests:
  - apiVersion: batch/v1
    kind: Job
    metadata: {name: a, annotations: {mode: '0755', answer: \"no\"}}
    spec:
      suspend: True
      backoffLimit: 0x2
      activeDeadlineSeconds: +600
      template:
        spec:
          restartPolicy: Never
          automountServiceAccountToken: False
          terminationGracePeriodSeconds: 3e1
          containers: [{name: a, image: example.com/a:1, resources: {limits: {cpu: .25, memory: 64e6}}}]
          volumes: [{name: v, configMap: {name: c, defaultMode: 0o644}}, {name: w, configMap: {name: c, defaultMode: 420.0}}]";

/// The pairs in canonical form.
const PAIRS: &str = r#"[{"code":"0815","id":123456789012345678901234,"list":[1.50,12e4,-0],"phone":"+4930123","pi":3.14159265358979323846}]"#;

#[tokio::test]
async fn an_api_server_takes_what_is_written_in_each_way_that_has_one_value() {
    let environment = Environment::group("as_written", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "values");
    let [cluster] = installation.clusters() else { panic!() };
    let name = cluster.name();
    let text = format!(
        "apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {{name: values}}\nspec:\n  users: [{{name: ann}}]\n  clusters: [{{provider: real, cluster: {name}}}]{WRITTEN}\n"
    );
    let timeout = crate::common::installation::timeout();
    installation.person.run_with_input(&["apply", "--timeout", &timeout, "-f", "-"], &text).done();
    let job: Value =
        serde_json::from_str(&kubectl(cluster, &["--namespace", "values", "get", "job/a", "-o", "json"]))
            .unwrap();
    assert_eq!(job["metadata"]["annotations"]["mode"], "0755");
    assert_eq!(job["metadata"]["annotations"]["answer"], "no");
    let spec = &job["spec"];
    assert_eq!((&spec["suspend"], &spec["backoffLimit"]), (&json!(true), &json!(2)));
    assert_eq!(spec["activeDeadlineSeconds"], 600);
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["automountServiceAccountToken"], false);
    assert_eq!(pod["terminationGracePeriodSeconds"], 30);
    assert_eq!(pod["containers"][0]["resources"]["limits"], json!({"cpu": "250m", "memory": "64M"}));
    for volume in [0, 1] {
        assert_eq!(pod["volumes"][volume]["configMap"]["defaultMode"], 420);
    }
    let quotas = kubectl(cluster, &["--namespace", "values", "get", "resourcequota", "-o", "json"]);
    let quotas: Value = serde_json::from_str(&quotas).unwrap();
    let hard = json!({"pods": "16", "limits.cpu": "2500m", "limits.memory": "1G"});
    assert_eq!(quotas["items"][0]["spec"]["hard"], hard);
    are_kept(&installation.person);
    installation.terminate("values").done();
}

/// The pairs have all their digits where commands show them, and what is written is read as the same.
fn are_kept(user: &User) {
    let json = user.run(["get", "values", "-o", "json"]).done();
    let compact: String = json.split_whitespace().collect();
    assert!(compact.contains(&format!(r#""kv":{PAIRS}"#)), "{json}");
    let yaml = user.run(["get", "values", "-o", "yaml"]).done();
    for line in ["id: 123456789012345678901234", "pi: 3.14159265358979323846", "- 1.50", "- 12e4", "- -0"] {
        assert!(
            yaml.lines()
                .any(|found| found.trim_start().trim_start_matches("- ") == line.trim_start_matches("- ")),
            "{line}: {yaml}"
        );
    }
    let file = user.write("again.yaml", &yaml);
    let again = user.run(["plan", "-f", file.to_str().unwrap()]);
    assert_eq!(again.code, 0, "{again:#?}");
}

#[test]
fn key_value_pairs_keep_their_digits_over_each_api_and_in_the_registration_of_a_cluster() {
    let server = Server::serving(User::new(), &["--listen", "127.0.0.1:0", "--emco-listen", "127.0.0.1:0"]).0;
    let [documented, emco] = server.listeners() else { panic!() };
    let pairs = format!(r#"{{"metadata":{{"name":"k"}},"spec":{{"kv":{PAIRS}}}}}"#);
    let cloud = "/v2/projects/default/logical-clouds";
    documented.ask("PUT /v2/projects/default\n\n{\"metadata\": {}}");
    documented.ask(&format!("PUT {cloud}/values\n\n{{}}"));
    let answers = [
        documented.ask(&format!("POST {cloud}/values/kv-pairs\n\n{pairs}")),
        documented.ask(&format!("GET {cloud}/values/kv-pairs/k")),
        documented.ask(&format!("PUT {cloud}/values/kv-pairs/k\n\n{pairs}")),
        documented.ask(&format!("GET {cloud}/values/kv-pairs")),
        emco.ask(&format!("GET {cloud}/values/kv-pairs/k")),
        emco.ask(&format!("POST {cloud}/values/kv-pairs\n\n{}", pairs.replace(r#""k""#, r#""l""#))),
        documented.ask(&format!("GET {cloud}/values/kv-pairs/l")),
    ];
    for answer in answers {
        assert!(answer.contains(&format!(r#""kv":{PAIRS}"#)), "{answer}");
    }
    let refused = emco.ask(&format!(
        "POST {cloud}/values/kv-pairs\n\n{}",
        json!({"metadata": {"name": "m"}, "spec": {"kv": PAIRS}})
    ));
    assert!(refused.starts_with("422"), "{refused}");
    server.stop();
}

#[test]
fn a_document_over_http_is_read_as_one_of_a_command() {
    let server = Server::serving(User::new(), &["--listen", "127.0.0.1:0"]).0;
    server.ask("PUT /v2/projects/default\n\n{\"metadata\": {}}");
    let put = |spec: &str| {
        let document = format!(
            "{{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {{name: values}}, spec: {{{spec}}}}}"
        );
        server.ask(&format!(
            "PUT /v2/projects/default/logical-clouds/values/document\nContent-Type: application/yaml\n\n{document}"
        ))
    };
    for (spec, detail) in [
        (
            "quotas: [{name: q, hard: {pods: 010}}]",
            "is 8 for kubectl and 10 here: write 8 or 0o10, or put it in quotes",
        ),
        (
            "manifests: [{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, automountServiceAccountToken: no}]",
            "is false for kubectl and the text",
        ),
        (
            "manifests: [{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {healthCheckNodePort: 1.5}}]",
            "must be an integer: in this kind",
        ),
    ] {
        let answer = put(spec);
        assert!(answer.starts_with("422") && answer.contains(detail), "{answer}");
    }
    let made = put("labels: {tier: 010}, keyValues: [{name: k, kv: [{n: 123456789012345678901234}]}]");
    assert!(made.starts_with("201"), "{made}");
    let read = server.ask("GET /v2/projects/default/logical-clouds/values/document");
    let compact: String = read.split_whitespace().collect();
    assert!(
        compact.contains(r#""kv":[{"n":123456789012345678901234}]"#) && compact.contains(r#""tier":"010""#),
        "{read}"
    );
    server.stop();
}
