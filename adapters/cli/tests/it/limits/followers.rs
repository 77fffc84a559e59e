//! Those who follow events: there are only so many.

use super::{PROJECT, limited};
use crate::common::installation::until;
use crate::common::server::Server;

const CLOUD: &str = "/v2/projects/other/logical-clouds/followed";

fn make(server: &Server) {
    assert!(server.ask(PROJECT).starts_with("201"));
    assert!(server.ask(&format!("PUT {CLOUD}\n\n{{}}")).starts_with("200"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_follower_too_many_is_told_to_come_again_and_the_others_go_on() {
    let server = limited(&["--followers-max", "2"]);
    make(&server);
    let events = format!("{CLOUD}/events");
    let mut followers = [(); 2].map(|()| server.follow(&events));
    for follower in &mut followers {
        assert!(follower.next().unwrap().contains("event: status"));
    }
    let refused = server.ask(&format!("GET {events}"));
    assert!(refused.starts_with("503\n") && refused.contains("\nretry-after: 1\n"), "{refused}");
    assert!(refused.contains("too many follow events now"), "{refused}");
    assert!(
        server.ask(&format!("PUT {CLOUD}\n\n{{\"spec\": {{\"namespace\": \"moved\"}}}}")).starts_with("200")
    );
    let changes = followers.each_mut().map(|follower| follower.next().unwrap());
    assert!(changes[0].contains("event: change") && changes[0].contains("moved"), "{changes:?}");
    assert_eq!(changes[0], changes[1]);
    let [first, _] = followers;
    drop(first);
    until("a place for another one", async || server.follow(&events).head.starts_with("200").then_some(()))
        .await;
    server.stop();
}
