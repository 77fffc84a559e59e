//! The search finds what it is for, wherever it is planted.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rusqlite::Connection;

use crate::secrets::search::{Searcher, der, files_below, scalar};

/// Fills the room around what is planted.
fn filler(length: usize) -> Vec<u8> {
    b"neither a key nor a token. ".iter().copied().cycle().take(length).collect()
}

fn key() -> String {
    rcgen::KeyPair::generate().unwrap().serialize_pem()
}

/// Made up: three parts, of which the last is binary.
fn token() -> String {
    let random = || scalar(&key());
    let header = URL_SAFE_NO_PAD.encode(format!("{{\"alg\":\"ES256\",\"kid\":\"{:?}\"}}", random()));
    let claims = URL_SAFE_NO_PAD.encode(format!("{{\"jti\":\"{:?}\"}}", random()));
    format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode([random(), random()].concat()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// True when a file with this in its middle is told to hold what has the name, wherever the middle is.
fn is_found(searcher: &Searcher, name: &str, planted: &[u8]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    (0..3).all(|shift| {
        let content = [&filler(500 + shift), planted, &filler(700)].concat();
        std::fs::create_dir_all(folder.path().join("below")).unwrap();
        std::fs::write(folder.path().join("below/file"), content).unwrap();
        let files = files_below(folder.path());
        files.iter().flat_map(|(_, bytes)| searcher.find(bytes)).any(|found| found.starts_with(name))
    })
}

/// The dresses of a key, each with a name.
fn dresses_of_key(pem: &str) -> Vec<(&'static str, Vec<u8>)> {
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let kubeconfig = format!("users: [{{user: {{client-key-data: {}}}}}]", STANDARD.encode(pem));
    let number = scalar(pem);
    vec![
        ("PEM", pem.as_bytes().to_vec()),
        ("PEM with carriage returns", pem.replace('\n', "\r\n").into_bytes()),
        ("PEM in JSON", serde_json::to_vec(pem).unwrap()),
        ("PEM in JSON in JSON", serde_json::to_vec(&serde_json::to_string(pem).unwrap()).unwrap()),
        ("PEM in a block of YAML", pem.replace('\n', "\n        ").into_bytes()),
        ("the body of PEM", body.clone().into_bytes()),
        ("DER", der(pem)),
        ("base64 of PEM", STANDARD.encode(pem).into_bytes()),
        ("base64 of PEM with carriage returns", STANDARD.encode(pem.replace('\n', "\r\n")).into_bytes()),
        ("base64 of the body of PEM", STANDARD.encode(&body).into_bytes()),
        ("a kubeconfig", kubeconfig.clone().into_bytes()),
        ("base64 of a kubeconfig", STANDARD.encode(&kubeconfig).into_bytes()),
        ("the number", number.clone()),
        ("the first half of the number", number[..16].to_vec()),
        ("the second half of the number", number[16..].to_vec()),
        ("the number in hexadecimal", hexadecimal(&number).into_bytes()),
        ("the number in capital hexadecimal", hexadecimal(&number).to_uppercase().into_bytes()),
        ("DER in hexadecimal", hexadecimal(&der(pem)).into_bytes()),
        ("base64 of the number", STANDARD.encode(&number).into_bytes()),
        ("base64url of the number", URL_SAFE_NO_PAD.encode(&number).into_bytes()),
        ("base64 of the hexadecimal number", STANDARD.encode(hexadecimal(&number)).into_bytes()),
    ]
}

#[test]
fn a_planted_key_is_found_in_every_dress() {
    let pem = key();
    let mut searcher = Searcher::new();
    searcher.add_key("planted", &pem);
    for (name, dress) in dresses_of_key(&pem) {
        assert!(is_found(&searcher, "planted", &dress), "{name}");
    }
}

#[test]
fn a_planted_token_is_found_whole_and_in_parts() {
    let token = token();
    let mut searcher = Searcher::new();
    searcher.add_token("planted", &token);
    let mut dresses = vec![
        token.clone(),
        STANDARD.encode(&token),
        STANDARD.encode(STANDARD.encode(&token)),
        hexadecimal(token.as_bytes()),
        token[..token.len() / 3].to_owned(),
    ];
    for part in token.split('.') {
        dresses.extend([part.to_owned(), STANDARD.encode(part), part[..part.len() / 2 + 20].to_owned()]);
    }
    for (number, dress) in dresses.iter().enumerate() {
        assert!(is_found(&searcher, "planted", dress.as_bytes()), "dress {number}");
    }
    let signature = URL_SAFE_NO_PAD.decode(token.rsplit('.').next().unwrap()).unwrap();
    assert!(is_found(&searcher, "planted", &signature));
}

#[test]
fn a_key_and_a_token_that_nobody_knows_are_found_too() {
    let (searcher, pem, token) = (Searcher::new(), key(), token());
    for dress in [pem.clone().into_bytes(), der(&pem), STANDARD.encode(&pem).into_bytes()] {
        assert!(is_found(&searcher, "any private key", &dress));
    }
    assert!(is_found(&searcher, "any private key", STANDARD.encode(der(&pem)).as_bytes()));
    for dress in [token.clone(), STANDARD.encode(&token), STANDARD.encode(STANDARD.encode(&token))] {
        assert!(is_found(&searcher, "any token", dress.as_bytes()));
    }
}

#[test]
fn what_is_public_of_a_key_is_not_found() {
    let pair = rcgen::KeyPair::generate().unwrap();
    let mut searcher = Searcher::new();
    searcher.add_key("planted", &pair.serialize_pem());
    let certificate = rcgen::CertificateParams::default().self_signed(&pair).unwrap();
    let request = rcgen::CertificateParams::default().serialize_request(&pair).unwrap();
    for public in [
        certificate.pem().into_bytes(),
        certificate.der().to_vec(),
        STANDARD.encode(certificate.pem()).into_bytes(),
        request.pem().unwrap().into_bytes(),
        STANDARD.encode(request.der()).into_bytes(),
        pair.public_key_pem().into_bytes(),
    ] {
        assert!(!is_found(&searcher, "", &public));
    }
}

/// A database whose deletions leave what they delete in the file, with the connection that keeps its log.
fn database(folder: &std::path::Path) -> Connection {
    let connection = Connection::open(folder.join("store.db")).unwrap();
    connection.pragma_update(None, "secure_delete", "OFF").unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.execute_batch("CREATE TABLE documents (path TEXT, document TEXT)").unwrap();
    connection
}

/// Plants a text in a row, so long before the end of a page.
fn plant(connection: &Connection, text: &str, before: usize) {
    let document = [filler(before), text.as_bytes().to_vec(), filler(3000)].concat();
    let document = String::from_utf8(document).unwrap();
    connection.execute("INSERT INTO documents VALUES ('a', ?1)", [document]).unwrap();
}

#[test]
fn what_was_planted_in_a_row_is_found_in_the_free_pages_after_its_deletion() {
    let pem = key();
    let mut searcher = Searcher::new();
    searcher.add_key("planted", &pem);
    // Wherever the boundary of a page falls into the key.
    for before in (3700..4300).step_by(13) {
        let folder = tempfile::tempdir().unwrap();
        let connection = database(folder.path());
        plant(&connection, &pem, before);
        connection.execute("DELETE FROM documents", ()).unwrap();
        drop(connection);
        let free: Vec<_> = files_below(folder.path());
        // Without a log: it is really in a free page.
        let [(_, bytes)] = &free[..] else { panic!("{} files", free.len()) };
        let found = searcher.find(bytes);
        assert!(found.iter().any(|name| name.starts_with("planted")), "{before}: {found:?}");
    }
}

#[test]
fn what_was_planted_in_a_row_is_found_in_the_log_before_it_comes_into_the_file() {
    let (pem, folder) = (key(), tempfile::tempdir().unwrap());
    let mut searcher = Searcher::new();
    searcher.add_key("planted", &pem);
    let connection = database(folder.path());
    plant(&connection, &STANDARD.encode(&pem), 100);
    connection.execute("DELETE FROM documents", ()).unwrap();
    let files = files_below(folder.path());
    let holds = |ending: &str| {
        let (_, bytes) = files.iter().find(|(file, _)| file.ends_with(ending)).unwrap();
        searcher.find(bytes).iter().any(|name| name.starts_with("planted"))
    };
    assert!(holds("store.db-wal") && !holds("store.db"));
    drop(connection);
}
