//! A server without a worker: it answers, and others on its store do the work.

use dcm_testenv::Environment;

use crate::common::installation::{CLUSTERS, Installation};
use crate::common::server;
use crate::workers::proof::owners;
use crate::workers::{all_done, document};

const NAME: &str = "answering";

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_worker_answers_and_leaves_the_work_to_another() {
    let environment = Environment::group("workers", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, NAME);
    let (answering, listeners, _log) =
        server::begin(&installation.person, &["--listen", "127.0.0.1:0", "--worker=false"]);
    let [listener] = listeners[..] else { panic!("it is asked at one address") };
    let since = installation.moment();
    let cloud = format!("/v2/projects/default/logical-clouds/{NAME}");
    let project = r#"{"metadata": {"name": "default"}}"#;
    assert!(listener.ask(&format!("POST /v2/projects\n\n{project}")).starts_with("201\n"));
    let stored = listener.ask(&format!("PUT {cloud}/document\n\n{}", document(&installation, NAME, 10)));
    assert!(stored.starts_with("201\n"), "{stored}");
    assert!(listener.ask(&format!("POST {cloud}/apply")).starts_with("200\n"));
    assert!(listener.ask("GET /readyz").starts_with("200\n"));

    // Whoever hands something over is told that nobody works, and clusters are asked nothing.
    let document = document(&installation, NAME, 10).to_string();
    let handed = installation.person.run_with_input(&["apply", "--no-wait", "-f", "-"], &document);
    assert!(handed.err.contains("no worker serves this store"), "{handed:?}");
    assert!(installation.requests(&since).iter().all(Vec::is_empty), "{:?}", installation.requests(&since));
    assert!(listener.ask(&format!("GET {cloud}/status")).contains(r#""state":"instantiating""#));

    let worker = installation.serve();
    all_done(&installation, 1).await;
    assert!(listener.ask(&format!("GET {cloud}/status")).contains(r#""state":"instantiated""#));
    assert_eq!(owners(&installation), [CLUSTERS], "one of the two has clusters");
    installation.terminate(NAME).done();
    worker.stop();
    answering.stop();
}
