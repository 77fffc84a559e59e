//! Commands that begin in the same moment.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use crate::common::Ran;

/// Says that it is ready, waits until its input ends, and becomes the command.
const GATE: &str = "echo ready; read _; exec \"$@\" </dev/null";

/// Runs both. Each is a shell that is ready and waits for the end of one pipe, which comes to both at once.
pub(crate) fn at_once(commands: [Command; 2]) -> [Ran; 2] {
    let (gate, held) = std::io::pipe().unwrap();
    let waiting = commands.map(|command| {
        let mut child = behind(&command).stdin(gate.try_clone().unwrap()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        out.read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        (child, out)
    });
    drop(held);
    // Both are read to their end, so that neither waits for room in its pipe.
    waiting.map(|(child, out)| std::thread::spawn(move || ran(child, out))).map(|ran| ran.join().unwrap())
}

fn ran(mut child: Child, mut out: impl std::io::Read) -> Ran {
    let (mut said, mut err) = (String::new(), String::new());
    out.read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    Ran { code: child.wait().unwrap().code().unwrap_or(-1), out: said, err }
}

/// The command behind the gate, with its own surroundings and no others.
fn behind(command: &Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().args(["-c", GATE, "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        shell.envs(value.map(|value| (name, value)));
    }
    shell.current_dir(command.get_current_dir().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

/// Which of two won: it is done, and the other is told of a conflict.
#[track_caller]
pub(crate) fn winner(ran: &[Ran; 2], round: usize) -> usize {
    match ran {
        [one, other] if one.code == 0 && other.code == 5 => 0,
        [one, other] if one.code == 5 && other.code == 0 => 1,
        ran => panic!("round {round}: {ran:#?}"),
    }
}
