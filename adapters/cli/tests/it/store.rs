//! What operators do with a store itself, with real servers beneath it.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::installation::until;
use crate::common::{Ran, UNREACHABLE, User, code_of, interrupt};
use dcm_store::Keyring;
use dcm_store::transfer::LINE_BYTES_MAX;
use dcm_testenv::Standalone;
use dcm_testenv::effort::report_left_out;
use dcm_testenv::etcd_http::demand_users;
use mongodb::bson::{Document, doc};
use rusqlite::Connection;
use rustix::process::geteuid;
use serde_json::Value;
use tokio::net::TcpSocket;

const DOCUMENT: &str = "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: c, description: first}, spec: {users: [{name: ann}], clusters: [{provider: p, cluster: c}]}}";

/// A person with a cluster that never answers, and a cloud on it.
fn person() -> User {
    let user = User::new();
    let file = user.write("config", UNREACHABLE);
    user.run(["cluster", "add", "p/c", "--unchecked", "--kubeconfig", file.to_str().unwrap()]).done();
    user.run_with_input(&["apply", "--no-wait", "-f", "-"], DOCUMENT).done();
    user
}

fn document(user: &User, store: &[&str]) -> String {
    user.run(["get", "c", "-o", "json"].iter().chain(store)).done()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_goes_on_in_another_store_with_the_same_keys() {
    let user = person();
    let (etcd, mongodb) = (Standalone::etcd().await.unwrap(), Standalone::mongodb().await.unwrap());
    user.run(["store", "export", "--file", "all.jsonl"]).done();
    let text = std::fs::read_to_string(user.home().join("all.jsonl")).unwrap();
    assert!(text.contains("$sealed") && !text.contains("hunter2") && !text.contains("PRIVATE KEY"));
    assert_eq!(user.run(["store", "export"]).done(), text);
    let in_mongodb = format!("mongodb://{}", mongodb.address());
    for server in [format!("etcd://{}", etcd.address()), in_mongodb.clone()] {
        let url = format!("{server}?timeout=60");
        let said = user.run(["store", "import", "all.jsonl", "--store", &url]);
        assert!(said.code == 0 && said.out.contains("documents imported"), "{said:#?}");
        assert_eq!(user.run(["store", "export", "--store", &url]).done(), text);
        assert_eq!(document(&user, &["--store", &url]), document(&user, &[]));
        let clusters = user.run(["cluster", "list", "--store", &url]).done();
        assert!(clusters.contains("https://127.0.0.1:1"), "{clusters}");
    }
    let database = mongodb::Client::with_uri_str(in_mongodb).await.unwrap().database("dcm");
    let root = doc! { "kind": "logical-clouds", "project": "default", "logicalCloud": "c" };
    assert_eq!(database.collection::<Document>("DCM").count_documents(root).await.unwrap(), 1);
}

#[test]
fn an_export_that_fails_half_way_leaves_nothing_and_can_be_tried_again() {
    let user = person();
    let folder = user.home().join("exports");
    std::fs::create_dir(&folder).unwrap();
    let export = || user.run(["store", "export", "--file", "exports/all.jsonl"]);
    let path = break_in_sqlite(&user, "logical-clouds/", r#"{"key":{"$secret":"hunter2"}}"#);
    let said = export().ended_with(1);
    assert!(said.contains(&path) && said.contains("a secret in clear"), "{said}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    break_in_sqlite(&user, &path, "{}");
    export().done();
    let text = std::fs::read_to_string(folder.join("all.jsonl")).unwrap();
    assert_eq!(user.run(["store", "export"]).done(), text);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[tokio::test]
async fn an_export_that_is_interrupted_leaves_nothing() {
    let user = person();
    let many = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000) \
        INSERT INTO documents SELECT 'many/' || n, n, '{}' FROM numbers";
    sqlite(&user).execute(many, ()).unwrap();
    let folder = user.home().join("exports");
    std::fs::create_dir(&folder).unwrap();
    let export = folder.join("all.jsonl");
    until("an export that is interrupted before it is done", async || {
        let mut command = user.command();
        let running = command.args(["store", "export", "--file"]).arg(&export).stdout(Stdio::null()).spawn();
        let running = running.unwrap();
        until("a part of the export", async || has_a_part(&folder).then_some(())).await;
        interrupt(&running);
        let code = code_of(running);
        if code == Some(0) {
            // The machine did nothing else meanwhile, and the export was faster.
            std::fs::remove_file(&export).unwrap();
            return None;
        }
        assert_eq!(code, Some(130));
        Some(())
    })
    .await;
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

/// Returns whether a file in the folder has something in it: what is to become an export has a name of its own until it is whole.
fn has_a_part(folder: &Path) -> bool {
    let mut files = std::fs::read_dir(folder).unwrap();
    files.any(|file| file.unwrap().metadata().is_ok_and(|metadata| metadata.len() > 0))
}

#[test]
fn an_export_of_documents_names_the_other_store() {
    let user = person();
    let said = user.run(["store", "export", "--contexts-store", "memory:"]);
    assert!(said.code == 0 && said.err.contains("app contexts have a store of their own"), "{said:#?}");
}

#[test]
fn keys_are_made_where_nothing_is_encrypted_and_nowhere_else() {
    let user = person();
    user.run(["store", "export", "--file", "all.jsonl"]).done();
    let other = ["--store", "sqlite:other.db", "--key-file", "other.json"];
    user.run(["get"].iter().chain(&other)).done();
    user.run(["store", "import", "all.jsonl", "--store", "sqlite:other.db"]).done();
    let said = user.run(["cluster", "list"].iter().chain(&other)).ended_with(1);
    assert!(said.contains("these are not the keys of the store"), "{said}");
    std::fs::remove_file(user.home().join("other.json")).unwrap();
    let said = user.run(["cluster", "list"].iter().chain(&other)).ended_with(1);
    assert!(said.contains("other.json is not there") && !user.home().join("other.json").exists(), "{said}");
    let clusters = user.run(["cluster", "list", "--store", "sqlite:other.db"]).done();
    assert!(clusters.contains("https://127.0.0.1:1"), "{clusters}");
}

#[test]
fn keys_can_be_made_before_there_is_a_store_and_never_over_others() {
    let user = User::new();
    user.run(["store", "new-keys", "keys.json"]).done();
    let kept = std::fs::read_to_string(user.home().join("keys.json")).unwrap();
    let again = user.run(["store", "new-keys", "keys.json"]).ended_with(1);
    assert_eq!(again, "dcm: keys.json is there already\n");
    let user = User::with([("DCM_KEYS", kept)]);
    user.run(["--store", "sqlite:store.db", "get"]).done();
}

#[test]
fn an_import_writes_nothing_over_and_says_where_it_ended() {
    let user = person();
    user.run(["store", "export", "--file", "all.jsonl"]).done();
    assert!(user.run(["store", "export", "--file", "all.jsonl"]).ended_with(1).contains("all.jsonl"));
    user.run_with_input(&["apply", "--no-wait", "-f", "-"], &DOCUMENT.replace("first", "second")).done();
    let said = user.run(["store", "import", "all.jsonl"]).ended_with(5);
    assert!(said.contains("is there already, with other content"), "{said}");
    assert!(document(&user, &[]).contains("second"));
}

#[test]
fn an_import_of_what_is_no_export_says_so_and_what_it_did_before() {
    let user = person();
    let there = documents(&sqlite(&user));
    for wrong in ["{}\n", "{\"dcmStoreExport\":1}\n{}\n"] {
        user.write("none.jsonl", wrong);
        let said = user.run(["store", "import", "none.jsonl"]).ended_with(3);
        assert!(said.contains("none.jsonl: line ") && said.contains("is none of an export"), "{said}");
        assert_eq!(documents(&sqlite(&user)), there);
    }
    let export = user.run(["store", "export"]).done();
    let cut_off: String = export.lines().take(4).map(|line| line.to_owned() + "\n").collect();
    let import =
        |text: &str| user.run_with_input(&["store", "import", "-", "--store", "sqlite:new.db"], text);
    let said = import(&(cut_off.clone() + "{}\n")).ended_with(1);
    assert!(said.contains("the first 3 documents of - are imported") && said.contains("line 5"), "{said}");
    let said = import(&cut_off).ended_with(1);
    assert!(said.contains("ends after 3 documents"), "{said}");
    assert!(import(&export).done().contains("documents imported"));
    assert_eq!(user.run(["store", "export", "--store", "sqlite:new.db"]).done(), export);
}

#[test]
fn programs_read_how_many_documents_were_exported_and_imported() {
    let user = person();
    let count = |words: &[&str]| {
        let report: Value =
            serde_json::from_str(&user.run(words.iter().chain(&["-o", "json"])).done()).unwrap();
        report["documents"].as_u64().unwrap()
    };
    let exported = count(&["store", "export", "--file", "all.jsonl"]);
    let lines = std::fs::read_to_string(user.home().join("all.jsonl")).unwrap().lines().count();
    assert_eq!(exported, lines as u64 - 2);
    assert_eq!(count(&["store", "import", "all.jsonl", "--store", "sqlite:new.db"]), exported);
}

#[test]
fn an_import_says_which_line_is_too_long() {
    let user = User::new();
    user.write("long.jsonl", &format!("{{\"dcmStoreExport\":1}}\n{}", "x".repeat(LINE_BYTES_MAX + 1)));
    let said = user.run(["store", "import", "long.jsonl"]).ended_with(1);
    assert!(said.contains("long.jsonl: line 2") && said.contains(&LINE_BYTES_MAX.to_string()), "{said}");
}

#[test]
fn a_new_key_encrypts_everything_and_the_earlier_one_can_go() {
    let user = person();
    let raw = |user: &User| user.run(["store", "export"]).done();
    let before = document(&user, &[]);
    assert!(raw(&user).contains(r#""key":"k1""#));
    let report = user.run(["store", "rekey", "-o", "json"]).done();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert!(report["current"] == "k2" && report["resealed"].as_u64().unwrap() >= 1, "{report}");
    assert!(raw(&user).contains(r#""key":"k2""#) && !raw(&user).contains(r#""key":"k1""#));
    let said = user.run(["store", "rekey", "--same-key", "--forget-earlier", "--settle", "1s"]).done();
    assert!(said.contains("key k2 encrypts and signs") && said.contains("forgotten: k1"), "{said}");
    assert_eq!(document(&user, &[]), before);
    assert!(user.run(["cluster", "list"]).done().contains("p/c"));
}

#[test]
fn keys_come_from_the_environment_too_and_wrong_ones_change_nothing() {
    let user = person();
    let keys = std::fs::read_to_string(user.home().join(".config/dcm/keys.json")).unwrap();
    std::fs::remove_file(user.home().join(".config/dcm/keys.json")).unwrap();
    let with_keys = |keys: &str, words: &[&str]| {
        let mut command = user.command();
        Ran::of(command.env("DCM_KEYS", keys).args(words).output().unwrap())
    };
    assert!(with_keys(&keys, &["cluster", "list"]).done().contains("p/c"));
    let raw = documents(&sqlite(&user));
    let renamed = keys.replace("\"k1\"", "\"other\"");
    let another = Keyring::open_or_create(user.home().join("another.json")).map(drop);
    another.unwrap();
    let another = std::fs::read_to_string(user.home().join("another.json")).unwrap();
    let config = user.home().join("config");
    let add = ["cluster", "add", "p/d", "--unchecked", "--kubeconfig", config.to_str().unwrap()];
    let commands: [&[&str]; 5] =
        [&["cluster", "list"], &add, &["terminate", "c", "--no-wait"], &["serve"], &["store", "check"]];
    for command in commands {
        for (keys, named) in [
            (&*renamed, "there is no key \"k1\""),
            (&another, "by key \"k1\" does not match"),
            ("hunter2", "DCM_KEYS holds no keys"),
        ] {
            let said = with_keys(keys, command).ended_with(1);
            assert!(said.contains(named), "{command:?}: {said}");
        }
        let said = user.run(command.iter().copied()).ended_with(1);
        assert!(said.contains("keys.json is not there"), "{command:?}: {said}");
    }
    let said = user.run(["store", "rekey"]).ended_with(1);
    assert!(said.contains("keys.json is not there"), "{said}");
    let said = user.run(["store", "rekey", "--key-file", "another.json"]).ended_with(1);
    assert!(said.contains("these are not the keys of the store"), "{said}");
    assert_eq!(std::fs::read_to_string(user.home().join("another.json")).unwrap(), another);
    assert!(!user.home().join(".config/dcm/keys.json").exists());
    assert_eq!(documents(&sqlite(&user)), raw);
    let said = with_keys(&keys, &["store", "rekey"]).ended_with(1);
    assert!(said.contains("are made and removed where they come from"), "{said}");
}

#[test]
fn the_keys_of_one_store_that_are_wrong_for_the_other_change_neither() {
    let user = person();
    let keys = user.home().join(".config/dcm/keys.json");
    let contexts = user.home().join(".local/share/dcm/store.db");
    let contexts_url = format!("sqlite:{}", contexts.display());
    Keyring::open_or_create(user.home().join("wrong.json")).unwrap();
    let there = documents(&sqlite(&user));
    let halves = ["cluster", "list", "--store", "sqlite:new.db", "--contexts-store", &contexts_url];
    let said = user.run(halves.iter().chain(&["--key-file", "wrong.json"])).ended_with(1);
    assert!(said.contains("these are not the keys of the store"), "{said}");
    assert_eq!(documents(&Connection::open(user.home().join("new.db")).unwrap()), []);
    assert_eq!(documents(&sqlite(&user)), there);
    user.run(halves.iter().chain(&["--key-file", keys.to_str().unwrap()])).done();
}

/// Mounts the folder `$1` read-only for the command behind it, and for no other process.
const ON_A_READ_ONLY_DISK: &str = r#"
    mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && cd "$1" && shift && exec "$@"
"#;

/// Mounts a small disk on the folder `$1` for the command behind it, and for no other process, with a copy of the store of the person at
/// home there, and room for what SQLite needs to read it and no more.
const ON_A_FULL_DISK: &str = r#"
    mount -t tmpfs -o size=1m none "$1" && cp .local/share/dcm/store.db "$1" && cd "$1" || exit 99
    shift
    dd if=/dev/zero of=filler bs=1k 2>/dev/null
    truncate -s -60K filler
    exec "$@"
"#;

/// Refuses each write of a file by the command behind it.
const WITH_FILES_THAT_CANT_GROW: &str = r#"trap '' XFSZ; ulimit -f 0; exec "$@""#;

/// The shell with a script in a mount namespace of its own.
const MOUNTING: [&str; 5] = ["unshare", "--map-root-user", "--mount", "sh", "-c"];

/// Root, but bound by the modes of files as other users are.
const BOUND_BY_MODES: [&str; 2] = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"];

/// Runs `dcm` at the home of a person, behind other words.
fn behind(user: &User, before: &[&str], words: &[&str]) -> Ran {
    let dcm = user.command();
    let program = dcm.get_program().to_str().unwrap();
    let all = [before, &[program], words].concat();
    let mut command = Command::new(all[0]);
    command.args(&all[1..]).current_dir(user.home()).env_clear();
    command.envs(dcm.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = command.env("PATH", std::env::var_os("PATH").unwrap()).output();
    Ran::of(ran.unwrap_or_else(|error| panic!("{}: {error}; apt-get install util-linux", all[0])))
}

/// Runs `dcm` on a disk that a script makes of a folder.
fn on_disk(user: &User, script: &str, folder: &Path, words: &[&str]) -> Ran {
    behind(user, &[&MOUNTING[..], &[script, "sh", folder.to_str().unwrap()]].concat(), words)
}

/// Returns whether disks can be made without being the system's administrator, which few containers allow; reports what is left out
/// where they can't.
fn can_mount(what: &str) -> bool {
    let mount = [&MOUNTING[..], &[r#"mount -t tmpfs none "$HOME""#]].concat();
    let home = tempfile::tempdir().unwrap();
    let made = Command::new(mount[0]).args(&mount[1..]).env("HOME", home.path()).output();
    let can = made.is_ok_and(|made| made.status.success());
    if !can {
        report_left_out(&format!("{what} (no user namespaces with mounts are allowed here)"));
    }
    can
}

#[test]
fn a_disk_that_is_full_is_an_error_that_says_so() {
    let user = person();
    if !can_mount("a store on a full disk") {
        return;
    }
    let folder = user.home().join("small");
    std::fs::create_dir(&folder).unwrap();
    let on_it = |words: &[&str]| {
        on_disk(&user, ON_A_FULL_DISK, &folder, &[words, &["--store", "sqlite:store.db"]].concat())
    };
    let said = on_it(&["terminate", "c", "--no-wait"]).ended_with(1);
    assert!(said.contains("store.db: the disk is full"), "{said}");
    assert!(on_it(&["get"]).done().contains("c  "));
}

#[test]
fn a_file_that_can_not_be_written_to_is_an_error_that_says_so() {
    let user = person();
    let limited = ["sh", "-c", WITH_FILES_THAT_CANT_GROW, "sh"];
    let there = documents(&sqlite(&user));
    let said = behind(&user, &limited, &["terminate", "c", "--no-wait"]).ended_with(1);
    assert!(said.contains("store.db: reading or writing the store's file failed"), "{said}");
    assert_eq!(documents(&sqlite(&user)), there);
    user.run(["terminate", "c", "--no-wait"]).done();
}

#[test]
fn a_disk_that_can_only_be_read_is_an_error_that_says_so() {
    let user = person();
    if can_mount("a store on a disk that can only be read") {
        let on_it = |words: &[&str]| on_disk(&user, ON_A_READ_ONLY_DISK, user.home(), words);
        only_reads(&user, on_it, "Read-only file system");
    }
}

#[test]
fn a_file_that_its_mode_protects_is_an_error_that_says_so() {
    let user = person();
    let before = if geteuid().is_root() { &BOUND_BY_MODES[..] } else { &[] };
    let folder = user.home().join(".local/share/dcm");
    let bound = |words: &[&str]| {
        protect(&user, &folder, 0o500, 0o400);
        let ran = behind(&user, before, words);
        protect(&user, &folder, 0o700, 0o600);
        ran
    };
    only_reads(&user, bound, "Permission denied");
}

/// Sets the modes of a person's home and of the folder of their store, and of all files in that.
fn protect(user: &User, folder: &Path, of_folders: u32, of_files: u32) {
    let set = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        set(&file.unwrap().path(), of_files);
    }
    [user.home(), folder].into_iter().for_each(|folder| set(folder, of_folders));
}

/// No command does anything where the store of a person can only be read, and names the file and why.
fn only_reads(user: &User, run: impl Fn(&[&str]) -> Ran, why: &str) {
    let file = user.home().join(".local/share/dcm/store.db");
    for words in [&["get"][..], &["terminate", "c", "--no-wait"], &["store", "check"], &["serve"]] {
        let said = run(words).ended_with(1);
        assert!(said.contains(&file.display().to_string()) && said.contains("can't be written"), "{said}");
    }
    // A process that was killed leaves files beside it.
    let (store, there) = (sqlite(user), documents(&sqlite(user)));
    store.execute("UPDATE counter SET version = version", ()).unwrap();
    assert!(file.with_extension("db-wal").exists());
    let said = run(&["get"]).ended_with(1);
    assert!(said.contains("store.db: the store's file can't be written"), "{said}");
    let said = run(&["get", "--store", "sqlite:new.db"]).ended_with(1);
    assert!(said.contains("new.db") && said.contains(why), "{said}");
    assert_eq!(documents(&store), there);
    drop(store);
    assert!(user.run(["get"]).done().contains("c  "));
}

/// All that is in a file, as it is kept.
fn documents(file: &Connection) -> Vec<(String, i64, String)> {
    let mut all = file.prepare("SELECT path, version, document FROM documents ORDER BY path").unwrap();
    let rows = all.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The store that a person has where nothing is said.
fn sqlite(user: &User) -> Connection {
    Connection::open(user.home().join(".local/share/dcm/store.db")).unwrap()
}

/// Puts another text in the place of the document whose path begins so, and gives its path.
fn break_in_sqlite(user: &User, beginning: &str, text: &str) -> String {
    let store = sqlite(user);
    let find = "SELECT path FROM documents WHERE path LIKE ?1 || '%' LIMIT 1";
    let path: String = store.query_row(find, (beginning,), |row| row.get(0)).unwrap();
    store.execute("UPDATE documents SET document = ?2 WHERE path = ?1", (&path, text)).unwrap();
    path
}

#[test]
fn a_check_finds_nothing_in_a_sound_store_and_names_what_is_broken_in_another() {
    let user = person();
    let said = user.run(["store", "check"]).done();
    assert!(said.ends_with(": nothing is wrong\n") && said.contains("1 logical-clouds"), "{said}");
    let report: Value = serde_json::from_str(&user.run(["store", "check", "-o", "json"]).done()).unwrap();
    assert_eq!((&report["findings"], &report["documents"]["clusters"]), (&serde_json::json!([]), &1.into()));

    let root = break_in_sqlite(&user, "contexts/", r#"{"schema":7,"password":"hunter2"}"#);
    let part = break_in_sqlite(&user, "parts/", "hunter2");
    let before = user.run(["store", "export"]).done();
    let ran = user.run(["store", "check", "-o", "json"]);
    assert_eq!(ran.code, 5, "{ran:#?}");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let found = report["findings"].as_array().unwrap().iter();
    let found: Vec<_> =
        found.map(|one| (one["path"].as_str().unwrap(), one["rule"].as_str().unwrap())).collect();
    assert_eq!(found, [(root.as_str(), "unopened"), (part.as_str(), "unopened")], "{report:#}");
    let table = user.run(["store", "check"]);
    assert!(table.out.contains(&root) && table.out.contains("2 of which require action"), "{table:#?}");
    assert!(!format!("{table:?}{ran:?}").contains("hunter2"));
    assert_eq!(user.run(["store", "export"]).done(), before);
}

#[test]
fn a_check_reads_both_stores_and_tells_what_lies_in_the_wrong_one() {
    let user = person();
    let contexts = format!("sqlite:{}", user.home().join("contexts.db").display());
    user.run(["get", "--store", &contexts]).done();
    let ran = user.run(["store", "check", "--contexts-store", &contexts]);
    assert_eq!(ran.code, 5, "{ran:#?}");
    assert!(ran.out.contains("it belongs into the other store"), "{}", ran.out);
    let of_cloud = ran.out.lines().find(|line| line.starts_with("logical-clouds/default/c ")).unwrap();
    assert!(of_cloud.contains(" missing ") && of_cloud.contains("/root is not there"), "{of_cloud}");
}

#[test]
fn a_check_of_one_store_that_is_named_twice_finds_it_sound() {
    let user = person();
    let store = format!("sqlite:{}", user.home().join(".local/share/dcm/store.db").display());
    let said = user.run(["store", "check", "--store", &store, "--contexts-store", &store]).done();
    assert!(said.ends_with(": nothing is wrong\n"), "{said}");
}

#[test]
fn a_store_that_is_not_there_is_neither_found_sound_nor_made() {
    let user = person();
    let file = user.home().join("typo.db");
    for words in [&["check"][..], &["export"], &["rekey"]] {
        let said =
            user.run(["store"].iter().chain(words).chain(&["--store", "sqlite:typo.db"])).ended_with(1);
        assert!(said.contains("typo.db: there is no such file") && !file.exists(), "{said}");
    }
    // One in which nothing is encrypted yet has no need of keys, and gets none.
    let new = ["--store", "sqlite:new.db", "--key-file", "new.json"];
    user.run(["store", "import", "/dev/null"].iter().chain(&new)).ended_with(1);
    user.run(["store", "check"].iter().chain(&new)).done();
    assert!(!user.home().join("new.json").exists());
}

#[test]
fn documents_that_were_written_before_a_store_has_keys_are_found() {
    let user = User::new();
    let store = ["--store", "sqlite:new.db", "--key-file", "new.json"];
    let secret = r#"{"schema":1,"kubeconfig":{"$secret":"hunter2"}}"#;
    let forged =
        "{\"dcmStoreExport\":1}\n{\"path\":\"projects/p\",\"document\":{\"schema\":1}}\n{\"end\":1}\n";
    user.run_with_input(&["store", "import", "-", store[0], store[1]], forged).done();
    let file = Connection::open(user.home().join("new.db")).unwrap();
    let insert = "INSERT INTO documents (path, version, document) VALUES ('clusters/p/a', 9, ?1)";
    file.execute(insert, (secret,)).unwrap();
    let ran = user.run(["store", "check"].iter().chain(&store));
    assert_eq!(ran.code, 5, "{ran:#?}");
    for path in ["clusters/p/a", "projects/p"] {
        assert!(ran.out.contains(&format!("{path} has no MAC")), "{ran:#?}");
    }
    assert!(!user.home().join("new.json").exists() && !format!("{ran:?}").contains("hunter2"));
}

#[test]
fn one_corrupt_record_is_named_and_the_rest_is_shown() {
    let user = person();
    let other = DOCUMENT.replace("name: c, description: first", "name: other");
    user.run_with_input(&["apply", "--no-wait", "-f", "-"], &other).done();
    let root = break_in_sqlite(&user, "logical-clouds/default/c", r#"{"schema":7}"#);
    for command in ["get", "status"] {
        let ran = user.run([command]);
        assert!(ran.code == 1 && ran.out.contains("other") && ran.err.contains(&root), "{command}: {ran:#?}");
        assert!(user.run([command, "c"]).ended_with(1).contains(&root));
        user.run([command, "other"]).done();
    }
    let cluster = break_in_sqlite(&user, "clusters/", "{");
    assert!(user.run(["cluster", "list"]).ended_with(1).contains(&cluster));
}

/// A loopback address without a listener. No other process gets its port as long as the socket is held.
fn unused_address() -> (TcpSocket, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = socket.local_addr().unwrap().to_string();
    (socket, address)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_can_not_be_opened_is_named_with_what_was_tried_and_without_its_password() {
    let (guarded, etcd) = (Standalone::etcd().await.unwrap(), Standalone::etcd_with_tls().await.unwrap());
    let (mongodb, other) =
        (Standalone::mongodb_with_tls().await.unwrap(), Standalone::etcd_with_tls().await.unwrap());
    demand_users(&guarded, "right").unwrap();
    let ([(_held, gone), (_also_held, also_gone)], authority) =
        ([unused_address(), unused_address()], other.authority());
    let [guarded, etcd, mongodb] = [&guarded, &etcd, &mongodb].map(|server| server.address().to_string());
    let authority = authority.display();
    let table = [
        (
            "mysql://us:hunt%40er2@127.0.0.1/dcm".to_owned(),
            "\"mysql\" is no kind of store; these are: ",
            "etcd",
        ),
        (format!("etcd://us:hunt%40er2@{gone}"), &*gone, "does not answer"),
        (format!("mongodb://us:hunt%40er2@{also_gone}/?timeout=2"), &*also_gone, "refused"),
        (format!("etcd://us:hunt%40er2@{guarded}"), &*guarded, "does not accept this user and password"),
        (format!("etcd://us:hunt%40er2@{etcd}?ca={authority}"), &*etcd, "certificate"),
        (
            format!("mongodb://us:hunt%40er2@{mongodb}/?timeout=2&tls=true&tlsCAFile={authority}"),
            &*mongodb,
            "certificate",
        ),
    ];
    for (url, tried, why) in table {
        let commands: [&[&str]; 4] = [
            &["get", "--store", &url],
            &["serve", "--store", &url],
            &["get", "--contexts-store", &url],
            &["store", "export", "--store", &url],
        ];
        for command in commands {
            let ran = User::new().run(command.iter().copied());
            let (code, text) = (ran.code, format!("{ran:?}"));
            let is_named = ran.err.contains(tried) && ran.err.contains(why);
            let says_password = ["hunt@er2", "hunt%40er2", "er2"].iter().any(|word| text.contains(word));
            assert!(code == 1 && ran.out.is_empty() && is_named && !says_password, "{url}: {ran:#?}");
        }
    }
}

#[test]
fn a_store_on_another_machine_is_not_spoken_to_in_clear() {
    let in_clear = [
        ("etcd://us:hunter2@etcd.example/dcm", "etcd.example:2379 is another machine"),
        ("mongodb://us:hunter2@127.0.0.1,mongo.example/", "mongo.example:27017 is another machine"),
    ];
    for (url, rule) in in_clear {
        let commands: [(&[&str], i32, &str); 5] = [
            (&["get", "--store", url], 1, "the store can't be opened"),
            (&["get", "--contexts-store", url], 1, "the store of app contexts can't be opened"),
            (&["store", "export", "--store", url], 1, "insecure=true"),
            (&["serve", "--store", url], 3, "store: "),
            (&["serve", "--print-config", "--contexts-store", url], 3, "contextsStore: "),
        ];
        for (command, code, named) in commands {
            let said = User::new().run(command.iter().copied()).ended_with(code);
            assert!(
                said.contains(rule) && said.contains(named) && said.contains("tls=true"),
                "{command:?}: {said}"
            );
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}
