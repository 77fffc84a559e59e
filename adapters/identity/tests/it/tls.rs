//! What a TLS server speaks, which certificate it shows, and when it does not start, over real sockets.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]
#![cfg(unix)]

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use dcm_core::causes;
use dcm_identity::tls::{self, Clients, Files, HTTP_1};
use jiff::SignedDuration;
use rustls::ProtocolVersion;
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::common::TestClock;
use crate::common::authority::{Authority, replace};
use crate::common::served::{Client, serve};

const SECOND: SignedDuration = SignedDuration::from_secs(1);

async fn start(files: &Files, clock: &Arc<TestClock>) -> SocketAddr {
    let clock = Arc::clone(clock);
    serve(tls::server(files, &Clients::NotAsked, &[HTTP_1], clock).unwrap(), None).await
}

#[tokio::test]
async fn tls_1_2_and_1_3_are_spoken() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("servers"));
    let address = start(&authority.server().write(folder.path()), &TestClock::new()).await;
    for (version, expected) in [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)] {
        let client = Client { versions: vec![version], ..Client::of(&authority) };
        let heard = client.connect(address, None).await.unwrap();
        assert_eq!((heard.text.as_str(), heard.version), ("nobody", expected));
    }
}

/// The first message of a client that knows no later version than this. All else in it is good, also for TLS 1.2.
fn client_hello(version: [u8; 2]) -> Vec<u8> {
    let extensions = [
        &[0, 13, 0, 4, 0, 2, 4, 3][..], // Signatures: ECDSA with SHA-256.
        &[0, 10, 0, 4, 0, 2, 0, 23],    // Groups: P-256.
        &[0, 11, 0, 2, 1, 0],           // Points: uncompressed.
    ]
    .concat();
    let mut body = version.to_vec();
    body.extend([7; 32]);
    // No session; three suites, the first one of TLS 1.2; no compression.
    body.extend([0, 0, 6, 0xc0, 0x2b, 0xc0, 0x09, 0x00, 0x2f, 1, 0]);
    body.extend([0, u8::try_from(extensions.len()).unwrap()]);
    body.extend(extensions);
    let length = u8::try_from(body.len()).unwrap();
    let handshake = [&[1, 0, 0, length][..], &body].concat();
    let length = u8::try_from(handshake.len()).unwrap();
    [&[22, 3, 1, 0, length][..], &handshake].concat()
}

#[tokio::test]
async fn older_versions_are_refused_by_name() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("servers"));
    let address = start(&authority.server().write(folder.path()), &TestClock::new()).await;
    let answer = |version| async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&client_hello(version)).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        answer
    };
    // One record, an alert: fatal, protocol version.
    let alert = [21, 3, 3, 0, 2, 2, 70];
    for version in [[3, 0], [3, 1], [3, 2]] {
        assert_eq!(answer(version).await, alert, "{version:?}");
    }
    // The version alone made the difference: this one gets a handshake.
    assert_eq!(answer([3, 3]).await[0], 22);
}

#[tokio::test]
async fn only_the_protocols_that_are_spoken_inside_are_agreed_on() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("servers"));
    let address = start(&authority.server().write(folder.path()), &TestClock::new()).await;
    let with = |protocols: &[&str]| {
        let protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Client { protocols, ..Client::of(&authority) }
    };
    let heard = with(&["h2", "http/1.1"]).connect(address, None).await.unwrap();
    assert_eq!(heard.protocol.as_deref(), Some(HTTP_1.as_bytes()));
    assert_eq!(with(&[]).connect(address, None).await.unwrap().protocol, None);
    let error = with(&["h2"]).connect(address, None).await.unwrap_err();
    assert!(error.to_string().contains("NoApplicationProtocol"), "{error}");
}

#[tokio::test]
async fn a_renewed_certificate_is_shown_without_a_restart_and_a_broken_one_never() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("servers"));
    let clock = TestClock::new();
    let [first, second, third] = [(); 3].map(|()| authority.server());
    let address = start(&first.write(folder.path()), &clock).await;
    let client = Client::of(&authority);
    let shown = || async { client.connect(address, None).await.unwrap().certificate };
    assert_eq!(shown().await, *first.certificate.der());
    let files = second.write(folder.path());
    clock.advance(SECOND);
    assert_eq!(shown().await, *second.certificate.der());
    // Half of the next pair, then none, then a key that all may read.
    replace(&files.certificate, &third.certificate.pem(), 0o644);
    clock.advance(SECOND);
    assert_eq!(shown().await, *second.certificate.der());
    fs::remove_file(&files.key).unwrap();
    clock.advance(SECOND);
    assert_eq!(shown().await, *second.certificate.der());
    replace(&files.key, &third.key.serialize_pem(), 0o644);
    clock.advance(SECOND);
    assert_eq!(shown().await, *second.certificate.der());
    third.write(folder.path());
    clock.advance(SECOND);
    assert_eq!(shown().await, *third.certificate.der());
}

fn refused(files: &Files, clients: &Clients, folder: &Path) -> String {
    let error = tls::server(files, clients, &[HTTP_1], TestClock::new()).unwrap_err();
    causes::told(&error).replace(&folder.display().to_string(), "")
}

#[test]
fn files_that_can_not_be_used_are_told_with_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("servers");
    let files = authority.server().write(folder.path());
    let refused = |files: &Files| refused(files, &Clients::NotAsked, folder.path());
    let with_key = |text: &str, mode: u32| {
        replace(&files.key, text, mode);
        refused(&files)
    };
    let other = authority.server().key.serialize_pem();
    let pair = "the certificate /server.pem and the key /server.key make no pair: ";
    assert!(with_key(&other, 0o600).starts_with(pair), "{}", with_key(&other, 0o600));
    let unusable = "the key /server.key can't be used: ";
    assert_eq!(with_key("", 0o600), format!("{unusable}must be a private key in PEM"));
    let label = "ENCRYPTED PRIVATE KEY";
    let encrypted = format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
    assert_eq!(
        with_key(&encrypted, 0o600),
        format!(
            "{unusable}must not be encrypted; write it without its passphrase: openssl pkey -in KEY -out PLAIN-KEY"
        )
    );
    assert_eq!(
        with_key(&other, 0o604),
        "others have rights to the key /server.key; run `chmod o= /server.key`, or, where it is a mounted secret of Kubernetes, \
         set `defaultMode: 0440`"
    );
    replace(&files.key, &other, 0o600);
    let nowhere = Files { key: folder.path().join("none"), ..files.clone() };
    assert_eq!(refused(&nowhere), "/none can't be read: No such file or directory (os error 2)");
    fs::write(&files.certificate, "no certificate").unwrap();
    assert_eq!(refused(&files), "there is no certificate in /server.pem");
    fs::write(&files.certificate, "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n").unwrap();
    assert!(refused(&files).starts_with("/server.pem is no PEM file of certificates: "));
}

#[test]
fn a_key_that_the_group_may_read_is_taken_as_mounted_secrets_are() {
    let folder = tempfile::tempdir().unwrap();
    let issued = Authority::new("servers").server();
    let files = issued.write(folder.path());
    for mode in [0o400, 0o440, 0o640] {
        replace(&files.key, &issued.key.serialize_pem(), mode);
        assert!(tls::server(&files, &Clients::NotAsked, &[], TestClock::new()).is_ok(), "{mode:o}");
    }
}

#[test]
fn authorities_of_clients_must_be_some() {
    let folder = tempfile::tempdir().unwrap();
    let files = Authority::new("servers").server().write(folder.path());
    let file = folder.path().join("clients.pem");
    let clients = Clients::Required(file.clone());
    assert_eq!(
        refused(&files, &clients, folder.path()),
        "/clients.pem can't be read: No such file or directory (os error 2)"
    );
    fs::write(&file, "").unwrap();
    assert_eq!(refused(&files, &clients, folder.path()), "there is no certificate in /clients.pem");
}
