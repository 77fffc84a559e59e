//! What a kubeconfig has beyond what is used: warned of where it is registered, and refused by its name where it can't be read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_testenv::Environment;
use serde_json::json;

use super::kit::{Kit, encoded};
use crate::common::User;
use crate::common::server::Server;

const BAD: &str = "-----BEGIN CERTIFICATE-----\nno base64\n-----END CERTIFICATE-----\n";

/// A kubeconfig whose bundle has a block that can't be read.
fn with_bad_block(kit: &Kit) -> String {
    let bundle = format!("{}{BAD}", kit.authority);
    kit.in_cluster(&format!("server: {}\ncertificate-authority-data: {}\n", kit.server, encoded(&bundle)))
}

const WARNING: &str =
    "clusters[0].cluster.certificate-authority-data: ignored 1 block that is no readable certificate";

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_with_a_block_that_can_not_be_read_is_used_without_it_and_users_do_not_get_it() {
    let environment = Environment::group("kubeconfigs", 1).await.unwrap();
    let user = User::new();
    let kit = Kit::new(&environment, &user);
    let file = user.write("bundle", &with_bad_block(&kit));
    let file = file.to_str().unwrap();
    let ran = user.run(["cluster", "add", "real/probe", "--kubeconfig", file]);
    assert!(ran.err.contains(&format!("real/probe: warning: {WARNING}\n")), "{ran:?}");
    ran.done();
    let ran = user.run(["cluster", "update", "real/probe", "--kubeconfig", file]);
    assert!(ran.err.contains(WARNING), "{ran:?}");
    let cloud = "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: bundled}, spec: {users: [{name: ann}], \
                 permissions: [{name: look, apiGroups: [''], resources: [pods], verbs: [get]}], \
                 clusters: [{provider: real, cluster: probe}]}}";
    user.run_with_input(&["apply", "-f", "-"], cloud).done();
    let given = user.run(["kubeconfig", "bundled", "--user", "ann", "-o", "json"]).done();
    let given: serde_json::Value = serde_json::from_str(&given).unwrap();
    let data = given["clusters"][0]["cluster"]["certificate-authority-data"].as_str().unwrap();
    assert_eq!(String::from_utf8(STANDARD.decode(data).unwrap()).unwrap(), kit.authority);
    user.run(["terminate", "bundled"]).done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_warns_in_a_header_and_names_an_encoding_that_it_does_not_take() {
    let environment = Environment::group("kubeconfigs", 1).await.unwrap();
    let kit = Kit::new(&environment, &User::new());
    let both = ["--listen", "127.0.0.1:0", "--emco-listen", "127.0.0.1:0"];
    let (server, _log) = Server::serving(User::new(), &both);
    server.ask("POST /v2/cluster-providers\n\n{\"metadata\": {\"name\": \"real\"}}");
    let clusters = "/v2/cluster-providers/real/clusters";
    let doubled = with_bad_block(&kit).replace("kind: Config\n", "kind: Pod\nkind: Config\n");
    let body = json!({"metadata": {"name": "probe"}, "spec": {"kubeconfig": format!("\u{feff}{doubled}")}});
    let made = server.ask(&format!("POST {clusters}\n\n{body}"));
    assert!(made.starts_with("201") && made.contains(WARNING) && made.contains("duplicate key"), "{made}");
    let refused = "Content-Disposition: form-data; name=\"file\"; filename=\"filename\"";
    let utf_16: String = "kind: Config".chars().flat_map(|one| [one, '\0']).collect();
    let form = format!(
        "--part\nContent-Disposition: form-data; name=\"metadata\"\n\n{}\n--part\n{refused}\n\n{utf_16}\n--part--\n",
        json!({"metadata": {"name": "bad"}})
    );
    let emco = format!("POST {clusters}\nContent-Type: multipart/form-data; boundary=part\n\n{form}");
    let answer = server.listeners()[1].ask(&emco);
    assert!(
        answer.starts_with("400") && answer.contains("is UTF-16, little endian: convert it first"),
        "{answer}"
    );
    server.stop();
}

#[test]
fn a_file_that_is_not_utf_8_is_refused_by_its_encoding_wherever_it_is_read() {
    let user = User::new();
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: a\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let file = user.home().join("file");
    user.write("cloud", "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: a}, spec: {users: [{name: a}]}}\n");
    for (bytes, encoding) in [
        ([b"\xff\xfe", &*little].concat(), "UTF-16, little endian"),
        (little, "UTF-16, little endian"),
        ([b"\xfe\xff", &*big].concat(), "UTF-16, big endian"),
        (b"name: Z\xfcrich\n".to_vec(), "in another encoding, such as Latin-1 or Windows-1252"),
        (b"a: \xff\xff\xff\xff".to_vec(), "in another encoding, such as Latin-1 or Windows-1252"),
        (b"\xff\xfe\x00\x00a\x00\x00\x00".to_vec(), "UTF-32, little endian"),
    ] {
        std::fs::write(&file, &bytes).unwrap();
        for arguments in [
            &["cluster", "add", "real/probe", "--kubeconfig", "file"][..],
            &["cluster", "add", "real/probe", "--unchecked", "--kubeconfig", "file"],
            &["cluster", "role", "--for", "cloud", "--kubeconfig", "file"],
        ] {
            let said = user.run(arguments).ended_with(3);
            let expected =
                format!("dcm: kubeconfig file: it must be UTF-8, and is {encoding}: convert it first");
            assert_eq!(said.lines().next_back(), Some(&*expected), "{arguments:?}");
        }
    }
}
