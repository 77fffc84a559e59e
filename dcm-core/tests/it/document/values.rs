//! Values of YAML 1.1 and large numbers: texts stay as they are written, and a scalar with two values is refused with both.

use dcm_core::document::{to_json, to_yaml};
use serde_json::{Value, json};

use super::{examples, read};

/// Scalars that a reader of YAML 1.1 or 1.2 takes for a number, a boolean or a date.
const LOOK_LIKE_OTHERS: [&str; 22] = [
    "0815",
    "12e4",
    "+4930123",
    "123456789012345678901234",
    "0755",
    "010",
    "1_000",
    "0x1F",
    "0o17",
    "0b101",
    "1.50",
    "1.0",
    ".5",
    "5.",
    "1e400",
    ".inf",
    ".NaN",
    "yes",
    "no",
    "on",
    "2026-01-01",
    "12:30:45",
];

fn document(spec: &str) -> String {
    format!("apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {{name: values}}\nspec:\n  {spec}\n")
}

/// The cloud of a specification, written and read in both forms and in each the same.
fn cloud(spec: &str) -> Value {
    let cloud = examples::cloud(read(document(spec)).unwrap().remove(0));
    for written in [to_yaml(&cloud).unwrap(), to_json(&cloud).unwrap()] {
        assert_eq!(examples::cloud(read(&written).unwrap().remove(0)), cloud, "{written}");
    }
    serde_json::to_value(cloud.to_draft()).unwrap()
}

/// The manifest `Widget`, a custom resource, with this value.
fn widget(value: &str) -> Result<Value, String> {
    let spec = format!(
        "manifests: [{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: a}}, value: {value}}}]"
    );
    let read = read(document(&spec)).map_err(|refused| refused.to_string())?;
    Ok(serde_json::to_value(&read[0].draft).unwrap()["spec"]["manifests"][0]["value"].clone())
}

#[test]
fn a_text_of_the_document_is_kept_as_it_is_written_whatever_it_looks_like() {
    for text in LOOK_LIKE_OTHERS {
        let text = text.trim_start_matches('+');
        let note = format!("description: {text}");
        let spec = format!(
            "users: [{{name: a, {note}}}]\n  quotas: [{{name: q, {note}, hard: {{pods: 1}}}}]\n  keyValues: [{{name: k, userData1: {text}, kv: []}}]"
        );
        let draft = cloud(&spec);
        for list in ["users", "quotas"] {
            assert_eq!(draft["spec"][list][0]["description"], text);
        }
        assert_eq!(draft["spec"]["keyValues"][0]["userData1"], text);
    }
    for text in ["0815", "12e4", "010", "1_000", "0x1F", "1.50", "yes", "no", "2026-01-01"] {
        let spec = format!(
            "labels: {{tier: {text}, example.com/{text}: a}}\n  users: [{{name: {text}}}]\n  clusters: [{{provider: {text}, cluster: {text}}}]\n  clusterSelector: {{matchLabels: {{{text}: {text}}}}}"
        );
        let spec = &cloud(&spec)["spec"];
        assert_eq!(spec["labels"], json!({"tier": text, (format!("example.com/{text}")): "a"}));
        assert_eq!(spec["users"][0]["name"], text);
        assert_eq!(spec["clusters"][0]["cluster"], text);
        assert_eq!(spec["clusterSelector"]["matchLabels"], json!({text: text}));
    }
}

#[test]
fn key_value_pairs_are_returned_byte_for_byte() {
    for text in LOOK_LIKE_OTHERS {
        let spec = format!("keyValues: [{{name: k, kv: [{{a: {text}, {text}: [{{b: {text}}}]}}]}}]");
        let cloud = examples::cloud(read(document(&spec)).unwrap().remove(0));
        // As JSON would write it, it is a number of these digits; otherwise it is a text.
        let value = match text {
            "12e4" | "123456789012345678901234" | "1.50" | "1.0" => text.to_owned(),
            text => format!("{text:?}"),
        };
        let pairs = cloud.key_values()[0].pairs.clone();
        let mut members = [format!(r#""a":{value}"#), format!(r#""{text}":[{{"b":{value}}}]"#)];
        members.sort();
        assert_eq!(pairs.as_json(), format!("[{{{}}}]", members.join(",")));
        for written in [to_yaml(&cloud).unwrap(), to_json(&cloud).unwrap()] {
            let read = examples::cloud(read(&written).unwrap().remove(0));
            assert_eq!(read.key_values()[0].pairs, pairs, "{written}");
        }
    }
}

#[test]
fn the_scalars_of_json_keep_their_meaning_in_key_value_pairs() {
    let spec =
        r#"keyValues: [{name: k, kv: [{a: -7, b: true, c: null, d: ~, e: , f: "7", g: 'null', h: 1e5}]}]"#;
    let cloud = examples::cloud(read(document(spec)).unwrap().remove(0));
    assert_eq!(
        cloud.key_values()[0].pairs.as_json(),
        r#"[{"a":-7,"b":true,"c":null,"d":null,"e":null,"f":"7","g":"null","h":1e5}]"#
    );
}

#[test]
fn a_scalar_of_a_manifest_that_kubectl_reads_otherwise_is_refused_with_both_values() {
    for (scalar, rule) in [
        ("0755", "is 493 for kubectl and 755 here: write 493 or 0o755, or put it in quotes"),
        ("-010", "is -8 for kubectl and -10 here: write -8, or put it in quotes"),
        ("no", "is false for kubectl and the text \"no\" here: write false, or put it in quotes"),
        ("On", "is true for kubectl and the text \"On\" here: write true, or put it in quotes"),
        ("y", "is true for kubectl and the text \"y\" here: write true, or put it in quotes"),
        ("1_000", "is 1000 for kubectl and the text \"1_000\" here: write 1000, or put it in quotes"),
        ("0b101", "is 5 for kubectl and the text \"0b101\" here: write 5, or put it in quotes"),
        ("-0x1F", "is -31 for kubectl and the text \"-0x1F\" here: write -31, or put it in quotes"),
        ("1_0.5", "is 10.5 for kubectl and the text \"1_0.5\" here: write 10.5, or put it in quotes"),
        ("1e400", "is the text \"1e400\" for kubectl and not finite here: put it in quotes"),
        (".inf", "must be a finite number, or put it in quotes"),
        (".NaN", "must be a finite number, or put it in quotes"),
        (
            "123456789012345678901234",
            "is an integer of more than 64 bits, which would be rounded: put it in quotes",
        ),
    ] {
        let column = 86;
        assert_eq!(
            widget(scalar).unwrap_err(),
            format!(
                "document 1, line 5, column {column}: spec.manifests[0].value: {rule} (found {scalar:?})"
            )
        );
    }
}

#[test]
fn a_key_of_a_manifest_that_kubectl_writes_otherwise_is_refused() {
    for (key, rule) in [
        ("on", "is the key \"true\" for kubectl and \"on\" here: put the key in quotes"),
        ("0755", "is the key \"493\" for kubectl and \"0755\" here: put the key in quotes"),
        ("1.0", "is the key \"1\" for kubectl and \"1.0\" here: put the key in quotes"),
        ("1e6", "is the key \"1e+06\" for kubectl and \"1e6\" here: put the key in quotes"),
        ("True", "is the key \"true\" for kubectl and \"True\" here: put the key in quotes"),
        ("~", "kubectl refuses this key: put it in quotes"),
        ("18446744073709551615", "kubectl refuses this key: put it in quotes"),
        (".Inf", "is the key \".inf\" for kubectl and \".Inf\" here: put the key in quotes"),
    ] {
        assert_eq!(
            widget(&format!("{{{key}: a}}")).unwrap_err(),
            format!("document 1, line 5, column 87: spec.manifests[0].value.{key}: {rule} (found {key:?})")
                .replace("value.1.0", "value[\"1.0\"]")
                .replace("value..Inf", "value[\".Inf\"]")
                .replace("value.~", "value[\"~\"]"),
        );
    }
    for key in ["123", "true", "a.b/c", "2026-01-01", "\"on\"", "'0755'"] {
        assert!(widget(&format!("{{{key}: a}}")).is_ok(), "{key}");
    }
}

#[test]
fn a_scalar_of_a_manifest_that_both_read_alike_has_that_value() {
    for (scalar, value) in [
        ("493", json!(493)),
        ("0o755", json!(493)),
        ("0x1F", json!(31)),
        ("08", json!(8)),
        ("+5", json!(5)),
        ("755.0", json!(755)),
        ("1e3", json!(1000)),
        (".5", json!(0.5)),
        ("18446744073709551615", json!(u64::MAX)),
        ("True", json!(true)),
        ("~", Value::Null),
        ("1:30", json!("1:30")),
        ("2026-01-01", json!("2026-01-01")),
        ("'0755'", json!("0755")),
        ("\"no\"", json!("no")),
        ("!!str 0755", json!("0755")),
    ] {
        assert_eq!(widget(scalar), Ok(value), "{scalar}");
    }
}

#[test]
fn numbers_and_booleans_of_the_document_itself_have_one_value() {
    for (spec, refused) in [
        (
            "quotas: [{name: q, hard: {pods: 010}}]",
            "column 35: spec.quotas[0].hard[\"pods\"]: is 8 for kubectl and 10 here: write 8 or 0o10, or put it in quotes (found \"010\")",
        ),
        (
            "users: [{name: a, lifetimeSeconds: 03600}]",
            "column 38: spec.users[0].lifetimeSeconds: is 1920 for kubectl and 3600 here: write 1920 or 0o3600 (found \"03600\")",
        ),
        (
            "permissions: [{name: a, apiGroups: [''], resources: [pods], verbs: [get], clusterWide: yes}]",
            "column 90: spec.permissions[0].clusterWide: is true for kubectl and the text \"yes\" here: write true (found \"yes\")",
        ),
        (
            "removal: {deadlineSeconds: 1_000}",
            "column 30: spec.removal.deadlineSeconds: is 1000 for kubectl and the text \"1_000\" here: write 1000 (found \"1_000\")",
        ),
    ] {
        let told = read(document(spec)).unwrap_err();
        assert_eq!(told.as_slice().len(), 1, "{told}");
        let told = told.to_string();
        assert!(told.starts_with("document 1, line 5, "), "{told}");
        assert!(told.contains(refused), "{told}");
    }
    let quota =
        &cloud("quotas: [{name: q, hard: {pods: 10, limits.cpu: 0.50, limits.memory: 1e3, services: 0x10}}]");
    let hard = &quota["spec"]["quotas"][0]["hard"];
    assert_eq!((&hard["pods"], &hard["services"]), (&json!("10"), &json!("16")), "{hard}");
}

#[test]
fn a_fraction_where_a_kind_of_kubernetes_has_an_integer_is_refused() {
    let manifest = |body: &str| {
        read(document(&format!("manifests: [{{metadata: {{name: a}}, {body}}}]")))
            .map_err(|refused| refused.to_string())
    };
    for (body, at) in [
        ("apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2.5}", "spec.replicas"),
        ("apiVersion: v1, kind: Service, spec: {ports: [{port: 80.5}]}", "spec.ports[0].port"),
        ("apiVersion: batch/v1, kind: Job, spec: {backoffLimit: 0.1}", "spec.backoffLimit"),
        ("apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 0.5}", "spec.minAvailable"),
        ("apiVersion: v1, kind: ConfigMap, data: {ratio: 0.5}", "data.ratio"),
        (
            "apiVersion: v1, kind: Pod, spec: {containers: [{env: [{value: 1.5}]}]}",
            "spec.containers[0].env[0].value",
        ),
    ] {
        let refused = manifest(body).unwrap_err();
        let rule = "must be an integer: in this kind only quantities take a fraction; put it in quotes if a text is meant";
        assert!(refused.contains(&format!("spec.manifests[0].{at}: {rule}")), "{refused}");
    }
    for body in [
        "apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2.0}",
        "apiVersion: v1, kind: Pod, spec: {containers: [{resources: {limits: {cpu: 0.5}, requests: {cpu: .25}}}]}",
        "apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: 1.5}}}",
        "apiVersion: v1, kind: Pod, spec: {volumes: [{emptyDir: {sizeLimit: 1.5}}]}",
        "apiVersion: example.com/v1, kind: Widget, spec: {ratio: 0.5}",
    ] {
        assert!(manifest(body).is_ok(), "{body}");
    }
}

#[test]
fn what_may_be_secret_is_refused_without_its_value() {
    for manifest in [
        "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {pin: 012345}}",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {pin: 01_23_45}}",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{env: [{name: PIN, value: 012345}]}]}}",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{env: [{name: PIN, value: 123456789012345678901234}]}]}}",
    ] {
        let refused = read(document(&format!("manifests: [{manifest}]"))).unwrap_err().to_string();
        assert!(
            refused.contains("must be in quotes: without them kubectl reads another value, or none"),
            "{refused}"
        );
        for digits in ["2345", "01_23", "5349"] {
            assert!(!refused.contains(digits), "{refused}");
        }
    }
}
