//! One environment for all tests of a process.

use std::ops::Deref;
use std::sync::Arc;

use tokio::sync::OnceCell;

use super::Environment;
use crate::Error;

/// It is never dropped; the guard ends it when the process ends.
static SHARED: OnceCell<Result<Environment, Arc<Error>>> = OnceCell::const_new();

/// A test's share in the environment of its process.
///
/// When a test panics while it holds its share, the folder with the logs is kept.
#[derive(Debug)]
pub struct SharedEnvironment(&'static Environment);

impl Environment {
    /// The environment that all tests of this process share, started by the first that asks.
    ///
    /// All of them should ask for the same number of clusters, the most that any needs; a test that needs fewer uses
    /// the first ones. As the tests run side by side, each should use names of its own in the clusters, and one that
    /// makes a proxy fail or kills a server should rather have an environment of its own.
    ///
    /// # Errors
    /// When the environment could not be started (for every test the same error), or has too few clusters.
    pub async fn shared(clusters: usize) -> Result<SharedEnvironment, Error> {
        let start = || async { Self::builder().clusters(clusters).start().await.map_err(Arc::new) };
        let environment = SHARED.get_or_init(start).await.as_ref();
        let environment = environment.map_err(|error| Error::Shared(Arc::clone(error)))?;
        let started = environment.clusters().len();
        if started < clusters {
            return Err(Error::TooFewClusters { asked: clusters, started });
        }
        Ok(SharedEnvironment(environment))
    }
}

impl Deref for SharedEnvironment {
    type Target = Environment;

    fn deref(&self) -> &Environment {
        self.0
    }
}

impl Drop for SharedEnvironment {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.keep_folder();
        }
    }
}
