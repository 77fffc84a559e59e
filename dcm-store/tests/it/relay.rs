//! What stands before a server of MongoDB's protocol and does what that server can't: another collation, a view.
#![cfg(all(
    feature = "memory",
    feature = "sqlite",
    feature = "etcd",
    feature = "mongodb",
    feature = "encrypted"
))]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use mongodb::bson::{Bson, Document, deserialize_from_slice, doc, serialize_to_vec};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// The code of a message that is one document.
const OP_MSG: i32 = 2013;

/// Bytes before the document of such a message: its head, its flags and the kind of its first part.
const HEAD_BYTES: usize = 16 + 4 + 1;

/// Largest message, in bytes: that of the protocol.
const MESSAGE_BYTES_MAX: usize = 48_000_000;

#[derive(Default)]
struct Changes {
    ignores_case: bool,
    /// What these commands are answered with, each as one record of a cursor.
    answers: BTreeMap<&'static str, Document>,
}

/// Forwards what it does not change.
pub(crate) struct Relay {
    address: SocketAddr,
    changes: Arc<Mutex<Changes>>,
}

impl Relay {
    pub(crate) async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let changes = Arc::new(Mutex::new(Changes::default()));
        let shared = changes.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server, shared.clone()));
            }
        });
        Self { address, changes }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on, paths that are asked for are looked for in lower case.
    pub(crate) fn ignore_case(&self) {
        self.changes.lock().unwrap().ignores_case = true;
    }

    /// From now on, a command is answered with this record.
    pub(crate) fn answer(&self, command: &'static str, record: Document) {
        self.changes.lock().unwrap().answers.insert(command, record);
    }
}

/// The numbers of requests whose answers are replaced.
type Awaited = Arc<Mutex<BTreeMap<i32, Document>>>;

async fn carry(client: TcpStream, server: SocketAddr, changes: Arc<Mutex<Changes>>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let awaited = Awaited::default();
    let answered = awaited.clone();
    tokio::spawn(forward(from_server, to_client, move |message| answer(&answered, message)));
    forward(from_client, to_server, move |message| request(&changes, &awaited, message)).await;
}

/// Forwards messages, each as it becomes, until one side ends.
async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut change: impl FnMut(Vec<u8>) -> Vec<u8>,
) {
    loop {
        let mut length = [0; 4];
        if from.read_exact(&mut length).await.is_err() {
            return;
        }
        let bytes = usize::try_from(i32::from_le_bytes(length)).unwrap();
        assert!((16..=MESSAGE_BYTES_MAX).contains(&bytes), "{bytes}");
        let mut message = length.to_vec();
        message.resize(bytes, 0);
        if from.read_exact(&mut message[4..]).await.is_err() || to.write_all(&change(message)).await.is_err()
        {
            return;
        }
    }
}

fn number(message: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(message[at..at + 4].try_into().unwrap())
}

/// The document of a message; none when it has another form.
fn body(message: &[u8]) -> Option<Document> {
    let is_one = number(message, 12) == OP_MSG && message.get(HEAD_BYTES - 1) == Some(&0);
    let bytes = is_one.then(|| usize::try_from(number(message, HEAD_BYTES)).unwrap())?;
    deserialize_from_slice(message.get(HEAD_BYTES..HEAD_BYTES + bytes)?).ok()
}

/// The message with another document, without a checksum.
fn with_body(message: &[u8], body: &Document) -> Vec<u8> {
    let mut changed = message[..HEAD_BYTES].to_vec();
    changed.extend(serialize_to_vec(body).unwrap());
    let bytes = i32::try_from(changed.len()).unwrap();
    changed[..4].copy_from_slice(&bytes.to_le_bytes());
    changed[16] &= !1;
    changed
}

fn request(changes: &Mutex<Changes>, awaited: &Awaited, message: Vec<u8>) -> Vec<u8> {
    let changes = changes.lock().unwrap();
    let Some(mut body) = body(&message) else { return message };
    let command = body.keys().next().cloned().unwrap_or_default();
    if let Some(record) = changes.answers.get(command.as_str()) {
        let cursor = doc! { "id": 0_i64, "ns": "dcm.DCM", "firstBatch": [record.clone()] };
        awaited.lock().unwrap().insert(number(&message, 4), doc! { "cursor": cursor, "ok": 1.0 });
    }
    match body.get_document_mut("filter") {
        Ok(filter) if changes.ignores_case && command == "find" => {
            if let Some(id) = filter.get_mut("_id") {
                lower(id);
            }
            with_body(&message, &body)
        }
        _ => message,
    }
}

fn lower(value: &mut Bson) {
    match value {
        Bson::String(text) => *text = text.to_lowercase(),
        Bson::Document(fields) => fields.iter_mut().for_each(|(_, value)| lower(value)),
        _ => {}
    }
}

fn answer(awaited: &Awaited, message: Vec<u8>) -> Vec<u8> {
    match awaited.lock().unwrap().remove(&number(&message, 8)) {
        Some(body) => with_body(&message, &body),
        None => message,
    }
}
