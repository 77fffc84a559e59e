//! Connections: those on which nothing is asked, and those whose answers nobody reads.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use dcm_testenv::effort::{budget, patience, proves_all};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::{PROJECT, head, limited, others_are_answered, read, until_there_is_room};
use crate::common::installation::until;
use crate::common::server::Server;

/// How many connections are held at least, with nothing asked on them.
const IDLE_MIN: usize = 500;

/// So many of the files that a process may open are not for connections: a server keeps a quarter for itself, and this test some, too.
const OTHER_FILES: u64 = 500;

/// So short that the tests wait for it: what is done within it is tried again when the machine was too busy.
const SHORT: &str = "1s";

/// How long a server waits for those who read slowly: much longer than any of their pauses, and still waited for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

const ASKED: &[u8] = b"GET /v2/projects HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Asks on a connection that goes on; false where it has ended.
fn is_answered(connection: &mut TcpStream) -> bool {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut status = String::new();
    // What is ended is told as an end, or as an error of either.
    if connection.write_all(ASKED).is_err() || reader.read_line(&mut status).unwrap_or(0) == 0 {
        return false;
    }
    assert_eq!(status, "HTTP/1.1 200 OK\r\n");
    let headers = reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty());
    let length = headers.filter_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).last();
    reader.read_exact(&mut vec![0; length.unwrap()]).unwrap();
    true
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(patience())).unwrap();
    stream
}

/// Returns how many connections are held: 2,000, or 10,000 in the whole proof; fewer where a process may not open so many files. Raises
/// the limit of this process, and of the servers that it starts, as far as it goes.
fn idle_connections() -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let wanted = budget("connections", 2_000, 10_000);
    let room = maximum.map_or(u64::MAX, |files| (files / 4 * 3).saturating_sub(OTHER_FILES));
    let held = usize::try_from(room).map_or(wanted, |room| room.min(wanted));
    let raise = "raise the hard limit (`ulimit -Hn`, or LimitNOFILE)";
    assert!(
        held >= if proves_all() { wanted } else { IDLE_MIN.min(wanted) },
        "a process may open {maximum:?} files here, enough for {held} connections: {raise}"
    );
    if held < wanted {
        eprintln!("{held} connections in place of {wanted}: {raise}");
    }
    held
}

#[test]
fn thousands_of_idle_connections_do_not_stop_others() {
    let count = idle_connections();
    // For longer than it takes to hold so many, on any machine.
    let server = limited(&["--idle-timeout", "10m"]);
    let mut idle = Vec::with_capacity(count);
    for number in 0..count {
        let mut connection = connect(&server);
        // A half of them was asked on, and is kept.
        assert!(number % 2 == 0 || is_answered(&mut connection));
        idle.push(connection);
    }
    others_are_answered(&server);
    for place in [0, 1, count - 2, count - 1] {
        assert!(is_answered(&mut idle[place]), "{place} was closed");
    }
}

#[tokio::test]
async fn a_connection_on_which_nothing_is_asked_for_long_is_closed() {
    let server = limited(&["--idle-timeout", SHORT]);
    let answered = until("an answer before the connection is closed", async || {
        let mut connection = connect(&server);
        is_answered(&mut connection).then_some(connection)
    });
    let mut connections = [connect(&server), answered.await, connect(&server)];
    // Where it was closed already, this fails.
    let _ = connections[2].write_all(&ASKED[..10]);
    for connection in &mut connections {
        assert_eq!(read(connection), "");
    }
}

#[tokio::test]
async fn of_too_many_connections_the_one_that_is_idle_longest_is_closed() {
    let server = limited(&["--connections-max", "3"]);
    until("a connection that is closed because it is idle longest", async || {
        let mut connections: Vec<_> = (0..3).map(|_| connect(&server)).collect();
        let are_answered = [0, 1, 2, 0].into_iter().all(|place| is_answered(&mut connections[place]));
        let is_new_answered = is_answered(&mut connect(&server));
        let mut answered = connections.iter_mut().map(is_answered);
        // Until the server has noted that it answered on a connection, this one is not idle. A busy machine delays that.
        let is_longest = [answered.next(), answered.next()] == [Some(true), Some(false)];
        (are_answered && is_new_answered && is_longest).then_some(())
    })
    .await;
}

#[tokio::test]
async fn where_no_connection_is_idle_a_new_one_is_closed() {
    let server = limited(&["--connections-max", "2"]);
    let document = r#"{"metadata": {"name": "slow"}}"#;
    let head = head("/v2/projects", document.len() as u64);
    let mut busy = until("two connections that are not idle", async || {
        let busy = [(); 2].map(|()| server.connect(head.as_bytes()));
        // Before the server has read what is asked on them, they are idle, and one of them is closed.
        (!is_answered(&mut connect(&server))).then_some(busy)
    })
    .await;
    let ends = busy.each_mut().map(|busy| {
        busy.write_all(document.as_bytes()).unwrap();
        let mut answer = [0; 12];
        busy.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    });
    assert_eq!(ends, ["HTTP/1.1 201", "HTTP/1.1 409"]);
    assert!(is_answered(&mut connect(&server)));
}

/// How many answers nobody reads. All of them are larger than what the system buffers.
const UNREAD: usize = 400;

const LONG: &str = "/v2/projects/other/logical-clouds/long";

/// States of a connection in `/proc/net/tcp` that this end has not closed: it is established, or about to be.
const OPEN: [&str; 2] = ["01", "03"];

/// How many bytes wait for the reader at this address, as long as a server has the connection from there open, or has yet to accept it.
fn waiting(server: &Server, from: SocketAddr) -> Option<u64> {
    let port = |address: SocketAddr| format!(":{:04X}", address.port());
    let (own, other) = (port(from), port(server.address()));
    let all = std::fs::read_to_string("/proc/net/tcp").unwrap();
    all.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields[1].ends_with(&other) && fields[2].ends_with(&own) && OPEN.contains(&fields[3]);
        let (unread, _) = fields[4].split_once(':')?;
        is_it.then(|| u64::from_str_radix(unread, 16).unwrap())
    })
}

/// Makes a logical cloud whose document is long.
fn make_a_long_one(server: &Server) {
    assert!(server.ask(PROJECT).starts_with("201"));
    let resources: Vec<String> =
        (0..20).map(|number| format!("{}-{number}", "resources".repeat(5))).collect();
    let permission = |number: usize| json!({"permission-name": format!("p-{number}"), "apiGroups": [""], "resources": resources, "verbs": ["get"]});
    let permissions: Vec<Value> = (0..200).map(permission).collect();
    let document = json!({"spec": {"user": {"user-name": "ann", "user-permissions": permissions}}});
    let made = server.ask(&format!("PUT {LONG}\n\n{document}"));
    assert!(made.starts_with("20"), "{made}");
}

/// Asks so many times for a long answer, and reads none of them.
fn ask_for_long_ones(server: &Server, times: usize) -> TcpStream {
    make_a_long_one(server);
    let asked = format!("GET {LONG} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    server.connect(asked.repeat(times).as_bytes())
}

/// Asks for more than the system buffers, and reads none of it; gives the connection once answers wait for their reader.
async fn ask_and_not_read(server: &Server) -> TcpStream {
    let unread = ask_for_long_ones(server, UNREAD);
    let from = unread.local_addr().unwrap();
    until("answers that nobody reads", async || waiting(server, from).filter(|bytes| *bytes > 0)).await;
    unread
}

#[tokio::test]
async fn a_connection_whose_answers_nobody_reads_stops_nobody() {
    let server = limited(&["--answer-timeout", "10m"]);
    let unread = ask_and_not_read(&server).await;
    others_are_answered(&server);
    let waiting = waiting(&server, unread.local_addr().unwrap());
    assert!(waiting.is_some_and(|bytes| bytes > 0), "it was given up before: {waiting:?}");
}

#[tokio::test]
async fn a_connection_whose_answers_nobody_reads_makes_room_for_another() {
    let server = limited(&["--answer-timeout", "10m", "--connections-max", "1"]);
    let unread = ask_and_not_read(&server).await;
    // Of what was asked on it, a part may be answered just now.
    until_there_is_room(&server).await;
    let from = unread.local_addr().unwrap();
    until("the end of a connection", async || waiting(&server, from).is_none().then_some(())).await;
}

#[tokio::test]
async fn a_connection_whose_answers_nobody_reads_is_closed() {
    let server = limited(&["--answer-timeout", SHORT]);
    let mut unread = ask_for_long_ones(&server, UNREAD);
    let from = unread.local_addr().unwrap();
    until("the end of a connection", async || waiting(&server, from).is_none().then_some(())).await;
    others_are_answered(&server);
    let answers = read(&mut unread).matches("HTTP/1.1 200 OK\r\n").count();
    assert!((1..UNREAD).contains(&answers), "{answers} answers");
}

#[tokio::test]
async fn a_connection_whose_answers_are_read_slowly_goes_on() {
    let server = limited(&["--answer-timeout", &format!("{}s", ANSWER_TIMEOUT.as_secs())]);
    let mut slow = ask_for_long_ones(&server, UNREAD);
    let from = slow.local_addr().unwrap();
    let began = tokio::time::Instant::now();
    let mut answers = Answers::default();
    // The server has written only a part of the answers when it has waited for longer than it waits for those who read nothing.
    while began.elapsed() < ANSWER_TIMEOUT + ANSWER_TIMEOUT / 5 {
        assert!(answers.read_some(&mut slow), "it was closed after {:?}", began.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let unread = waiting(&server, from);
    assert!(
        unread.is_some_and(|bytes| bytes > 0),
        "answers are read faster than they are written: {unread:?}"
    );
    while answers.begun < UNREAD {
        assert!(answers.read_some(&mut slow), "it was closed after {} answers", answers.begun);
    }
}

/// Answers as they are read.
#[derive(Default)]
struct Answers {
    /// How many of them have begun.
    begun: usize,
    /// What was read last: an answer may begin in one piece and go on in the next.
    tail: Vec<u8>,
}

impl Answers {
    /// Reads a piece; returns false at the end.
    fn read_some(&mut self, stream: &mut TcpStream) -> bool {
        const BEGINNING: &str = "HTTP/1.1 200 OK\r\n";
        let mut piece = vec![0; 64 * 1024];
        let taken = stream.read(&mut piece).unwrap();
        self.tail.extend_from_slice(&piece[..taken]);
        self.begun += String::from_utf8_lossy(&self.tail).matches(BEGINNING).count();
        let rest = self.tail.len().saturating_sub(BEGINNING.len() - 1);
        self.tail.drain(..rest);
        taken > 0
    }
}
