//! How much of a cluster's answers is read: on a real API server with large objects, and on servers that make them up.

use crate::common::answering::{answer, answering};
use crate::common::*;
use dcm_core::port::cluster::{Call, Cluster as _, Error, Page, PageToken, Watch, WatchEvent};
use dcm_core::port::listing::{list_all, listed};
use dcm_kube::kubeconfig::Allowed;
use dcm_kube::{KubeCluster, Options};
use dcm_testenv::effort::patience;
use dcm_testenv::{AuditFilter, Cluster as Server, Environment, Route, Stage};
use futures::StreamExt as _;
use serde_json::{Value, json};

const KIB: usize = 1024;

async fn limited(server: &Server, options: &Options) -> KubeCluster {
    connect(&server.admin_kubeconfig(Route::Direct), options).await
}

/// The limits that pages were asked for with.
fn limits(server: &Server, owner: &str) -> Vec<usize> {
    let limit = |path: String| path.split_once("limit=")?.1.split('&').next()?.parse().ok();
    server_paths(server, owner).into_iter().filter_map(limit).collect()
}

/// The URIs of the requests with an owner's User-Agent, as the audit log has them.
fn server_paths(server: &Server, owner: &str) -> Vec<String> {
    let events = server.audit_log().matching(&AuditFilter::new().stage(Stage::ResponseComplete)).unwrap();
    let of_owner = events.into_iter().filter(|event| event.user_agent.contains(&format!(" owner={owner} ")));
    of_owner.map(|event| event.request_uri).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_too_large_is_asked_for_again_with_fewer_objects() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (administrator, maker) = (administrator(server).await, call("sizes-pages"));
    namespace(&administrator, &maker, "sizes-pages").await;
    let text = "x".repeat(20 * KIB);
    for n in 0..12 {
        let large = data(&maker, "sizes-pages", &format!("c{n}"), &json!({"text": text}));
        administrator.create(&maker, &large).await.unwrap();
    }
    let small_pages = Options { page_bytes_max: 100 * KIB, ..Options::default() };
    let few_values = Options { values_max: 300, ..Options::default() };
    for (options, owner) in [(small_pages, "sizes-bytes"), (few_values, "sizes-values")] {
        let cluster = limited(server, &options).await;
        let mut watch = cluster.watch(&maker, &selection(&maker, &config_map())).await.unwrap();
        let found = listed(&mut watch, &config_map(), |object| Some(object.key)).await.unwrap();
        assert_eq!(found.len(), 12, "{owner}");
        let asking = Call { owner: call(owner).owner, ..maker.clone() };
        let maps = config_map();
        let all = list_all(&cluster, &asking, &maps, Some("sizes-pages"), |object| Some(object.key));
        let mut all = all.await.unwrap();
        all.sort();
        all.dedup();
        all.retain(|key| key.name.starts_with('c'));
        assert_eq!(all.len(), 12, "{owner}");
        let limits = limits(server, owner);
        assert!(limits[0] == 500 && limits[1] < 12 && limits.len() > 3, "{owner}: {limits:?}");
        assert!(limits[2..].iter().all(|limit| *limit <= limits[1]), "{owner}: {limits:?}");
    }
    let cluster = limited(server, &Options { page_bytes_max: 100 * KIB, ..Options::default() }).await;
    assert!(cluster.contents(&maker, "sizes-pages", None).await.unwrap().count >= 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_answers_that_wait_for_their_turn_are_in_the_way_of_no_other() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    // Wider than all that is read here: nothing waits for the rate.
    let wide = Options { cluster_bytes_burst: 1024 * 1024 * KIB as u64, ..Options::default() };
    let (administrator, call) = (limited(server, &wide).await, call("sizes-turns"));
    namespace(&administrator, &call, "sizes-turns").await;
    let text = "x".repeat(300 * KIB);
    for n in 0..10 {
        let large = data(&call, "sizes-turns", &format!("c{n}"), &json!({"text": text}));
        administrator.create(&call, &large).await.unwrap();
    }
    // A watch whose first page is not read keeps its place, and one place is left.
    let unread = administrator.watch(&call, &selection(&call, &config_map())).await.unwrap();
    let maps = config_map();
    let all = (0..20).map(|_| list_all(&administrator, &call, &maps, Some("sizes-turns"), |_| Some(())));
    let all = within(patience(), futures::future::join_all(all));
    let small = async {
        for _ in 0..20 {
            administrator.uid(&call).await.unwrap();
        }
    };
    let (all, ()) = tokio::join!(all, within(patience(), small));
    assert!(all.iter().all(|list| list.as_ref().is_ok_and(|list| list.len() >= 10)), "{all:?}");
    drop(unread);
}

fn unsupported<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    match outcome {
        Err(Error::Unsupported { what }) => what,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_too_large_is_named_and_is_in_the_way_of_its_kind_alone() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let (administrator, call) = (administrator(server).await, call("sizes-object"));
    namespace(&administrator, &call, "sizes-object").await;
    let cluster = limited(server, &Options { object_bytes_max: 64 * KIB, ..Options::default() }).await;
    let of_maps = selection(&call, &config_map());
    let mut open = cluster.watch(&call, &of_maps).await.unwrap();
    assert!(matches!(open.next().await, Some(Ok(WatchEvent::Listed(objects))) if objects.is_empty()));

    let large = data(&call, "sizes-object", "large", &json!({"text": "x".repeat(100 * KIB)}));
    administrator.create(&call, &large).await.unwrap();
    let event = within(patience(), open.next()).await.expect("the event");
    assert_eq!(unsupported(event), "one v1 ConfigMap of more than 65536 bytes");
    assert!(open.next().await.is_none());

    let named = "a list with one v1 ConfigMap of more than 65536 bytes";
    assert_eq!(unsupported(cluster.watch(&call, &of_maps).await.map(drop)), named);
    let list = list_all(&cluster, &call, &config_map(), Some("sizes-object"), Some).await;
    assert_eq!(unsupported(list), named);
    let found = cluster.get(&call, &config_map(), large.manifest.key()).await;
    assert_eq!(unsupported(found), "one v1 ConfigMap of more than 65536 bytes");
    let secrets =
        cluster.watch(&call, &selection(&call, &kind("", "v1", "Secret"))).await.unwrap().next().await;
    assert!(matches!(secrets, Some(Ok(WatchEvent::Listed(_)))), "{secrets:?}");
}

/// A server that answers this, whatever it is asked.
async fn saying(body: &Value, options: Options) -> KubeCluster {
    let (address, mut seen) = answering(answer(200, &body.to_string())).await;
    tokio::spawn(async move { while seen.recv().await.is_some() {} });
    let kubeconfig = format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: c}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n"
    );
    let options = Options { allowed: Allowed { insecure: true, ..Allowed::default() }, ..options };
    connect(&kubeconfig, &options).await
}

/// A page of a list that goes on for ever.
fn endless(objects: usize) -> Value {
    let object = |n: usize| {
        let name = format!("c{n}");
        json!({"metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "5"}})
    };
    let items: Vec<Value> = (0..objects).map(object).collect();
    json!({"metadata": {"resourceVersion": "5", "continue": "more"}, "items": items})
}

/// Reads the list that a watch begins with up to its error. Returns how many objects came before, and the error.
async fn end(watch: &mut Watch) -> (usize, Error) {
    let mut count = 0;
    loop {
        match within(patience(), watch.next()).await.expect("an end") {
            Ok(WatchEvent::Listing(objects)) => count += objects.len(),
            Ok(event) => panic!("{event:?}"),
            Err(error) => return (count, error),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_goes_on_for_ever_ends_with_an_error_that_names_its_kind() {
    let call = call("sizes-endless");
    let options = || Options { list_objects_max: 10, list_bytes_max: 100 * KIB as u64, ..Options::default() };
    for (body, options, limit, most) in [
        (endless(2), options(), "10 objects", 10),
        (endless(2), Options { list_objects_max: 100_000, ..options() }, "102400 bytes", 2000),
        (endless(0), Options { list_bytes_max: u64::MAX, ..options() }, "1000 empty pages", 0),
    ] {
        let cluster = saying(&body, options).await;
        let mut watch = cluster.watch(&call, &selection(&call, &config_map())).await.unwrap();
        let (count, error) = end(&mut watch).await;
        assert_eq!(
            unsupported(Err::<(), _>(error)),
            format!("a list of v1 ConfigMap with more than {limit}")
        );
        assert!(count <= most, "{count}");
        assert!(watch.next().await.is_none());
        if most > 10 || most == 0 {
            let list = list_all(&cluster, &call, &config_map(), None, Some).await;
            assert!(unsupported(list).contains("ConfigMap"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_list_is_gone() {
    let cluster = saying(&endless(0), Options::default()).await;
    for foreign in ["", "more", "1:2:more", "a:b:c:d"] {
        let token = PageToken(foreign.into());
        let page: Result<Page, Error> = cluster.list(&call("c"), &config_map(), None, Some(&token)).await;
        assert!(matches!(page, Err(Error::Gone)), "{page:?}");
    }
}
