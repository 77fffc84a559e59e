//! One life of a logical cloud on real clusters, after which no private key, token or kubeconfig of a cluster is found
//! anywhere but where it was handed out: not in any file at any moment, not in any word that was said, not on a cluster.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod known;
mod life;
mod planted;
mod search;
mod servers;
mod side;
mod witness;

use std::collections::BTreeSet;

use dcm_testenv::effort::leaves_out;
use life::{Life, STORE_KEY};
use search::Searcher;
use servers::Servers;

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_seen_anywhere_but_in_the_kubeconfig_of_its_user() {
    no_secret_is_seen_where_it_must_not_be(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_seen_with_documents_in_mongodb_and_contexts_in_etcd_either() {
    no_secret_is_seen_where_it_must_not_be(Some(Servers::mongodb_and_etcd().await)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_seen_with_documents_in_etcd_and_contexts_in_mongodb_either() {
    no_secret_is_seen_where_it_must_not_be(Some(Servers::etcd_and_mongodb().await)).await;
}

/// On servers a life is shorter by default: what it leaves out is the same for each store, and is there in the life with a file.
async fn no_secret_is_seen_where_it_must_not_be(servers: Option<Servers>) {
    let rest = "with state on servers: secrets while a cloud is looked at, in new credentials, and of a worker that is killed";
    let is_whole = servers.is_none() || !leaves_out(rest);
    let mut life = Life::begin(servers).await;
    life.registers_clusters().await;
    life.applies().await;
    life.takes_in_a_user_with_a_key_of_their_own().await;
    if is_whole {
        life.is_looked_at();
        life.changes().await;
        life.is_killed().await;
    }
    life.ends().await;

    let searcher = life.searcher();
    finds_what_it_looks_for(&searcher, &life);
    let mut found = in_files(&searcher, &life);
    found.extend(in_words(&searcher, &life));
    found.extend(on_clusters(&searcher, &life));
    found.extend(on_servers(&searcher, &life));
    assert!(found.is_empty(), "{found:#?}");
    life.witness.assert_nothing_temporary();
}

/// Each secret, in the dress in which it was handed out.
fn finds_what_it_looks_for(searcher: &Searcher, life: &Life) {
    let found = searcher.find(life.handed_out.as_bytes());
    for name in life.known.names() {
        let is_it = |found: &&str| found.starts_with(name.as_str());
        assert!(found.iter().any(is_it), "{name} is not even found where it was handed out");
    }
}

/// All that was ever seen on the disk. The one file that may hold a key is that of the store's keys, and those alone.
fn in_files(searcher: &Searcher, life: &Life) -> BTreeSet<String> {
    let kept = &life.witness.kept;
    if life.witness.servers.is_none() {
        // The log of the database is among them, with what was written last before the process was killed.
        assert!(
            kept.iter().any(|(file, bytes)| file.ends_with("store.db-wal") && contains(bytes, b"$sealed"))
        );
    }
    let (mut places, mut seen) = (BTreeSet::new(), false);
    for (file, bytes) in kept {
        let mut names = searcher.find(bytes);
        if file.ends_with("keys.json") {
            seen |= names.iter().any(|name| name.starts_with(STORE_KEY));
            names.retain(|name| !name.starts_with(STORE_KEY));
        }
        places.extend(names.into_iter().map(|name| format!("{}: {name}", file.display())));
    }
    assert!(seen, "not even the keys of the store are found where they are");
    places
}

/// All that reached the disks of the servers that keep state, where there are any.
fn on_servers(searcher: &Searcher, life: &Life) -> BTreeSet<String> {
    let Some(servers) = &life.witness.servers else { return BTreeSet::new() };
    let files = servers.files();
    // In MongoDB a dollar sign has another form.
    for mark in [&b"%24sealed"[..], b"$sealed"] {
        assert!(files.iter().any(|(_, bytes)| contains(bytes, mark)), "nothing sealed is found");
    }
    files.into_iter().flat_map(|(file, bytes)| found(searcher, &file, &bytes)).collect()
}

fn in_words(searcher: &Searcher, life: &Life) -> BTreeSet<String> {
    let said = life.witness.said.iter();
    said.flat_map(|(name, said)| found(searcher, &format!("dcm {name}"), said.as_bytes())).collect()
}

fn on_clusters(searcher: &Searcher, life: &Life) -> BTreeSet<String> {
    let files = side::files(&life.environment);
    // Both what was sent and what was stored can be read: here with the request of the user who keeps the key.
    let (sent, stored) = life.own_request();
    assert!(files.iter().any(|(file, bytes)| file.ends_with("audit.jsonl") && contains(bytes, &sent)));
    assert!(files.iter().any(|(file, bytes)| file.contains("etcd-data") && contains(bytes, &stored)));
    let objects = life.objects.iter().map(|(name, objects)| (name.clone(), objects.as_bytes().to_vec()));
    files.into_iter().chain(objects).flat_map(|(file, bytes)| found(searcher, &file, &bytes)).collect()
}

fn found(searcher: &Searcher, place: &str, bytes: &[u8]) -> BTreeSet<String> {
    searcher.find(bytes).into_iter().map(|name| format!("{place}: {name}")).collect()
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
