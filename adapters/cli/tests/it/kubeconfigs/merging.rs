//! The user's own kubeconfig is written as `kubectl config` writes it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use dcm_testenv::{Environment, Route};
use serde_json::Value;

use crate::common::installation::until;
use crate::common::{Ran, User, code_of, interrupt, said};

/// So many users merge at once.
const USERS: usize = 6;

/// A cloud with users who have credentials.
struct Cloud {
    environment: Environment,
    user: User,
    name: &'static str,
}

impl Cloud {
    async fn new(name: &'static str) -> Self {
        let environment = Environment::group("kubeconfigs", 1).await.unwrap();
        let user = User::new();
        let cluster = &environment.clusters()[0];
        let file = user.write("administrator", &cluster.admin_kubeconfig(Route::Direct));
        user.run(["cluster", "add", "real/one", "--kubeconfig", file.to_str().unwrap()]).done();
        let users: Vec<String> = (0..USERS).map(|number| format!("{{name: {}}}", user_of(number))).collect();
        let cloud = format!(
            "{{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {{name: {name}}}, spec: {{users: [{}], \
             permissions: [{{name: look, apiGroups: [''], resources: [pods], verbs: [list]}}], \
             clusters: [{{provider: real, cluster: one}}]}}}}",
            users.join(", ")
        );
        user.run_with_input(&["apply", "-f", "-"], &cloud).done();
        Self { environment, user, name }
    }

    fn home(&self) -> &Path {
        self.user.home()
    }

    /// The command that merges what a user has, with more arguments.
    fn merge(&self, number: usize, list: &str, more: &[&str]) -> Command {
        let mut command = self.user.command();
        command.args(["kubeconfig", self.name, "--user", &user_of(number), "--merge"]).args(more);
        command.env("KUBECONFIG", list).stdin(Stdio::null());
        command
    }

    fn merged(&self, number: usize, list: &str, more: &[&str]) -> Ran {
        Ran::of(self.merge(number, list, more).output().unwrap())
    }

    /// kubectl with the same files.
    fn kubectl(&self, list: &str) -> Command {
        let mut kubectl = Command::new(self.environment.kubectl());
        kubectl.env_clear().env("HOME", self.home()).env("KUBECONFIG", list).current_dir(self.home());
        kubectl.stdin(Stdio::null());
        kubectl
    }

    fn context(&self, number: usize) -> String {
        format!("{}@default/{}/one", user_of(number), self.name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        self.user.write(name, text)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.home().join(name)).unwrap()
    }

    fn value(&self, name: &str) -> Value {
        serde_saphyr::from_str(&self.read(name)).unwrap()
    }

    /// The files of the home folder, without what the command keeps for itself.
    fn names(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.home()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| {
                !matches!(name.as_str(), ".local" | ".config" | ".kube" | ".cache" | "administrator")
            })
            .collect()
    }
}

fn user_of(number: usize) -> String {
    format!("user-{number}")
}

const OWN: &str = "apiVersion: v1\nkind: Config\ncurrent-context: home\nclusters:\n- name: home\n  cluster: {server: 'https://home.invalid'}\n\
    contexts:\n- name: home\n  context: {cluster: home, user: me}\nusers:\n- name: me\n  user: {token: mine}\n";

fn contexts(file: &Value) -> BTreeSet<&str> {
    file["contexts"].as_array().into_iter().flatten().map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn merges_at_once_and_beside_kubectl_all_land() {
    let cloud = Cloud::new("at-once").await;
    cloud.write("own", OWN);
    let started: Vec<Child> = (0..USERS)
        .map(|number| cloud.merge(number, "own", &[]).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    // kubectl does not wait for a lock.
    let mut by_kubectl = cloud.kubectl("own");
    by_kubectl.args(["config", "set-context", "by-kubectl", "--cluster=home", "--user=me"]);
    let tried = RefCell::new(by_kubectl);
    until("kubectl to find the file unlocked", async || {
        tried.borrow_mut().output().unwrap().status.success().then_some(())
    })
    .await;
    for child in started {
        Ran::of(child.wait_with_output().unwrap()).done();
    }
    let own = cloud.value("own");
    let wanted: BTreeSet<String> = (0..USERS).map(|number| cloud.context(number)).collect();
    let found = contexts(&own);
    assert!(wanted.iter().all(|name| found.contains(&**name)), "{found:?}");
    assert!(found.contains("by-kubectl") && found.contains("home"), "{found:?}");
    assert_eq!(own["current-context"], "home");
    assert_eq!(cloud.names(), BTreeSet::from(["own".to_owned()]));
    for name in wanted {
        let mut kubectl = cloud.kubectl("own");
        assert_eq!(said(kubectl.args(["--context", &name, "auth", "can-i", "list", "pods"])), "yes\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_files_the_one_that_kubectl_writes_to_is_written() {
    let cloud = Cloud::new("several").await;
    let before: [(&str, &[&str]); 8] = [
        ("new:own", &["own"]),
        ("own:new", &["own"]),
        ("own:second", &["own", "second"]),
        ("second:own", &["own", "second"]),
        ("new:newer", &[]),
        ("new", &[]),
        ("own", &["own"]),
        ("below/new:own", &["own"]),
    ];
    for (list, there) in before {
        let fill = || {
            let _ = fs::remove_dir_all(cloud.home().join("below"));
            for name in ["own", "second", "new", "newer"] {
                let _ = fs::remove_file(cloud.home().join(name));
                let text = if name == "own" { OWN } else { "apiVersion: v1\nkind: Config\n" };
                if there.contains(&name) {
                    cloud.write(name, text);
                }
            }
        };
        let written = || -> Vec<&str> {
            let is_written = |name: &&str| {
                let text = fs::read_to_string(cloud.home().join(name)).unwrap_or_default();
                text.contains("probe") || text.contains(cloud.name)
            };
            ["own", "second", "new", "newer", "below/new"].into_iter().filter(is_written).collect()
        };
        fill();
        said(cloud.kubectl(list).args(["config", "set-context", "probe", "--cluster=probe", "--user=probe"]));
        let by_kubectl = written();
        let current = said(cloud.kubectl(list).args(["config", "view", "-o", "jsonpath={.current-context}"]));
        fill();
        let ran = cloud.merged(0, list, &[]);
        assert_eq!(ran.code, 0, "{list}: {ran:?}");
        assert_eq!(written(), by_kubectl, "{list}");
        let now = said(cloud.kubectl(list).args(["config", "view", "-o", "jsonpath={.current-context}"]));
        let expected = if current.is_empty() { cloud.context(0) } else { current };
        assert_eq!(now, expected, "{list}");
        assert!(cloud.names().iter().all(|name| !name.contains("lock")), "{:?}", cloud.names());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_stays_in_its_file_and_the_current_context_changes_on_request_alone() {
    let cloud = Cloud::new("stays").await;
    cloud.write("own", OWN);
    cloud.write("second", "apiVersion: v1\nkind: Config\nextensions: []\nunknown: yes\n");
    cloud.merged(0, "own", &[]).done();
    let (own, second) = (cloud.read("own"), cloud.read("second"));
    // What is there is replaced where it is, and the other file is not touched.
    cloud.merged(0, "second:own", &[]).done();
    assert_eq!((cloud.read("own"), cloud.read("second")), (own, second));
    cloud.merged(1, "second:own", &[]).done();
    let (own, second) = (cloud.value("own"), cloud.value("second"));
    let (first_context, second_context) = (cloud.context(0), cloud.context(1));
    assert_eq!(contexts(&own), BTreeSet::from(["home", &*first_context]));
    assert_eq!(contexts(&second), BTreeSet::from([&*second_context]));
    assert_eq!((&second["unknown"], second.get("current-context")), (&Value::Bool(true), None));

    let current = || said(cloud.kubectl("second:own").args(["config", "current-context"]));
    assert_eq!(current(), "home\n");
    cloud.merged(1, "second:own", &["--use"]).done();
    assert_eq!(current(), format!("{second_context}\n"));
    assert_eq!(cloud.value("own")["current-context"], "home");
    let said = Ran::of(cloud.user.command().args(["kubeconfig", cloud.name, "--use"]).output().unwrap());
    assert_eq!(said.code, 2, "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_under_several_names_keeps_what_is_merged_into_it() {
    let cloud = Cloud::new("names").await;
    symlink("own", cloud.home().join("link")).unwrap();
    for list in ["link:own", "own:link", "own:./own", "same:own", "own:same"] {
        let own = cloud.write("own", OWN);
        let _ = fs::remove_file(cloud.home().join("same"));
        fs::hard_link(&own, cloud.home().join("same")).unwrap();
        for _ in 0..2 {
            cloud.merged(0, list, &[]).done();
            assert_eq!(contexts(&cloud.value("own")), BTreeSet::from(["home", &*cloud.context(0)]), "{list}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_is_interrupted_while_it_waits_leaves_no_lock_and_changes_nothing() {
    let cloud = Cloud::new("interrupted").await;
    cloud.write("a", OWN);
    cloud.write("b", "apiVersion: v1\nkind: Config\n");
    cloud.write("b.lock", "");
    let before = cloud.names();
    let waiting = cloud.merge(0, "a:b", &[]).spawn().unwrap();
    let is_waiting = async || cloud.home().join("a.lock").exists().then_some(());
    until("the merge to lock the first file", is_waiting).await;
    interrupt(&waiting);
    assert_eq!(code_of(waiting), Some(130));
    assert_eq!((cloud.names(), &*cloud.read("a")), (before, OWN));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_keeps_its_mode_its_owner_and_its_links() {
    let cloud = Cloud::new("in-place").await;
    let file = cloud.write("own", OWN);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    fs::hard_link(&file, cloud.home().join("same")).unwrap();
    fs::create_dir(cloud.home().join("below")).unwrap();
    symlink("../own", cloud.home().join("below/link")).unwrap();
    // Where the tests may, the file is of another user.
    let _ = std::os::unix::fs::chown(&file, Some(1234), Some(2345));
    let before = file.metadata().unwrap();
    cloud.merged(0, "below/link", &[]).done();
    let after = file.metadata().unwrap();
    assert_eq!(
        (after.ino(), after.mode(), after.nlink(), after.uid(), after.gid()),
        (before.ino(), before.mode(), 2, before.uid(), before.gid())
    );
    assert!(cloud.home().join("below/link").symlink_metadata().unwrap().is_symlink());
    assert!(contexts(&cloud.value("same")).contains(&*cloud.context(0)));
    cloud.merged(0, "made", &[]).done();
    assert_eq!(cloud.home().join("made").metadata().unwrap().mode() & 0o777, 0o600);
    symlink("elsewhere", cloud.home().join("dangling")).unwrap();
    cloud.merged(0, "dangling", &[]).done();
    assert!(cloud.read("elsewhere").contains(&cloud.context(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_fails_leaves_every_file_as_it_was() {
    let cloud = Cloud::new("fails").await;
    let own = cloud.write("own", OWN);
    // More than the largest file that the process may write, which is more than the store needs.
    let large = format!("{OWN}unknown: '{}'\n", "x".repeat(6 * 1024 * 1024));
    cloud.write("large", &large);
    cloud.write("broken", "users: [\n");
    cloud.write("foreign", &format!("users:\n- name: {}\n  user: {{token: mine}}\n", cloud.context(0)));
    fs::create_dir(cloud.home().join("folder")).unwrap();
    fs::write(cloud.home().join("utf-16"), OWN.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())
        .unwrap();
    let names = cloud.names();
    for (list, code, words) in [
        ("large", 1, "large can't be written, and was not changed"),
        ("large:own", 1, "large can't be written, and was not changed"),
        ("own:broken", 3, "broken was not changed"),
        ("own:foreign", 3, "foreign was not changed"),
        ("own:utf-16", 3, "must be UTF-8, and is UTF-16, little endian"),
        ("folder", 1, "folder can't be read"),
    ] {
        let read = || names.iter().map(|name| fs::read(cloud.home().join(name)).ok()).collect::<Vec<_>>();
        let before = read();
        let merge = cloud.merge(0, list, &[]);
        let mut limited = Command::new("sh");
        // In units of 512 bytes: 4 MiB.
        limited
            .args(["-c", "ulimit -f 8192 && exec \"$@\"", "sh"])
            .arg(merge.get_program())
            .args(merge.get_args());
        limited.env_clear().envs(merge.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = Ran::of(limited.current_dir(cloud.home()).stdin(Stdio::null()).output().unwrap());
        assert_eq!(ran.code, code, "{list}: {ran:?}");
        assert!(ran.err.contains(words), "{list}: {ran:?}");
        assert!(read() == before && cloud.names() == names, "{list}");
    }
    assert_eq!(fs::read_to_string(own).unwrap(), OWN);
}
