use crate::server::{Server, on_clusters};

#[tokio::test(flavor = "multi_thread")]
async fn probe() {
    let (_environment, server) = on_clusters(1, "rest").await;
    for request in include_str!("/tmp/probe.txt").split("\n====\n") {
        println!("--- {request}\n>>> {}", server.ask(request.trim_end()));
    }
    server.stop();
    Server::new().stop();
}
