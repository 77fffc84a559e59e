//! A worker that can't write its store any more, as on a full disk: each write of a file is refused.

use std::io::{PipeReader, pipe};
use std::process::{Command, Stdio};

use dcm_testenv::Environment;
use dcm_testenv::effort::patience;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::common::installation::{CLUSTERS, Installation, Worker, until};
use crate::workers::proof::is_tidy;
use crate::workers::{SHORT, all_done, document, hear};

/// What a worker says that can't write.
const SAID: &str = "writing the store's file failed";

/// How often it has said so when it has tried again and again.
const OFTEN: usize = 3;

/// A worker whose files may have any size at first, and what it says. Each write beyond a limit is then refused, and no signal ends
/// the process.
fn serve(installation: &Installation<'_>) -> (Worker, PipeReader) {
    let dcm = installation.person.command();
    let (said, log) = pipe().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).arg(dcm.get_program());
    command.args(["serve", "--lease", SHORT]).env_clear();
    command.envs(dcm.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(installation.person.home()).stdout(Stdio::null()).stderr(log);
    (Worker::begin(&mut command), said)
}

/// How large any file of a process may become.
fn limit_files(worker: &Worker, bytes: Option<u64>) {
    let process = Pid::from_raw(worker.id().try_into().unwrap()).unwrap();
    prlimit(Some(process), Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_on_a_full_disk_says_so_does_nothing_and_goes_on_when_there_is_room() {
    const NAME: &str = "full-disk";
    let environment = Environment::group("workers", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, NAME);
    let (worker, said) = serve(&installation);
    let refused = hear(said, SAID);
    installation.hand_over(&document(&installation, NAME, 10));
    all_done(&installation, 1).await;
    until("answered requests to be gone", async || is_tidy(&installation, NAME).await.then_some(())).await;
    limit_files(&worker, Some(0));
    let since = installation.moment();
    installation.hand_over(&document(&installation, NAME, 20));
    tokio::task::block_in_place(|| (0..OFTEN).for_each(|_| refused.recv_timeout(patience()).unwrap()));
    let writes = installation.writes(&since);
    limit_files(&worker, None);
    assert!(writes.iter().all(Vec::is_empty), "nothing is done that can't be noted first: {writes:?}");
    until("the change to be on all clusters", async || {
        let done = installation.status(NAME);
        (done["state"] == "instantiated"
            && installation.writes(&since).iter().all(|writes| !writes.is_empty()))
        .then_some(())
    })
    .await;
    installation.terminate(NAME).done();
    worker.stop();
}
