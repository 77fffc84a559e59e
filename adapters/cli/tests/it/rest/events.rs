//! Following a logical cloud.

use serde_json::{Map, Value};

use crate::rest::server::{self, Events, Server};

const CLOUD: &str = "/v2/projects/shop/logical-clouds/rest-events";

/// A status that is kept as its events say.
struct Followed {
    events: Events,
    status: Value,
}

impl Followed {
    fn of(server: &Server) -> Self {
        Self { events: server.follow(&format!("{CLOUD}/events")), status: Value::Null }
    }

    /// Takes the next event, and gives its kind; none at the end.
    fn take(&mut self) -> Option<String> {
        let event = self.events.next()?;
        let field = |name: &str| {
            let line = event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.unwrap().to_owned()
        };
        let (kind, data) = (field("event"), serde_json::from_str(&field("data")).unwrap());
        match &*kind {
            "status" => self.status = data,
            "change" => patch(&mut self.status, data),
            _ => {}
        }
        Some(kind)
    }

    fn until(&mut self, state: &str) {
        while self.status["state"] != state {
            self.take().unwrap();
        }
    }
}

/// Takes a JSON merge patch in, as RFC 7396 has it.
fn patch(target: &mut Value, patched: Value) {
    let Value::Object(members) = patched else {
        *target = patched;
        return;
    };
    if !target.is_object() {
        *target = Map::new().into();
    }
    for (name, member) in members {
        match member {
            Value::Null => drop(target.as_object_mut().unwrap().remove(&name)),
            member => patch(&mut target[name], member),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_tell_a_status_and_all_that_changes_of_it_until_the_cloud_is_gone() {
    let (_environment, server) = server::on_clusters(1, "rest-events").await;
    let done = |request: &str, status: &str| {
        let answer = server.ask(request);
        assert!(answer.starts_with(status), "{request}: {answer}");
    };
    done("POST /v2/projects\n\n{\"metadata\": {\"name\": \"shop\"}}", "201");
    done(&format!("PUT {CLOUD}\n\n{{}}"), "200");
    let mut followed = Followed::of(&server);
    assert_eq!(followed.take().as_deref(), Some("status"));
    assert_eq!(followed.status["state"], "created");
    let reference = r#"{"metadata": {"name": "first"}, "spec": {"cluster-provider": "real", "cluster-name": "cluster-1"}}"#;
    done(&format!("POST {CLOUD}/cluster-references\n\n{reference}"), "200");
    assert_eq!(followed.take().as_deref(), Some("change"));
    assert_eq!(followed.status["clusters"]["real/cluster-1"]["reference"], "first");
    done(&format!("POST {CLOUD}/apply"), "200");
    followed.until("instantiated");
    // What is put together of changes is what is told at once.
    let mut late = Followed::of(&server);
    late.take().unwrap();
    while followed.status != late.status {
        followed.take().unwrap();
    }
    done(&format!("POST {CLOUD}/terminate"), "202");
    followed.until("terminated");
    done(&format!("DELETE {CLOUD}"), "204");
    while followed.take().unwrap() != "deleted" {}
    assert_eq!(followed.take(), None);
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn events_end_when_the_server_does() {
    let server = Server::new();
    server.ask("POST /v2/projects\n\n{\"metadata\": {\"name\": \"shop\"}}");
    server.ask(&format!("PUT {CLOUD}\n\n{{}}"));
    let mut followed = Followed::of(&server);
    followed.take().unwrap();
    let stopping = server.begin_to_stop();
    assert_eq!(followed.take(), None);
    stopping.end();
}
