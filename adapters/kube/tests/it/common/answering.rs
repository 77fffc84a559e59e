//! A server that says one thing.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A request as it came.
pub(crate) struct Request(String);

impl Request {
    /// Its first line.
    pub(crate) fn line(&self) -> &str {
        self.0.lines().next().unwrap_or_default()
    }

    /// The value of a header, which is named in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Answers each connection's first bytes with this text, and tells them.
pub(crate) async fn answering(text: String) -> (String, tokio::sync::mpsc::UnboundedReceiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = vec![0; 4096];
            let count = stream.read(&mut bytes).await.unwrap_or(0);
            let _ = sender.send(Request(String::from_utf8_lossy(&bytes[..count]).into_owned()));
            let _ = stream.write_all(text.as_bytes()).await;
        }
    });
    (address, receiver)
}

/// An answer of HTTP.
pub(crate) fn answer(code: u16, body: &str) -> String {
    format!("HTTP/1.1 {code} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// Answers each connection with this code and a body that goes on as long as somebody reads it.
pub(crate) async fn going_on(code: u16) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 4096]).await;
                let mut words = format!("HTTP/1.1 {code} X\r\nconnection: close\r\n\r\n").into_bytes();
                while stream.write_all(&words).await.is_ok() {
                    words = vec![b' '; 64 * 1024];
                }
            });
        }
    });
    address
}
