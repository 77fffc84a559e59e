//! What EMCO's command-line client sends for the file in the guide, on the three ports that it asks: from the first document to the last,
//! and back.
//!
//! The client itself is not at hand: what it sends is written down here.

use std::path::Path;

use dcm_testenv::{Environment, Route};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::common::User;
use crate::common::installation::until;
use crate::common::server::Server;

/// How the file of the guide begins.
const FILE: &str = "```yaml\n# stall.yaml";

/// What comes behind the anchor of a logical cloud to bring it to its clusters, and to take it off.
const OPERATIONS: (&str, &str) = ("/instantiate", "/terminate");

/// A document of such a file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    resource_context: Context,
    metadata: Option<Value>,
    spec: Option<Value>,
    file: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Context {
    anchor: String,
}

/// The documents of the guide.
fn documents() -> Vec<Document> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/emco.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, file) = page.split_once(FILE).unwrap();
    let (file, _) = file.split_once("```").unwrap();
    // What is behind the name of the file is a comment, too.
    let (_, documents) = file.split_once('\n').unwrap();
    documents.split("\n---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

impl Document {
    fn anchor(&self) -> &str {
        &self.resource_context.anchor
    }

    /// The place of the service that is asked for it, in the order of [`SERVICES`].
    fn service(&self) -> usize {
        let path: Vec<&str> = self.anchor().split('/').collect();
        let service = match path[..] {
            ["cluster-providers" | "clm-controllers", ..] => "clm",
            ["projects", _, "logical-clouds", ..] => "dcm",
            ["projects" | "controllers", ..] => "orchestrator",
            _ => panic!("{path:?} is of no service"),
        };
        SERVICES.iter().position(|one| *one == service).unwrap()
    }

    /// The body: it has metadata, whatever it is of.
    fn body(&self) -> Value {
        let mut body = json!({"metadata": self.metadata.clone().unwrap_or(json!({"name": ""}))});
        if let Some(spec) = &self.spec {
            body["spec"] = spec.clone();
        }
        body
    }

    /// What is sent to make it.
    fn apply(&self, kubeconfig: &str) -> String {
        let (line, body) = (format!("POST /v2/{}", self.anchor()), self.body());
        if self.file.is_none() {
            return format!("{line}\nContent-Type: application/json\n\n{body}");
        }
        format!(
            "{line}\nContent-Type: multipart/form-data; boundary=part\n\n\
             --part\nContent-Disposition: form-data; name=\"metadata\"\n\n{body}\n\
             --part\nContent-Disposition: form-data; name=\"file\"; filename=\"filename\"\n\
             Content-Type: application/octet-stream\n\n{}\n--part--\n",
            kubeconfig.trim_end()
        )
    }

    /// What is sent to take it away.
    fn delete(&self) -> String {
        let anchor = self.anchor();
        match anchor.strip_suffix(OPERATIONS.0) {
            Some(cloud) => format!("POST /v2/{cloud}{}", OPERATIONS.1),
            None => {
                format!("DELETE /v2/{anchor}/{}", self.metadata.as_ref().unwrap()["name"].as_str().unwrap())
            }
        }
    }
}

/// The services, as their ports are given.
const SERVICES: [&str; 3] = ["orchestrator", "clm", "dcm"];

/// Sends a request to the service of a document, and waits for the end of what it begins.
async fn send(server: &Server, document: &Document, request: &str) -> String {
    let listener = server.listeners()[document.service()];
    let answer = listener.ask(request);
    let line = request.lines().next().unwrap();
    for (operation, done) in [(OPERATIONS.0, "Instantiated"), (OPERATIONS.1, "Terminated")] {
        if let Some(cloud) = line.strip_prefix("POST ").and_then(|path| path.strip_suffix(operation)) {
            let (status, told) = (format!("GET {cloud}/status"), format!("\"deployedStatus\":\"{done}\""));
            until(done, async || listener.ask(&status).contains(&told).then_some(())).await;
        }
    }
    format!("{line} {}", &answer[..3])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_of_the_guide_is_applied_and_deleted_as_emcos_client_does() {
    let environment = Environment::group("emco", 2).await.unwrap();
    let kubeconfig = environment.clusters()[0].admin_kubeconfig(Route::Direct);
    let options = SERVICES.map(|service| format!("--emco-listen={service}=127.0.0.1:0"));
    let (server, _) = Server::serving(User::new(), &options.each_ref().map(String::as_str));
    let (documents, mut sent) = (documents(), Vec::new());
    for document in &documents {
        sent.push(send(&server, document, &document.apply(&kubeconfig)).await);
    }
    for document in documents.iter().rev() {
        sent.push(send(&server, document, &document.delete()).await);
    }
    let expected = [
        "POST /v2/projects 201",
        "POST /v2/cluster-providers 201",
        "POST /v2/cluster-providers/edge/clusters 201",
        "POST /v2/projects/shop/logical-clouds 201",
        "POST /v2/projects/shop/logical-clouds/stall/cluster-references 201",
        "POST /v2/projects/shop/logical-clouds/stall/user-permissions 201",
        "POST /v2/projects/shop/logical-clouds/stall/instantiate 202",
        "POST /v2/projects/shop/logical-clouds/stall/terminate 202",
        "DELETE /v2/projects/shop/logical-clouds/stall/user-permissions/sell 204",
        "DELETE /v2/projects/shop/logical-clouds/stall/cluster-references/first 204",
        "DELETE /v2/projects/shop/logical-clouds/stall 204",
        "DELETE /v2/cluster-providers/edge/clusters/berlin 204",
        "DELETE /v2/cluster-providers/edge 204",
        "DELETE /v2/projects/shop 204",
    ];
    assert_eq!(sent, expected);
    server.stop();
}
