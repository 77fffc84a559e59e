//! The least of HTTP: a client that asks an issuer with TLS, and a server that answers as a test wants.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dcm_testenv::effort::patience;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

/// The JSON that is at a path.
pub(crate) async fn get(address: SocketAddr, authority: &Path, path: &str) -> Value {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::from(address.ip());
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// What a server answers to a path: the status with further headers, and the body; none: it says nothing at all.
pub(crate) type Answer = Option<(String, String)>;

type Answers = Arc<Mutex<Box<dyn Fn(&str) -> Answer + Send>>>;

/// A server on a loopback address, in clear.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    asked: Arc<AtomicUsize>,
    answers: Answers,
}

impl Web {
    /// Serves as long as the runtime of the test.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let answers: Answers = Arc::new(Mutex::new(Box::new(|_| None)));
        let web = Self { address, asked: Arc::clone(&asked), answers: Arc::clone(&answers) };
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, Arc::clone(&asked), Arc::clone(&answers)));
            }
        });
        web
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn answer(&self, answers: impl Fn(&str) -> Answer + Send + 'static) {
        *self.answers.lock().unwrap() = Box::new(answers);
    }

    /// How often anything was asked for.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Waits until something was asked for so often.
    pub(crate) async fn is_asked(&self, times: usize) {
        let asked = async {
            while self.asked() < times {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(patience(), asked).await.unwrap();
    }
}

pub(crate) fn json(value: &Value) -> Answer {
    Some(("200 OK".to_owned(), value.to_string()))
}

async fn serve(mut stream: TcpStream, asked: Arc<AtomicUsize>, answers: Answers) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        // Who goes away before they have asked is not counted.
        let Ok(byte) = stream.read_u8().await else { return };
        request.push(byte);
    }
    asked.fetch_add(1, Ordering::SeqCst);
    let request = String::from_utf8(request).unwrap();
    let answer = answers.lock().unwrap()(request.split(' ').nth(1).unwrap());
    match answer {
        Some((head, body)) => {
            let length = body.len();
            let head = format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
            // Whoever reads no further than they must goes away before the end.
            let _ = stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await;
        }
        None => std::future::pending().await,
    }
}
