//! What the tests of single backends write and wait for.

use std::time::Duration;

use dcm_core::port::store::{Document, Error, Path, Store, StoreExt as _, Version, Write};
use dcm_testenv::effort::patience;

pub(crate) fn path(text: &str) -> Path {
    Path::new(text).unwrap()
}

/// Makes a small document.
pub(crate) async fn create(store: &dyn Store, name: &str) -> Result<Version, Error> {
    let document = Document::from_value(&serde_json::json!({ "name": name })).unwrap();
    store.write_one(Write::Create { path: path(name), document }).await
}

/// An error with all its causes.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// Asks until it is answered.
pub(crate) async fn answered<T>(ask: impl AsyncFn() -> Result<T, Error>) -> T {
    let asking = async {
        loop {
            match ask().await {
                Ok(answer) => return answer,
                Err(Error::Unavailable { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(error) => panic!("{error:?}"),
            }
        }
    };
    tokio::time::timeout(patience(), asking).await.unwrap()
}
