//! A worker in the background.

use std::fs::File;
use std::process::Stdio;

use crate::common::User;
use crate::common::installation::Worker;

/// Begins to serve a user's store. What the worker does is written into the file `log` of the user.
pub(crate) fn serve(user: &User) -> Worker {
    let log = File::create(user.home().join("log")).unwrap();
    Worker::begin(user.command().args(["serve", "-vv"]).stdout(Stdio::null()).stderr(log))
}
