//! A worker in the background.

use std::fs::File;
use std::process::{Child, Command, Stdio};

use crate::common::User;

/// A running `dcm serve`. It ends with the test, however that ends.
pub(crate) struct Serving(Child);

impl Serving {
    /// Begins to serve a user's store. What it does is written into the file `log` of the user.
    pub(crate) fn begin(user: &User) -> Self {
        let log = File::create(user.home().join("log")).unwrap();
        let mut command = user.command();
        command.args(["serve", "-vv"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Self(command.spawn().unwrap())
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(mut self) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Nothing is left to do for one that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
