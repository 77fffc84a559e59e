//! An installation whose server ends now and then.

use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use dcm_testenv::effort::patience;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::time::Instant;

use crate::accepted::asked::{self, Answer, Create, get};
use crate::accepted::moments::Moments;
use crate::common::User;
use crate::common::server::Server;

/// How many creates are under way at once.
const CREATES: usize = 200;

/// Of these so many must be there in the end at least, or nothing would be shown.
const MADE_MIN: usize = 10;

/// How a server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It is asked to (SIGTERM).
    Asked,
    /// It is killed (SIGKILL).
    Killed,
}

/// A store with a server.
pub(crate) struct Installed {
    server: Server,
    store: String,
    /// How often creates were asked.
    round: usize,
    /// What each create leads to.
    done: Vec<Done>,
}

/// What a create leads to where nothing is in the way.
struct Done {
    /// What is answered.
    answer: String,
    /// What is read then.
    there: String,
}

impl Done {
    /// That of the same create in another round.
    fn in_round(&self, round: usize) -> Self {
        let renamed = |text: &str| text.replace("n-0-", &format!("n-{round}-"));
        Self { answer: renamed(&self.answer), there: renamed(&self.there) }
    }
}

impl Installed {
    /// A new one; learns what creates lead to where nothing is in the way.
    pub(crate) fn begin(person: User, store: &str) -> Self {
        let server = serve(person, store);
        let mut installed = Self { server, store: store.to_owned(), round: 0, done: Vec::new() };
        installed.prepare(asked::needed());
        installed.prepare(asked::shared_clouds(0));
        let creates = asked::creates(0, CREATES);
        for create in &creates {
            let answer = create.ask(installed.connect(), || {});
            let Answer::Whole { status: 200 | 201, body } = answer else {
                panic!("{}: {answer:?}", create.name)
            };
            let (status, there) = get(installed.server.address(), &create.made);
            assert_eq!(status, 200, "{}", create.made);
            installed.done.push(Done { answer: body, there });
        }
        installed
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.server.address()).unwrap()
    }

    fn prepare(&self, creates: Vec<Create>) {
        for create in creates {
            let answer = create.ask(self.connect(), || {});
            assert!(matches!(answer, Answer::Whole { status: 200 | 201, .. }), "{}: {answer:?}", create.name);
        }
    }

    /// Ends the server at a moment at which creates are under way, and holds what is there when it is back against what was answered.
    pub(crate) fn outlives(mut self, end: End, moments: &mut Moments) -> Self {
        self.round += 1;
        self.prepare(asked::shared_clouds(self.round));
        let after = moments.below(CREATES);
        let told = format!("{end:?} after {after} answers, DCM_SEED={}", moments.seed);
        let creates = asked::creates(self.round, CREATES);
        let answers = self.ask_all(&creates, end, after);
        let person = match end {
            End::Asked => self.server.ended(),
            End::Killed => self.server.killed(),
        };
        check(&person, &self.store, &told);
        self.server = serve(person, &self.store);
        let mut made = 0;
        for ((create, answer), done) in creates.iter().zip(&answers).zip(&self.done) {
            let there = get(self.server.address(), &create.made);
            made += usize::from(there.0 == 200);
            hold(create, answer, &there, &done.in_round(self.round), end, &told);
        }
        assert!(made >= MADE_MIN.min(after), "{told}: {made} are there");
        self.all_clouds_are_whole(&told);
        self
    }

    /// Asks all at once; when all is sent and so many are answered, the server is to end.
    fn ask_all(&self, creates: &[Create], end: End, after: usize) -> Vec<Answer> {
        let (answered, sent) = (AtomicUsize::new(0), Barrier::new(creates.len() + 1));
        let server = Pid::from_raw(i32::try_from(self.server.id()).unwrap()).unwrap();
        std::thread::scope(|scope| {
            let ask = |create: &'_ Create| {
                let answer = create.ask(self.connect(), || {
                    sent.wait();
                });
                answered.fetch_add(1, Ordering::SeqCst);
                answer
            };
            let asking: Vec<_> = creates.iter().map(|create| scope.spawn(move || ask(create))).collect();
            sent.wait();
            while answered.load(Ordering::SeqCst) < after {
                std::thread::yield_now();
            }
            if end == End::Asked {
                // A connection that the server has not accepted yet ends with the listener, and one from which it has read nothing may end
                // before that.
                let started = Instant::now();
                while unread(self.server.address()) > 0 {
                    assert!(started.elapsed() < patience(), "the server reads no request");
                    std::thread::yield_now();
                }
            }
            let signal = if end == End::Asked { Signal::TERM } else { Signal::KILL };
            kill_process(server, signal).unwrap();
            asking.into_iter().map(|asking| asking.join().unwrap()).collect()
        })
    }

    /// All of this round: those of earlier ones were looked at by then.
    fn all_clouds_are_whole(&self, told: &str) {
        let address = self.server.address();
        let mut next = Some("/v2/projects/shop/logical-clouds?limit=500".to_owned());
        while let Some(page) = next {
            let page: Value = serde_json::from_str(&get(address, &page).1).unwrap();
            assert_eq!(page["broken"], Value::Null, "{told}");
            for cloud in page["items"].as_array().unwrap() {
                let name = cloud["metadata"]["name"].as_str().unwrap();
                if !name.contains(&format!("-{}-", self.round)) {
                    continue;
                }
                for what in ["", "/document", "/status"] {
                    let (status, body) =
                        get(address, &format!("/v2/projects/shop/logical-clouds/{name}{what}"));
                    assert_eq!(status, 200, "{told}: {name}{what}: {body}");
                }
            }
            next = page["next"].as_str().map(ToOwned::to_owned);
        }
    }
}

/// Returns how many connections a server has not accepted yet, and how many bytes it has not read of the others: the queues of its lines
/// in Linux's table of sockets.
fn unread(address: SocketAddr) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = format!(":{:04X}", address.port());
    let queues = table.lines().filter_map(|line| {
        let [_, local, _, _, queues, ..] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return None;
        };
        local.ends_with(&port).then(|| usize::from_str_radix(queues.rsplit(':').next()?, 16).ok())?
    });
    let queues: Vec<usize> = queues.collect();
    assert!(!queues.is_empty(), "the server listens");
    queues.iter().sum()
}

fn serve(person: User, store: &str) -> Server {
    Server::serving(person, &["--listen", "127.0.0.1:0", "--store", store]).0
}

/// What is wrong with the store, if anything, goes by itself.
fn check(person: &User, store: &str, told: &str) {
    let checked = person.run(["store", "check", "--store", store]);
    assert_eq!(checked.code, 0, "{told}: {checked:#?}");
}

/// True for the same JSON, in whatever order its members are, but for who made the thing and when.
fn are_same(one: &str, other: &str) -> bool {
    let read = |text| {
        let mut read: Value = serde_json::from_str(text).unwrap();
        if let Some(status) = read.get_mut("status").and_then(Value::as_object_mut) {
            status.retain(|member, _| !matches!(&**member, "created" | "changed"));
        }
        read
    };
    read(one) == read(other)
}

/// What was answered as made is there; what was not answered is there as a whole, or not at all.
fn hold(create: &Create, answer: &Answer, there: &(u16, String), done: &Done, end: End, told: &str) {
    let about = || format!("{told}: {}: {answer:?}, and then {there:?}", create.made);
    let is_done = there.0 == 200 && are_same(&there.1, &done.there);
    let is_absent = there.0 == 404;
    match answer {
        Answer::Whole { status: 200 | 201, body } => {
            assert!(is_done && are_same(body, &done.answer), "{}", about());
        }
        // It may be done all the same where the store did not say so.
        Answer::Whole { status: 503, .. } => assert!(is_done || is_absent, "{}", about()),
        // Who is asked to end answers all that was sent by then.
        Answer::None | Answer::Cut(_) if end == End::Killed => assert!(is_done || is_absent, "{}", about()),
        _ => panic!("{}", about()),
    }
}
