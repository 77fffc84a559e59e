//! The example that uses nothing but curl, from an empty store on.

use std::process::Command;

use dcm_testenv::{Environment, Route};

use crate::common::confined::Confined;
use crate::common::installation::until;
use crate::common::{Ran, User};
use crate::rest::server::Server;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rest.sh");

#[tokio::test(flavor = "multi_thread")]
async fn the_example_ends_with_a_kubeconfig_that_works_on_each_cluster() {
    let environment = Environment::group("rest", 2).await.unwrap();
    let person = User::new();
    let kubeconfigs: Vec<_> = environment
        .clusters()
        .iter()
        .map(|cluster| {
            let kubeconfig = Confined::Standard.kubeconfig(cluster, "dcm-rest-example", Route::Direct);
            person.write(&format!("{}.yaml", cluster.name()), &kubeconfig)
        })
        .collect();
    let server = Server::new();
    let mut script = Command::new(SCRIPT);
    script.args(kubeconfigs).env("API", format!("http://{}", server.address())).env("CLOUD", "rest-example");
    let ran = Ran::of(script.output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    let kubeconfig = person.write("seller.yaml", &ran.out);
    for reference in ["reference-1", "reference-2"] {
        let may = |verb: &str| {
            let mut kubectl = Command::new(environment.kubectl());
            kubectl.arg("--kubeconfig").arg(&kubeconfig).args(["--context", &format!("seller@{reference}")]);
            Ran::of(kubectl.args(["auth", "can-i", verb, "pods"]).output().unwrap()).out
        };
        assert_eq!((may("list").trim(), may("delete").trim()), ("yes", "no"));
    }
    // Once more, the first thing that is there is told.
    let ran = Ran::of(script.output().unwrap());
    assert!(ran.code != 0 && ran.err.contains("/problems/already-there"), "{ran:?}");
    let cloud = "/v2/projects/shop/logical-clouds/rest-example";
    assert!(server.ask(&format!("DELETE {cloud}?terminate=true")).starts_with("202"));
    until("its end", async || server.ask(&format!("GET {cloud}")).starts_with("404").then_some(())).await;
    server.stop();
}
