//! Nothing is found where everything goes its way, whatever is under way.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch, Write,
};
use dcm_server::serve;
use serde_json::json;
use tokio::sync::oneshot;

use crate::check::store::Installation;
use crate::common::{everything, spec};

/// How long each call takes: so that a look comes between any two.
const CALL: Duration = Duration::from_millis(20);

/// A store that takes its time.
struct Slow(Arc<dyn Store>);

#[async_trait]
impl Store for Slow {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        tokio::time::sleep(CALL).await;
        self.0.get(path).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        tokio::time::sleep(CALL).await;
        self.0.list(prefix, page).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        tokio::time::sleep(CALL).await;
        let mut versions = Vec::new();
        for (applied, write) in batch.iter().enumerate() {
            let written = self.0.write(std::slice::from_ref(write)).await;
            versions.extend(written.map_err(|error| BatchError { applied, ..error })?);
            tokio::time::sleep(CALL).await;
        }
        Ok(versions)
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.0.watch(prefix).await
    }
}

/// The whole life of a cloud.
async fn live(Installation { world, .. }: &Installation) {
    let clouds = world.deployment.clouds();
    for pods in [1, 2] {
        let mut spec = spec(&everything());
        spec["quotas"] = json!([{"name": "q", "hard": {"pods": pods}}]);
        world.put(spec).await;
        world.apply().await;
        world.done().await;
    }
    clouds.renew(&world.caller, &world.project, &world.cloud, Some(&"ann".parse().unwrap())).await.unwrap();
    world.done().await;
    world.terminate().await;
    world.done().await;
    clouds.delete(&world.caller, &world.project, &world.cloud).await.unwrap();
    // Until the sweep that forgets the deletion.
    tokio::time::sleep(Duration::from_secs(400)).await;
}

#[tokio::test(start_paused = true)]
async fn at_no_moment_in_the_life_of_a_cloud_is_anything_found() {
    let installation = Installation::around(|store| Arc::new(Slow(store))).await;
    let (deployment, (stop, stopped)) = (installation.world.deployment.clone(), oneshot::channel::<()>());
    let worker = tokio::spawn(async move { serve(&deployment, async { drop(stopped.await) }).await });
    let looking = async {
        let mut looks = 0_u64;
        loop {
            let report = installation.check().await;
            assert_eq!(report.findings, [], "look {looks}");
            looks += 1;
            // Nothing happens between two calls of the store, and hardly anything in the end.
            tokio::time::sleep(Duration::from_millis(7 * (1 + looks / 500))).await;
        }
    };
    tokio::select! {
        () = live(&installation) => {}
        () = looking => {}
    }
    assert_eq!(installation.check().await.findings, []);
    stop.send(()).unwrap();
    worker.await.unwrap().unwrap();
    assert_eq!(installation.check().await.findings, []);
}

#[tokio::test(start_paused = true)]
async fn it_is_told_how_many_documents_of_each_room_were_looked_at() {
    let report = Installation::at_rest().await.check().await;
    assert_eq!(report.findings, []);
    assert!(report.is_sound());
    for (room, documents) in
        [("projects", 1), ("logical-clouds", 1), ("lanes", 1), ("results", 2), ("claims", 1)]
    {
        assert_eq!(report.documents[room], documents, "{room}");
    }
}
