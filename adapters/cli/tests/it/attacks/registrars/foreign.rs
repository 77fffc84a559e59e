//! A TLS server that is none of Kubernetes, and answers each request with what a test says.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The server. It goes on until the test ends.
pub(super) struct Foreign {
    address: SocketAddr,
    certificate: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    answer: Mutex<String>,
    connections: AtomicUsize,
}

impl Foreign {
    pub(super) fn new() -> Self {
        Self::named(&["127.0.0.1", "localhost"])
    }

    /// With a certificate of these names.
    pub(super) fn named(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let (config, served) = (Arc::new(config), shared.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                served.connections.fetch_add(1, Ordering::Relaxed);
                let connection = ServerConnection::new(config.clone()).unwrap();
                let (mut stream, served) = (StreamOwned::new(connection, stream), served.clone());
                std::thread::spawn(move || {
                    // A client that leaves is no failure.
                    if matches!(stream.read(&mut [0; 16 * 1024]), Ok(1..)) {
                        let answer = served.answer.lock().unwrap().clone();
                        let _ = stream.write_all(answer.as_bytes());
                        stream.conn.send_close_notify();
                        let _ = stream.flush();
                    }
                });
            }
        });
        Self { address, certificate: certificate.pem(), shared }
    }

    /// Answers so from now on.
    pub(super) fn say(&self, code: u16, body: &str) {
        let length = body.len();
        let head = format!("HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {length}");
        *self.shared.answer.lock().unwrap() =
            format!("{head}\r\nLocation: /hunter2\r\nConnection: close\r\n\r\n{body}");
    }

    /// How many connections there were.
    pub(super) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Its address as a server of a kubeconfig.
    pub(super) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.address.port())
    }

    /// A kubeconfig that leads to its port at a host, and trusts its certificate.
    pub(super) fn kubeconfig(&self, host: &str) -> String {
        self.kubeconfig_to(&format!("https://{host}:{}", self.address.port()))
    }

    /// A kubeconfig that leads elsewhere, and trusts its certificate.
    pub(super) fn kubeconfig_to(&self, server: &str) -> String {
        let authority = STANDARD.encode(&self.certificate);
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: main\n\
             contexts: [{{name: main, context: {{cluster: main, user: main}}}}]\n\
             clusters: [{{name: main, cluster: {{server: '{server}', \
             certificate-authority-data: {authority}}}}}]\n\
             users: [{{name: main, user: {{token: a}}}}]\n"
        )
    }
}
