//! Connections: those on which nothing is asked, and those whose answers nobody reads.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::{PROJECT, head, limited, others_are_answered, read, until_there_is_room};
use crate::common::installation::{SOON, until};
use crate::common::server::Server;

/// How many connections are held, with nothing asked on them.
const IDLE: usize = 10_000;

/// How many files a process has to be allowed for that: a server keeps a quarter for itself.
const FILES: u64 = 14_000;

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
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

#[test]
fn ten_thousand_idle_connections_do_not_stop_others() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    assert!(
        maximum.is_none_or(|files| files >= FILES),
        "a process may open {maximum:?} files here: raise the hard limit to {FILES} (`ulimit -Hn {FILES}`, or LimitNOFILE)"
    );
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    // For longer than it takes to hold so many, on any machine.
    let server = limited(&["--idle-timeout", "10m"]);
    let mut idle = Vec::with_capacity(IDLE);
    for number in 0..IDLE {
        let mut connection = connect(&server);
        // A half of them was asked on, and is kept.
        assert!(number % 2 == 0 || is_answered(&mut connection));
        idle.push(connection);
    }
    others_are_answered(&server);
    for place in [0, 1, IDLE - 2, IDLE - 1] {
        assert!(is_answered(&mut idle[place]), "{place} was closed");
    }
}

#[test]
fn a_connection_on_which_nothing_is_asked_for_long_is_closed() {
    let server = limited(&["--idle-timeout", "1s"]);
    let mut connections = [(); 3].map(|()| connect(&server));
    assert!(is_answered(&mut connections[1]));
    connections[2].write_all(&ASKED[..10]).unwrap();
    for connection in &mut connections {
        assert_eq!(read(connection), "");
    }
}

#[test]
fn of_too_many_connections_the_one_that_is_idle_longest_is_closed() {
    let server = limited(&["--connections-max", "3"]);
    let mut connections: Vec<_> = (0..3).map(|_| connect(&server)).collect();
    for place in [0, 1, 2, 0] {
        assert!(is_answered(&mut connections[place]));
    }
    assert!(is_answered(&mut connect(&server)));
    let mut answered = connections.iter_mut().map(is_answered);
    assert_eq!([answered.next(), answered.next()], [Some(true), Some(false)]);
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

/// How many bytes wait for whoever is at this address to read, as long as a server has the connection from there open.
fn waiting(server: &Server, from: SocketAddr) -> Option<u64> {
    let port = |address: SocketAddr| format!(":{:04X}", address.port());
    let (own, other) = (port(from), port(server.address()));
    let all = std::fs::read_to_string("/proc/net/tcp").unwrap();
    all.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // The last of them is the file that it is.
        let is_it = fields[1].ends_with(&other) && fields[2].ends_with(&own) && fields[9] != "0";
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

/// Asks for more than the system buffers, and reads none of it; gives the connection once answers wait for their reader.
async fn ask_and_not_read(server: &Server) -> TcpStream {
    make_a_long_one(server);
    let asked = format!("GET {LONG} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let unread = server.connect(asked.repeat(UNREAD).as_bytes());
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
    let server = limited(&["--answer-timeout", "1s"]);
    let mut unread = ask_and_not_read(&server).await;
    let from = unread.local_addr().unwrap();
    until("the end of a connection", async || waiting(&server, from).is_none().then_some(())).await;
    others_are_answered(&server);
    let answers = read(&mut unread).matches("HTTP/1.1 200 OK\r\n").count();
    assert!((1..UNREAD).contains(&answers), "{answers} answers");
}

#[tokio::test]
async fn a_connection_whose_answers_are_read_slowly_goes_on() {
    let server = limited(&["--answer-timeout", "1s"]);
    make_a_long_one(&server);
    let asked = format!("GET {LONG} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut slow = server.connect(asked.repeat(20).as_bytes());
    let began = tokio::time::Instant::now();
    let (mut answers, mut piece) = (Vec::new(), vec![0; 256 * 1024]);
    while String::from_utf8_lossy(&answers).matches("HTTP/1.1 200 OK\r\n").count() < 20 {
        let taken = slow.read(&mut piece).unwrap();
        assert!(taken > 0, "it was closed after {:?}", began.elapsed());
        answers.extend_from_slice(&piece[..taken]);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
