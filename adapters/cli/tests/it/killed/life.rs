//! One logical cloud in a store of its own, from nothing to nothing, with a death on the way.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout};
use std::time::Duration;

use dcm_testenv::effort::patience;
use dcm_testenv::{Cluster, Route};

use crate::common::installation::timeout;
use crate::common::{Ran, User};
use crate::killed::doomed::{Task, Work};
use crate::killed::fate::{Death, POINT, TOKEN};
use crate::killed::places::{Kept, Places};

/// A dead process's clusters are free after this.
const LEASE: Duration = Duration::from_secs(1);

/// What the command says that leaves something for the next worker.
const LEFT: &str = "answered signing requests are left";

/// So many workers one after the other have had all the time that the work takes.
const WORKERS_MAX: usize = 10;

/// Exit codes of the command.
const STUCK: i32 = 5;
const NOT_THERE: i32 = 6;

pub(crate) struct Life {
    user: User,
    kept: Kept,
    pub(crate) cloud: String,
    /// Where it was killed.
    pub(crate) killed: Option<String>,
    /// Tokens that were issued to a process which died before it could keep them.
    pub(crate) lost_tokens: Vec<String>,
}

impl Life {
    pub(crate) fn begin(cluster: &Cluster, places: &Places, cloud: String) -> Self {
        let user = User::new();
        let kept = places.of(&cloud, user.home());
        let file = user.write("config", &cluster.admin_kubeconfig(Route::Direct));
        let life = Self { user, kept, cloud, killed: None, lost_tokens: Vec::new() };
        life.user.write("cloud.yaml", &life.document());
        let kubeconfig = file.to_str().unwrap();
        life.dcm(&["cluster", "add", "real/one", "--unchecked", "--kubeconfig", kubeconfig]).done();
        life
    }

    fn document(&self) -> String {
        format!(
            "{{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {{name: {}}}, spec: {{users: [{{name: ann}}, \
             {{name: ci, type: token}}], permissions: [{{name: look, apiGroups: [''], resources: [pods], verbs: [get]}}], \
             quotas: [{{name: q, hard: {{limits.cpu: 1}}}}], clusters: [{{provider: real, cluster: one}}]}}}}",
            self.cloud
        )
    }

    fn in_home(&self, file: &str) -> PathBuf {
        self.home().join(file)
    }

    fn dcm(&self, arguments: &[&str]) -> Ran {
        let mut command = self.user.command();
        command.env("DCM_STORE", &self.kept.store).env("DCM_KEY_FILE", self.in_home("keys.json"));
        command.envs(self.kept.contexts_store.iter().map(|url| ("DCM_CONTEXTS_STORE", url)));
        command.args(arguments).args(["--lease", "1s"]);
        Ran::of(command.output().unwrap())
    }

    /// The command does the work, all of it or what is left of it; what it leaves for the next worker, as it takes too long, the
    /// next one does.
    pub(crate) fn finish(&self, work: Work) {
        // A removal waits half a minute for requests of a dead process that may take effect yet.
        let timeout = timeout();
        let work = match work {
            Work::Apply => vec!["apply", "-f", "cloud.yaml", "--timeout", &timeout],
            Work::Terminate => vec!["terminate", &self.cloud, "--timeout", &timeout],
        };
        for _ in 0..WORKERS_MAX {
            let ran = self.dcm(&work);
            let is_left = ran.err.contains(LEFT);
            ran.done();
            if !is_left {
                return;
            }
        }
        panic!("killed {:?}: {WORKERS_MAX} workers left something", self.killed);
    }

    pub(crate) fn home(&self) -> &Path {
        self.user.home()
    }

    /// The command takes the cloud away again, where it was applied by then.
    pub(crate) fn give_up(&self) {
        let ran = self.dcm(&["terminate", &self.cloud, "--timeout", &timeout()]);
        let done = match ran.code {
            0 => true,
            NOT_THERE => ran.err.contains("there is no logical cloud"),
            STUCK => ran.err.contains("it was never applied and is on no cluster"),
            _ => false,
        };
        assert!(done, "killed {:?}: {ran:#?}", self.killed);
    }

    /// A user's kubeconfig, when everything is done.
    pub(crate) fn kubeconfig(&self, user: &str) -> String {
        self.dcm(&["kubeconfig", &self.cloud, "--user", user]).done()
    }

    /// Has a process do the work, and gives the points that it passed.
    pub(crate) fn trace(&self, test: &str, work: Work) -> Vec<String> {
        let mut process = self.start(test, work, None);
        let mut points = Vec::new();
        while let Some(point) = process.told(POINT) {
            points.push(point);
        }
        assert!(process.child.wait().unwrap().success(), "{points:#?}");
        points
    }

    /// Has a process do the work, and kills it at a point; false when it has done the whole work without passing there.
    pub(crate) fn killed(&mut self, death: Death, test: &str, work: Work) -> bool {
        let point = death.at.clone();
        let mut process = self.start(test, work, Some(death));
        self.killed = process.told(POINT);
        match &self.killed {
            Some(met) => assert_eq!(*met, point),
            None => assert!(process.child.wait().unwrap().success(), "it failed before {point}"),
        }
        self.lost_tokens.append(&mut process.tokens);
        self.killed.is_some()
    }

    fn start(&self, test: &str, work: Work, death: Option<Death>) -> Process {
        let key_file = self.in_home("keys.json").to_str().unwrap().to_owned();
        let (cloud, document, kept) = (self.cloud.clone(), self.document(), self.kept.clone());
        let task = Task { work, cloud, document, kept, key_file, lease: LEASE, limit: patience(), death };
        let mut child = task.command(test).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Process { child, lines, tokens: Vec::new() }
    }
}

/// A doomed process. Dropped, it is killed.
struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    tokens: Vec<String>,
}

impl Process {
    /// What it tells next with this at the beginning; none when it ends. Whoever runs it says things on its lines, too.
    fn told(&mut self, what: &str) -> Option<String> {
        loop {
            let line = self.lines.next()?.unwrap();
            if let Some((_, token)) = line.split_once(TOKEN) {
                self.tokens.push(token.to_owned());
            }
            if let Some((_, told)) = line.split_once(what) {
                return Some(told.to_owned());
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended is only waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
