//! CoreDNS, the DNS server of Kubernetes clusters, with a Corefile of a test.
//!
//! ```no_run
//! use dcm_testenv::CoreDns;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let server = CoreDns::start(|port| {
//!     format!(".:{port} {{\n    hosts {{\n        192.0.2.7 one.example\n        fallthrough\n    }}\n}}\n")
//! })
//! .await?;
//! assert_eq!(server.resolve("one.example").await?, Some(vec!["192.0.2.7".parse()?]));
//! // With the plugin `reload` it reads a changed file by itself.
//! server.write_corefile("...")?;
//! # Ok(())
//! # }
//! ```
//!
//! It has the plugins of Kubernetes' Corefiles that answer queries, and not those with ports of their own (`health`, `ready`,
//! `prometheus`). Each server block listens on 127.0.0.1, unless its plugin `bind` names another address.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE, TYPE};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::Error;
use crate::process::Launch;
use crate::programs::Program;
use crate::runtime;
use crate::servers::write;
use crate::standalone::{Setting, Speaks, Standalone};

/// How long one query waits for its answer before it is sent again: UDP may lose it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a name is asked for in all: nothing listens while a server under load starts or reads its Corefile anew.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(30);

/// Between two queries that no server took.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Largest answer over UDP without extensions (RFC 1035, section 4.2.1).
const ANSWER_BYTES_MAX: usize = 512;

const COREFILE: &str = "Corefile";

/// Why a name was not resolved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// No answer came.
    #[error("no answer of CoreDNS for {name} within {} seconds", RESOLVE_TIMEOUT.as_secs())]
    NoAnswer {
        /// The name.
        name: String,
    },
    /// The query or the answer is not DNS.
    #[error("the query for {name}, or its answer, is not a DNS message: {reason}")]
    Message {
        /// The name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// The server refused or failed.
    #[error("CoreDNS answered {code} for {name}")]
    Code {
        /// The name.
        name: String,
        /// The response code, such as `ServerFailure`.
        code: String,
    },
    /// The network of this machine failed.
    #[error("no UDP to CoreDNS")]
    Network(#[from] io::Error),
}

impl ResolveError {
    /// Whether the same call can succeed later.
    pub fn is_retryable(&self) -> bool {
        !matches!(self, Self::Message { .. })
    }
}

/// A CoreDNS. It lives as long as this value, or as this process.
#[derive(Debug)]
pub struct CoreDns {
    server: Standalone,
}

impl CoreDns {
    /// Starts a CoreDNS with the Corefile that a function makes for a free port, and waits until it listens there.
    ///
    /// # Errors
    /// When the program is missing and can't be built, or it does not take the Corefile or is not ready in time: with the end of its log.
    pub async fn start(corefile: impl Fn(u16) -> String) -> Result<Self, Error> {
        let launch = |setting: &Setting<'_>| {
            let file = write(setting.folder, COREFILE, &corefile(setting.clients.port()))?;
            Ok(Launch {
                program: Program::CoreDns.name(),
                executable: setting.executable.to_owned(),
                arguments: vec![format!("-conf={}", file.display())],
                log: setting.folder.join("coredns.log"),
            })
        };
        let server = Standalone::start_program(Program::CoreDns, Speaks::Clear, launch).await?;
        Ok(Self { server })
    }

    /// Where it listens, over UDP and TCP.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The file with its Corefile.
    pub fn corefile(&self) -> PathBuf {
        self.server.folder().join(COREFILE)
    }

    /// Replaces the Corefile. The plugin `reload` reads it after its interval.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write_corefile(&self, text: &str) -> Result<(), Error> {
        write(self.server.folder(), COREFILE, text).map(drop)
    }

    /// Waits until a name is resolved so, as after a change of the Corefile that the plugin `reload` has to find. It waits without end, so set a
    /// limit.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub async fn until_resolved(
        &self,
        name: &str,
        expected: Option<&[Ipv4Addr]>,
    ) -> Result<(), ResolveError> {
        let runtime = runtime::handle()?;
        while self.resolve(name).await?.as_deref() != expected {
            runtime::run(runtime, tokio::time::sleep(POLL_INTERVAL)).await;
        }
        Ok(())
    }

    /// Asks for the IPv4 addresses of a name. None when the name does not exist.
    ///
    /// # Errors
    /// [`ResolveError`] when no answer comes, or one that is neither addresses nor "no such name".
    pub async fn resolve(&self, name: &str) -> Result<Option<Vec<Ipv4Addr>>, ResolveError> {
        let (address, name) = (self.address(), name.to_owned());
        let runtime = runtime::handle()?;
        let asked = async move {
            let answer = timeout(RESOLVE_TIMEOUT, ask(address, &name)).await;
            answer.unwrap_or(Err(ResolveError::NoAnswer { name }))
        };
        runtime::run(runtime, asked).await
    }
}

async fn ask(server: SocketAddr, name: &str) -> Result<Option<Vec<Ipv4Addr>>, ResolveError> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    socket.connect(server).await?;
    let mut id = 0_u16;
    loop {
        id = id.wrapping_add(1);
        let answer = match socket.send(&query(id, name)?).await {
            Ok(_) => timeout(ANSWER_TIMEOUT, receive(&socket, id)).await.ok().and_then(Result::ok),
            Err(_) => None,
        };
        match answer {
            Some(answer) => return read(&answer, name),
            None => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

/// The answer to the query of this id.
async fn receive(socket: &UdpSocket, id: u16) -> io::Result<Vec<u8>> {
    loop {
        let mut buffer = [0; ANSWER_BYTES_MAX];
        let length = socket.recv(&mut buffer).await?;
        if simple_dns::header_buffer::id(&buffer[..length]) == Ok(id) {
            return Ok(buffer[..length].to_vec());
        }
    }
}

fn query(id: u16, name: &str) -> Result<Vec<u8>, ResolveError> {
    let not_dns = |error: simple_dns::SimpleDnsError| message(name, &error);
    let mut packet = Packet::new_query(id);
    packet.set_flags(PacketFlag::RECURSION_DESIRED);
    let question = Name::new(name).map_err(not_dns)?;
    packet.questions.push(Question::new(question, QTYPE::TYPE(TYPE::A), QCLASS::CLASS(CLASS::IN), false));
    packet.build_bytes_vec().map_err(not_dns)
}

fn read(answer: &[u8], name: &str) -> Result<Option<Vec<Ipv4Addr>>, ResolveError> {
    let packet = Packet::parse(answer).map_err(|error| message(name, &error))?;
    match packet.rcode() {
        RCODE::NoError => {}
        RCODE::NameError => return Ok(None),
        code => return Err(ResolveError::Code { name: name.to_owned(), code: format!("{code:?}") }),
    }
    let addresses = packet.answers.iter().filter_map(|record| match &record.rdata {
        RData::A(found) => Some(Ipv4Addr::from(found.address)),
        _ => None,
    });
    Ok(Some(addresses.collect()))
}

fn message(name: &str, error: &simple_dns::SimpleDnsError) -> ResolveError {
    ResolveError::Message { name: name.to_owned(), reason: error.to_string() }
}
