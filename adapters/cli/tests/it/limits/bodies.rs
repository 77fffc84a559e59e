//! Bodies: large ones, slow ones, and many at once.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use dcm_testenv::effort::patience;

use super::{head, limited, others_are_answered, read};
use crate::common::User;
use crate::common::installation::until;
use crate::common::server::{Server, has_answer};

/// A body that is larger than any.
const GIGABYTE: u64 = 1 << 30;

/// What such bodies may take of memory at most, while several are sent.
const GROWTH_MAX: u64 = 64 * 1024;

/// How many are sent at a time.
const SENDERS: usize = 8;

/// A slow body holds its place for so long.
const BODY_TIMEOUT: &str = "1s";

/// The most memory that a process has had, in KiB.
fn memory(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// How many pieces are sent before others ask: half of what a body may have, so that it is not refused yet.
const PIECES_BEFORE: usize = 8;

/// Begins to send a gigabyte; gives the connection, and how many bytes were taken.
fn begin(server: &Server, head: &str, piece: &[u8]) -> (TcpStream, u64) {
    let mut stream = server.connect(head.as_bytes());
    stream.set_write_timeout(Some(patience())).unwrap();
    // What says how long it is may be refused already.
    let taken = (0..PIECES_BEFORE).take_while(|_| stream.write_all(piece).is_ok()).count();
    (stream, (taken * piece.len()) as u64)
}

/// Sends the rest of it, as long as anybody takes it; gives how many bytes were taken, and the answer.
fn pour((mut stream, mut taken): (TcpStream, u64), piece: &[u8]) -> (u64, String) {
    while taken < GIGABYTE && stream.write_all(piece).is_ok() {
        taken += piece.len() as u64;
    }
    (taken, read(&mut stream))
}

fn a_gigabyte_is_refused(server: &Server, path: &str) {
    let said = head(path, GIGABYTE);
    let untold = said.replace(&format!("Content-Length: {GIGABYTE}"), "Transfer-Encoding: chunked");
    let piece = vec![b' '; 64 * 1024];
    let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat();
    others_are_answered(server);
    let before = memory(server.id());
    let kinds = [(said.as_str(), piece.as_slice()), (&untold, &chunk)];
    let begun: Vec<_> = kinds
        .into_iter()
        .cycle()
        .take(2 * SENDERS)
        .map(|(head, piece)| (begin(server, head, piece), piece))
        .collect();
    others_are_answered(server);
    std::thread::scope(|scope| {
        let rest: Vec<_> =
            begun.into_iter().map(|(begun, piece)| scope.spawn(move || pour(begun, piece))).collect();
        others_are_answered(server);
        for sender in rest {
            let (taken, answer) = sender.join().unwrap();
            // Others did not have to wait until the body took too long (408).
            assert!(answer.starts_with("HTTP/1.1 413 "), "{path}: {answer}");
            // What the system buffers between the two.
            assert!(taken < GIGABYTE / 16, "{path}: {taken} bytes were taken");
        }
    });
    let grown = memory(server.id()) - before;
    assert!(grown < GROWTH_MAX, "{path}: {grown} KiB");
}

#[test]
fn bodies_of_a_gigabyte_are_refused_without_being_read_and_stop_nobody() {
    let server = limited(&[]);
    a_gigabyte_is_refused(&server, "/v2/projects");
    let emco = Server::of_emco(User::new(), "127.0.0.1:0");
    a_gigabyte_is_refused(&emco, "/v2/projects");
}

/// Sends a byte of a body now and then, until somebody else is done with it.
fn trickle(mut stream: TcpStream, head: &str) -> String {
    stream.set_read_timeout(Some(patience())).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut end = stream.try_clone().unwrap();
    let reader = std::thread::spawn(move || read(&mut end));
    while !reader.is_finished() {
        // Once it is answered, nobody takes more of it.
        let _ = stream.write_all(b" ");
        std::thread::park_timeout(Duration::from_millis(50));
    }
    reader.join().unwrap()
}

/// A body that is sent slowly: all but its head is to come.
const SLOW: &str = r#"{"metadata": {"name": "slow"}}"#;

/// Says that a body is wanted.
const GO_ON: &[u8; 25] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A request whose body is waited for: it has its place.
fn waited_for(server: &Server) -> TcpStream {
    let more = "\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n";
    let head = head("/v2/projects", SLOW.len() as u64).replace("\r\n\r\n", more);
    let mut slow = server.connect(head.as_bytes());
    let mut told = [0; GO_ON.len()];
    slow.read_exact(&mut told).unwrap();
    assert_eq!(&told, GO_ON);
    slow
}

#[test]
fn slow_bodies_stop_nobody() {
    const COUNT: usize = 100;
    for listen in ["--listen", "--emco-listen"] {
        let server = Server::serving(User::new(), &[listen, "127.0.0.1:0"]).0;
        let mut slow: Vec<_> = (0..COUNT).map(|_| waited_for(&server)).collect();
        let (first, rest) = SLOW.split_at(1);
        slow.iter_mut().for_each(|slow| slow.write_all(first.as_bytes()).unwrap());
        others_are_answered(&server);
        // Nobody had to wait until they were given up (408): they were under way all the time.
        slow.iter_mut().for_each(|slow| slow.write_all(rest.as_bytes()).unwrap());
        let mut statuses = slow.iter_mut().map(|slow| read(slow)[..12].to_owned()).collect::<Vec<_>>();
        statuses.sort();
        assert_eq!(statuses.remove(0), "HTTP/1.1 201", "{listen}");
        assert_eq!(statuses, ["HTTP/1.1 409"; COUNT - 1], "{listen}");
    }
}

#[test]
fn slow_bodies_are_given_up() {
    let server = limited(&["--body-timeout", BODY_TIMEOUT]);
    let head = head("/v2/projects", 1000);
    std::thread::scope(|scope| {
        let slow: Vec<_> = (0..100)
            .map(|_| TcpStream::connect(server.address()).unwrap())
            .map(|stream| scope.spawn(|| trickle(stream, &head)))
            .collect();
        for slow in slow {
            let answer = slow.join().unwrap();
            assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
            assert!(answer.contains("content-type: application/problem+json"), "{answer}");
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            assert_eq!(
                body,
                r#"{"type":"/problems/body-timeout","title":"The body took too long","status":408,"detail":"the body did not arrive in time; send the request again","instance":"/v2/projects"}"#
            );
        }
    });
    others_are_answered(&server);
}

#[test]
fn slow_bodies_are_given_up_in_the_dialect_of_emco() {
    let options = ["--emco-listen", "127.0.0.1:0", "--body-timeout", BODY_TIMEOUT];
    let server = Server::serving(User::new(), &options).0;
    let form = head("/v2/cluster-providers/edge/clusters", 1000)
        .replace("application/json", "multipart/form-data; boundary=x");
    for head in [head("/v2/projects", 1000), form] {
        let answer = trickle(TcpStream::connect(server.address()).unwrap(), &head);
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(answer.ends_with("\r\n\r\nhttp: request body took too long\n"), "{answer}");
    }
}

#[test]
fn one_request_too_many_is_told_to_come_again() {
    for (listen, body) in [
        (
            "--listen",
            r#"{"type":"/problems/unavailable","title":"It may succeed later","status":503,"detail":"too many requests are under way","instance":"/v2/projects"}"#,
        ),
        ("--emco-listen", "too many requests are under way\n"),
    ] {
        let server = Server::serving(User::new(), &[listen, "127.0.0.1:0", "--requests-max", "2"]).0;
        let mut slow: Vec<_> = (0..2).map(|_| waited_for(&server)).collect();
        let told = server.ask("GET /v2/projects");
        assert!(told.starts_with("503") && told.contains("\nretry-after: 1\n"), "{told}");
        assert!(told.ends_with(&format!("\n\n{body}")), "{told}");
        for slow in &mut slow {
            slow.write_all(SLOW.as_bytes()).unwrap();
        }
        let mut statuses = slow.iter_mut().map(|slow| read(slow)[..12].to_owned()).collect::<Vec<_>>();
        statuses.sort();
        assert_eq!(statuses, ["HTTP/1.1 201", "HTTP/1.1 409"]);
        assert!(server.ask("GET /v2/projects").starts_with("200"));
    }
}

/// What all bodies may have together at the least: one of the largest documents.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// So much of each is not counted.
const UNCOUNTED_BYTES: usize = 64 * 1024;

fn is_refused(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 503 ")
}

/// Sends a body but for its last byte.
fn large(server: &Server, head: &str, bytes: usize) -> TcpStream {
    let mut stream = server.connect(head.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").as_bytes());
    stream.set_write_timeout(Some(patience())).unwrap();
    // Of one that is refused no more is read.
    let _ = stream.write_all(&vec![b' '; bytes - 1]);
    stream
}

#[tokio::test]
async fn large_bodies_have_no_more_room_than_is_theirs_and_take_none_from_small_ones() {
    const DOCUMENT: &str = "/v2/projects/p/logical-clouds/c/document";
    let in_emco = "too many large bodies are under way\n";
    let documented = r#"{"type":"/problems/unavailable","title":"It may succeed later","status":503,"detail":"too many large bodies are under way","instance":"/v2/projects/p/logical-clouds/c/document"}"#;
    let (json, form) = ("application/json", "multipart/form-data; boundary=x");
    for (listen, method, path, media, largest, told) in [
        ("--listen", "PUT", DOCUMENT, json, BODY_BYTES_MAX, documented),
        ("--emco-listen", "POST", "/v2/projects", json, 1024 * 1024, in_emco),
        ("--emco-listen", "POST", "/v2/cluster-providers/p/clusters", form, 1024 * 1024, in_emco),
    ] {
        let max = BODY_BYTES_MAX.to_string();
        let server = Server::serving(User::new(), &[listen, "127.0.0.1:0", "--body-bytes-max", &max]).0;
        let head = head(path, largest as u64).replace("POST", method).replace(json, media);
        let fitting = BODY_BYTES_MAX / (largest - UNCOUNTED_BYTES);
        let answers = until("bodies with room, and one without", async || {
            let mut all: Vec<_> = (0..=fitting).map(|_| large(&server, &head, largest)).collect();
            until("a body without room", async || all.iter().any(has_answer).then_some(())).await;
            others_are_answered(&server);
            for stream in &mut all {
                // One that was refused is closed.
                let _ = stream.write_all(b" ");
            }
            let answers: Vec<String> = all.iter_mut().map(read).collect();
            // Bodies that arrive at the same time may take the room from each other, and all of them are refused.
            answers.iter().any(|answer| !is_refused(answer)).then_some(answers)
        })
        .await;
        let (refused, read): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| is_refused(answer));
        for answer in refused {
            assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
            assert!(answer.ends_with(&format!("\r\n\r\n{told}")), "{answer}");
        }
        assert!(read.iter().all(|answer| answer.starts_with("HTTP/1.1 4")), "{read:?}");
        // All of it was given back, and so is what somebody had who left.
        drop(large(&server, &head, largest));
        until("room for as many as before", async || {
            let mut next: Vec<_> = (0..fitting).map(|_| large(&server, &head, largest)).collect();
            let answers = next.iter_mut().map(|stream| {
                let _ = stream.write_all(b" ");
                super::read(stream)
            });
            answers.map(|answer| is_refused(&answer)).all(|refused| !refused).then_some(())
        })
        .await;
    }
}
