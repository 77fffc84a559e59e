//! What a server is told to be.

use serde_json::{Value, json};

use crate::access::callers::Guarded;
use crate::access::tls::{certify, curl};
use crate::common::User;

fn shown(person: &User, arguments: &[&str]) -> Value {
    let all = ["serve", "--print-config", "-o", "json"].iter().chain(arguments);
    serde_json::from_str(&person.run(all).done()).unwrap()
}

#[test]
fn a_flag_is_over_the_environment_and_that_over_the_file() {
    let person = User::with([
        ("DCM_AUDIT_DAYS", "8".to_owned()),
        ("DCM_METRICS_LISTEN", "127.0.0.1:2".to_owned()),
        ("DCM_STORE", "etcd://ann:hunter2@h:1/?tls=true".to_owned()),
        ("DCM_CONFIG", "settings.yaml".to_owned()),
    ]);
    person.write(
        "settings.yaml",
        "auditDays: 7\nmetricsListen: 127.0.0.1:1\nlisten: 127.0.0.1:3\nworker: false\nlimits: {bodyTimeout: 8s}\n",
    );
    let found = shown(
        &person,
        &["--metrics-listen", "127.0.0.1:4", "--emco-listen", "clm=127.0.0.1:5", "--requests-max", "9"],
    );
    let expected = json!({
        "store": "etcd://ann:…@h:1/?tls=true",
        "lease": "10s",
        "auditDays": 8,
        "worker": false,
        "listen": "127.0.0.1:3",
        "emcoListen": ["clm=127.0.0.1:5"],
        "metricsListen": "127.0.0.1:4",
        "limits": {
            "connectionsMax": 16384,
            "requestsMax": 9,
            "bodyBytesMax": 67_108_864,
            "followersMax": 1024,
            "followersPerCallerMax": 128,
            "bodyTimeout": "8s",
            "idleTimeout": "30s",
            "answerTimeout": "30s",
        },
    });
    assert_eq!(found, expected);
}

#[test]
fn what_is_shown_is_a_file_of_settings() {
    let person = User::new();
    let text =
        person.run(["serve", "--print-config", "--listen", "127.0.0.1:1", "--store", "memory:"]).done();
    person.write("settings.yaml", &text);
    let again = person.run(["serve", "--print-config", "--config", "settings.yaml"]).done();
    assert_eq!(text, again);
    let schema: Value = serde_json::from_str(&person.run(["schema", "--of", "settings"]).done()).unwrap();
    assert!(schema["properties"]["authentication"].is_object(), "{schema}");
}

#[test]
fn what_kubeconfigs_may_do_is_named_by_flags_variables_and_the_file() {
    let person = User::with([("DCM_KUBECONFIG_EXEC_COMMANDS", "aws,kubelogin".to_owned())]);
    person.write(
        "settings.yaml",
        "store: 'memory:'\nkubeconfigs: {execCommands: ['*'], proxy: true, files: true}\n",
    );
    let found =
        shown(&person, &["--config", "settings.yaml", "--kubeconfig-files=false", "--kubeconfig-insecure"]);
    let expected =
        json!({"execCommands": ["aws", "kubelogin"], "files": false, "insecure": true, "proxy": true});
    assert_eq!(found["kubeconfigs"], expected);
}

#[test]
fn a_setting_that_breaks_a_rule_is_told_with_its_field() {
    let person = User::new();
    person.write("settings.yaml", "store: 'memory:'\nlisten: everywhere\nroles: [{role: platform-admin}]\n");
    let said = person.run(["serve", "--config", "settings.yaml"]).ended_with(3);
    for part in ["listen: must be an address", "roles: is for callers who prove", "roles[0]: names neither"] {
        assert!(said.contains(part), "{said}");
    }
    person.write("settings.yaml", "listn: 127.0.0.1:1\n");
    let said = person.run(["serve", "--config", "settings.yaml"]).ended_with(1);
    assert!(said.contains("settings.yaml is no file of settings") && said.contains("listn"), "{said}");
}

#[test]
fn a_collector_is_named_by_the_variables_of_opentelemetry_and_its_headers_are_not_shown() {
    let person = User::with([
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318".to_owned()),
        ("OTEL_EXPORTER_OTLP_INSECURE", "true".to_owned()),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem".to_owned()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2".to_owned()),
    ]);
    person.write("settings.yaml", "otlp: {endpoint: 'http://127.0.0.1:1'}\n");
    let found = shown(&person, &["--config", "settings.yaml", "--otlp-insecure=false"]);
    let expected = json!({"endpoint": "http://127.0.0.1:4318", "insecure": false, "authorities": "ca.pem"});
    assert_eq!(found["otlp"], expected);
    assert!(!found.to_string().contains("hunter2"), "{found}");
    let variables = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_CERTIFICATE"];
    let empty = User::with(variables.map(|name| (name, String::new())));
    assert!(shown(&empty, &[])["otlp"].is_null());
    let empty = User::with([("OTEL_EXPORTER_OTLP_INSECURE", String::new())]);
    assert_eq!(shown(&empty, &[])["otlp"], json!({"insecure": false}));
}

#[cfg(not(feature = "otlp"))]
#[test]
fn a_program_that_can_send_no_spans_refuses_to_serve_with_a_collector() {
    let person = User::new();
    let arguments = ["serve", "--store", "memory:", "--otlp-endpoint", "http://127.0.0.1:4318"];
    let said = person.run(arguments).ended_with(1);
    let expected = "dcm: spans can't be sent to otlp.endpoint: this program was built without the feature otlp (cargo build -p \
        dcm-cli --features otlp)\n";
    assert_eq!(said, expected);
}

#[test]
fn an_address_that_others_can_reach_needs_tls_and_authentication() {
    let person = User::new();
    let said = person.run(["serve", "--store", "memory:", "--listen", "192.0.2.1:9077"]).ended_with(1);
    let expected = "dcm: 192.0.2.1:9077 is no loopback address: others can reach it, so set tls.certificate and tls.key, and set \
        authentication, and bind roles; or listen on 127.0.0.1 or [::1]\n";
    assert_eq!(said, expected);
}

/// Where all addresses of a machine are listened on.
const EVERYWHERE: &str = "0.0.0.0:0";

/// Certificate and key of the server.
fn tls() -> Value {
    json!({"certificate": "server.pem", "key": "server.key"})
}

#[test]
fn an_address_that_others_can_reach_needs_authentication_beside_tls_and_tls_beside_authentication() {
    let with_tls = User::new();
    certify(with_tls.home());
    with_tls.write("settings.yaml", &json!({"store": "memory:", "tls": tls()}).to_string());
    let with_authentication = Guarded::new().person;
    for listen in ["--listen", "--emco-listen"] {
        for (person, lacking) in [
            (&with_tls, "set authentication, and bind roles"),
            (&with_authentication, "set tls.certificate and tls.key"),
        ] {
            let said = person.run(["serve", "--config", "settings.yaml", listen, EVERYWHERE]).ended_with(1);
            let expected = format!(
                "dcm: {EVERYWHERE} is no loopback address: others can reach it, so {lacking}; or listen on 127.0.0.1 or [::1]\n"
            );
            assert_eq!(said, expected, "{listen}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_tls_and_authentication_any_address_is_listened_on() {
    for listen in ["--listen", "--emco-listen"] {
        let guarded = Guarded::new();
        certify(guarded.person.home());
        guarded.configure(&json!({"tls": tls()}));
        let (server, headers) = guarded.serve_with(&[listen, EVERYWHERE]);
        assert!(server.address().ip().is_unspecified(), "{listen}");
        assert_eq!(curl(&server, &["-H", headers.of("platform")]).as_deref(), Some("200"), "{listen}");
        assert_eq!(curl(&server, &[]).as_deref(), Some("401"), "{listen}");
        server.stop();
    }
}
