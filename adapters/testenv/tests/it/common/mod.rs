//! What several tests need.

use std::process::{Command, ExitStatus};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dcm_testenv::effort::patience;

/// Runs a command to its end.
pub(crate) fn output(command: &mut Command) -> (ExitStatus, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status, text(output.stdout), text(output.stderr))
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) -> String {
    let (status, text, errors) = output(command);
    assert!(status.success(), "{command:?}: {status}\n{text}\n{errors}");
    text
}

/// Asks again and again until there is an answer, which must come.
#[allow(clippy::disallowed_methods, reason = "tests of real processes wait in real time")]
pub(crate) fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let start = std::time::Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < patience(), "nothing within {:?}", patience());
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub(crate) fn to_base64(text: &str) -> String {
    STANDARD.encode(text)
}

pub(crate) fn from_base64(text: &str) -> String {
    String::from_utf8(STANDARD.decode(text).unwrap()).unwrap()
}
