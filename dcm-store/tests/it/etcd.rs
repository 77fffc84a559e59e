//! What only etcd does: members that die, users, TLS, and what others put beside our documents.
#![allow(clippy::unwrap_used)]
#![cfg(feature = "etcd")]

use crate::documents;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dcm_core::port::store::{Change, Document, Error, PageRequest, Prefix, Store, StoreExt as _, Write};
use dcm_store::etcd::{Location, Tls, User};
use dcm_store::{EtcdStore, OpenError};
use dcm_testenv::Standalone;
use dcm_testenv::effort::patience;
use dcm_testenv::etcd_http::{ask, demand_users, forget_users, metrics, put};
use futures::{StreamExt as _, future};
use serde_json::json;
use tokio::net::TcpSocket;

use self::documents::{answered, create, path, words};

/// How many don't read. What a connection keeps for so many is more than it keeps for all by default.
const READERS: usize = 5;

/// More than a server and a connection keep for one of them.
const LARGE_DOCUMENTS: usize = 500;
const LARGE_BYTES: usize = 64 * 1024;

/// How many calls are made at once.
const CALLS: usize = 200;

fn location(server: &Standalone) -> Location {
    Location::at(server.address().to_string())
}

/// The URL of a location with TLS or without.
fn tls_url(location: &Location) -> String {
    let tls = location.tls.clone().unwrap_or_default();
    let (certificate, key) = tls.identity.unzip();
    let files = [("ca", tls.authorities), ("cert", certificate), ("key", key)];
    let options = files.into_iter().filter_map(|(name, file)| Some(format!("{name}={}", file?.display())));
    format!("etcd://{}?{}", location.endpoints[0], options.collect::<Vec<_>>().join("&"))
}

#[tokio::test]
async fn a_member_that_is_gone_is_passed_over_also_by_writes() {
    let (gone, server) = (Standalone::etcd().await.unwrap(), Standalone::etcd().await.unwrap());
    gone.kill();
    let endpoints = [&gone, &server].map(|member| member.address().to_string()).to_vec();
    let store = EtcdStore::open(&Location { endpoints, ..Location::at("") }).await.unwrap();
    create(&store, "a").await.unwrap();
    // The one that is asked now dies, too, and comes back.
    server.kill();
    assert!(matches!(create(&store, "b").await, Err(Error::Unavailable { .. })));
    server.start().await.unwrap();
    answered(async || create(&store, "b").await).await;
    assert_eq!(store.list_all(&Prefix::everything()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_watch_ends_as_lost_when_its_server_dies_or_falls_silent() {
    let server = Standalone::etcd().await.unwrap();
    let store = EtcdStore::open(&location(&server)).await.unwrap();
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    server.kill();
    let told = tokio::time::timeout(patience(), watch.next()).await.unwrap();
    assert_eq!((told, watch.next().await), (Some(Change::Lost), None));
    server.start().await.unwrap();
    let mut watch = answered(async || store.watch(&Prefix::everything()).await).await;
    server.freeze();
    let told = tokio::time::timeout(patience(), watch.next()).await.unwrap();
    assert_eq!(told, Some(Change::Lost));
    let answered = tokio::time::timeout(patience(), store.get(&path("a"))).await.unwrap();
    assert!(matches!(answered, Err(Error::Unavailable { .. })), "{answered:?}");
    server.thaw();
}

#[tokio::test]
async fn readers_who_do_not_read_hinder_nobody_and_are_told_that_they_lost_what_etcd_has_compacted() {
    let server = Standalone::etcd().await.unwrap();
    let store = EtcdStore::open(&location(&server)).await.unwrap();
    let mut watches = Vec::new();
    for _ in 0..READERS {
        watches.push(store.watch(&Prefix::everything()).await.unwrap());
    }
    let large = Document::from_value(&json!("x".repeat(LARGE_BYTES))).unwrap();
    let mut last = None;
    for number in 0..LARGE_DOCUMENTS {
        let path = path(&format!("large/{number}"));
        last = Some(store.write_one(Write::Create { path, document: large.clone() }).await.unwrap());
    }
    ask(&server, "kv/compaction", &json!({"revision": last.unwrap().0.to_string()})).unwrap();
    for watch in &mut watches {
        let told = watch.by_ref().take_while(|change| future::ready(*change != Change::Lost)).count();
        let told = tokio::time::timeout(patience(), told).await.unwrap();
        assert!(told < LARGE_DOCUMENTS, "it was not behind");
        assert_eq!(watch.next().await, None);
    }
    assert_eq!(store.list_all(&Prefix::everything()).await.unwrap().len(), LARGE_DOCUMENTS);
}

#[tokio::test]
async fn users_say_who_they_are_and_once_more_when_etcd_has_forgotten_it() {
    let server = Standalone::etcd().await.unwrap();
    demand_users(&server, "p@ss").unwrap();
    let with = |user: Option<(&str, &str)>, prefix: &str| {
        let user = user.map(|(name, password)| User { name: name.into(), password: password.into() });
        Location { user, prefix: prefix.into(), ..location(&server) }
    };
    for (user, prefix, said) in [
        (Some(("us", "wrong")), "dcm", "user and password"),
        (None, "dcm", "missing"),
        (Some(("us", "p@ss")), "theirs", "does not allow"),
    ] {
        let refused = EtcdStore::open(&with(user, prefix)).await.err().unwrap();
        let text = format!("{} {refused:?}", words(&refused));
        assert!(matches!(refused, Error::Failed { .. }), "{text}");
        assert!(text.contains(said) && !text.contains("p@ss"), "{text}");
        let user = user.map(|(name, password)| format!("{name}:{}@", password.replace('@', "%40")));
        let url = format!("etcd://{}{}/{prefix}", user.unwrap_or_default(), server.address());
        let text = words(&dcm_store::open(&url).await.err().unwrap());
        assert!(text.contains(said) && !text.contains("p@ss"), "{text}");
    }
    let by_url = dcm_store::open(&format!("etcd://us:p%40ss@{}", server.address())).await.unwrap();
    create(&*by_url, "by-url").await.unwrap();
    let store = EtcdStore::open(&with(Some(("us", "p@ss")), "dcm")).await.unwrap();
    assert!(store.get(&path("by-url")).await.unwrap().is_some());
    create(&store, "a").await.unwrap();
    forget_users(&server, "p@ss").unwrap();
    assert!(store.get(&path("a")).await.unwrap().is_some());
    forget_users(&server, "p@ss").unwrap();
    create(&store, "b").await.unwrap();
    drop(store.watch(&Prefix::everything()).await.unwrap());
}

#[tokio::test]
async fn many_calls_at_once_say_only_once_who_we_are() {
    let server = Standalone::etcd().await.unwrap();
    demand_users(&server, "p@ss").unwrap();
    let user = Some(User { name: "us".into(), password: "p@ss".into() });
    let store = EtcdStore::open(&Location { user, ..location(&server) }).await.unwrap();
    forget_users(&server, "p@ss").unwrap();
    let before = authentications(&server);
    let asked = (0..CALLS).map(|_| answered(async || store.get(&path("a")).await));
    assert!(future::join_all(asked).await.iter().all(Option::is_none));
    assert_eq!(authentications(&server) - before, 1);
}

#[tokio::test]
async fn who_we_are_is_said_once_where_nobody_asks_and_again_when_somebody_does() {
    let server = Standalone::etcd().await.unwrap();
    let user = Some(User { name: "us".into(), password: "p@ss".into() });
    let store = EtcdStore::open(&Location { user, ..location(&server) }).await.unwrap();
    let asked = (0..CALLS).map(|_| answered(async || store.get(&path("a")).await));
    assert!(future::join_all(asked).await.iter().all(Option::is_none));
    assert_eq!(authentications(&server), 1);
    demand_users(&server, "p@ss").unwrap();
    create(&store, "a").await.unwrap();
    drop(store.watch(&Prefix::everything()).await.unwrap());
}

/// How often anybody said who they are.
fn authentications(server: &Standalone) -> u32 {
    let metrics = metrics(server).unwrap();
    let counters = metrics.lines().filter(|line| line.starts_with("grpc_server_started_total{"));
    let mut counter = counters.filter(|line| line.contains("grpc_method=\"Authenticate\""));
    counter.next().unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_handshake_that_is_never_answered_is_given_up() {
    let server = Standalone::etcd_with_tls().await.unwrap();
    let swallows = Arc::new(AtomicBool::new(false));
    let address = forwarded(server.address(), swallows.clone()).await;
    let tls = Some(Tls { authorities: Some(server.authority()), identity: Some(server.identity()) });
    let store = EtcdStore::open(&Location { tls, ..Location::at(address.to_string()) }).await.unwrap();
    create(&store, "a").await.unwrap();
    swallows.store(true, Ordering::Relaxed);
    server.kill();
    server.start().await.unwrap();
    // The first one may find the connection that has just broken.
    for _ in 0..2 {
        let unanswered = tokio::time::timeout(patience(), store.get(&path("a"))).await.unwrap();
        assert!(matches!(unanswered, Err(Error::Unavailable { .. })), "{unanswered:?}");
    }
    swallows.store(false, Ordering::Relaxed);
    assert!(answered(async || store.get(&path("a")).await).await.is_some());
}

/// Forwards connections to a server, but for those that are made while it swallows: they are kept, and never answered.
async fn forwarded(server: SocketAddr, swallows: Arc<AtomicBool>) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((mut connection, _)) = listener.accept().await {
            if swallows.load(Ordering::Relaxed) {
                kept.push(connection);
            } else {
                tokio::spawn(async move {
                    let mut server = tokio::net::TcpStream::connect(server).await?;
                    tokio::io::copy_bidirectional(&mut connection, &mut server).await
                });
            }
        }
    });
    address
}

#[tokio::test]
async fn tls_needs_the_authority_and_a_certificate_of_ours() {
    let server = Standalone::etcd_with_tls().await.unwrap();
    let other = Standalone::etcd_with_tls().await.unwrap();
    let with = |authority: &Standalone, identity: Option<&Standalone>| {
        let identity = identity.map(Standalone::identity);
        Location {
            tls: Some(Tls { authorities: Some(authority.authority()), identity }),
            ..location(&server)
        }
    };
    let store = EtcdStore::open(&with(&server, Some(&server))).await.unwrap();
    create(&store, "a").await.unwrap();
    let by_url = dcm_store::open(&tls_url(&with(&server, Some(&server)))).await.unwrap();
    assert!(by_url.get(&path("a")).await.unwrap().is_some());
    for refused in
        [with(&other, Some(&server)), with(&server, None), with(&server, Some(&other)), location(&server)]
    {
        let error = EtcdStore::open(&refused).await.err().unwrap();
        assert!(matches!(error, Error::Unavailable { .. }), "{refused:?}: {error:?}");
        let error = dcm_store::open(&tls_url(&refused)).await.err().unwrap();
        assert!(matches!(error, OpenError::Store(Error::Unavailable { .. })), "{refused:?}: {error:?}");
    }
    let unknown = words(&EtcdStore::open(&with(&other, Some(&server))).await.err().unwrap());
    assert!(unknown.contains("certificate"), "{unknown}");
    let mut missing = with(&server, Some(&server));
    missing.tls.as_mut().unwrap().authorities = Some("/nowhere/ca.pem".into());
    let error = EtcdStore::open(&missing).await.err().unwrap();
    assert!(error.to_string().contains("/nowhere/ca.pem"), "{error}");
}

#[tokio::test]
async fn an_etcd_without_members_is_refused() {
    let nowhere = Location { endpoints: Vec::new(), ..Location::at("") };
    let error = EtcdStore::open(&nowhere).await.err().unwrap();
    assert!(matches!(&error, Error::Invalid { reason } if reason.contains("member")), "{error:?}");
}

#[tokio::test]
async fn what_can_not_be_reached_is_named() {
    let server = Standalone::etcd().await.unwrap();
    let address = server.address();
    server.kill();
    let error = dcm_store::open(&format!("etcd://me:p%40ss@{address}")).await.err().unwrap();
    let OpenError::Store(error) = error else { panic!("{error:?}") };
    let text = words(&error);
    assert!(text.contains(&address.to_string()) && !text.contains("p@ss"), "{text}");
}

#[tokio::test]
async fn all_members_that_were_tried_are_named() {
    // Sockets that have a port and don't listen: no other process gets it meanwhile.
    let sockets = [(); 2].map(|()| TcpSocket::new_v4().unwrap());
    let dead = sockets.each_ref().map(|socket| {
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        socket.local_addr().unwrap().to_string()
    });
    let url = format!("etcd://me:p%40ss@{}", dead.join(","));
    let text = words(&dcm_store::open(&url).await.err().unwrap());
    assert!(dead.iter().all(|member| text.contains(member)) && !text.contains("p@ss"), "{text}");
}

#[tokio::test]
async fn what_is_damaged_is_named_what_is_foreign_is_passed_over_and_the_rest_goes_on() {
    let server = Standalone::etcd().await.unwrap();
    let store: Arc<dyn Store> = Arc::new(EtcdStore::open(&location(&server)).await.unwrap());
    create(&*store, "ours/a").await.unwrap();
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    put(&server, "dcm/theirs//b", b"{}").unwrap();
    put(&server, "dcm/theirs/c", &[0xff]).unwrap();
    let told = tokio::time::timeout(patience(), watch.next()).await.unwrap();
    let damaged = store.get(&path("theirs/c")).await.unwrap().unwrap();
    assert_eq!(told, Some(Change::Put(damaged.clone())));
    let error = damaged.document.text().unwrap_err();
    assert!(error.to_string().contains("theirs/c"), "{error}");
    create(&*store, "ours/b").await.unwrap();
    let page = PageRequest { after: Some(path("ours/b")), limit: Some(1) };
    let page = store.list(&Prefix::everything(), &page).await.unwrap();
    assert_eq!(page.entries, std::slice::from_ref(&damaged), "what is no path is not counted");
    let all = store.list_all(&Prefix::everything()).await.unwrap();
    let paths: Vec<&str> = all.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["ours/a", "ours/b", "theirs/c"]);
    store.write_one(Write::Delete { path: damaged.path, version: damaged.version }).await.unwrap();
}
