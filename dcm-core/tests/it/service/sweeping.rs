//! What comes late of a deleted cloud is cleared: its app context soon, and all of it when nothing can come any more.

use dcm_core::port::store::{Document, Path, StoreExt as _, Write};
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::service::{LATE_LIMIT, SweepAgenda};

use crate::service::support::World;

/// A world in which a cloud is deleted, and a key and an app context of it come after that.
async fn with_late_work() -> World {
    let world = World::new(false).await;
    world.instantiated().await;
    let late = world.engine.only().context;
    let documents = world.all_documents().await;
    let (credential, value) =
        documents.into_iter().find(|(path, _)| path.starts_with("credentials/")).unwrap();
    world.terminate("shop").await.unwrap();
    world.engine.finish();
    world.delete("shop").await.unwrap();
    let (path, document) = (Path::new(&credential).unwrap(), Document::from_value(&value).unwrap());
    world.store.write_one(Write::Create { path, document }).await.unwrap();
    world.engine.apply(&late).await.unwrap();
    world
}

/// The paths of what is left of clouds.
async fn left(world: &World) -> Vec<String> {
    let rooms = ["credentials/", "snapshots/", "parts/", "deleted/", "context-owners/"];
    let paths = world.all_documents().await.into_keys();
    paths.filter(|path| rooms.iter().any(|room| path.starts_with(room))).collect()
}

#[tokio::test]
async fn who_sweeps_again_and_again_goes_by_the_own_clock() {
    let world = with_late_work().await;
    // The clock of whoever deleted it does not count.
    world.wait(-3600);
    let mut agenda = SweepAgenda::default();
    let limit = i64::try_from(LATE_LIMIT.as_secs()).unwrap();
    for (wait, held) in [(0, 1), (30, 0), (limit - 31, 0)] {
        world.wait(wait);
        world.clouds.sweep(&mut agenda).await.unwrap();
        assert_eq!(left(&world).await.len(), 2);
        assert_eq!(
            world.engine.held().len(),
            held,
            "from the second round on it keeps nobody from its namespace"
        );
    }
    world.wait(1);
    world.clouds.sweep(&mut agenda).await.unwrap();
    assert_eq!(left(&world).await, Vec::<String>::new());
}

#[tokio::test]
async fn what_can_not_be_swept_is_told_and_keeps_no_other_from_being_swept() {
    let world = with_late_work().await;
    // In a form that only a later version knows; it comes before the other one.
    let (path, later) = (Path::new("deleted/retail/a/unread").unwrap(), serde_json::json!({"schema": 99}));
    let document = Document::from_value(&later).unwrap();
    world.store.write_one(Write::Create { path, document }).await.unwrap();
    let mut agenda = SweepAgenda::default();
    for _ in 0..2 {
        world.clouds.sweep(&mut agenda).await.unwrap_err();
    }
    assert!(world.engine.held().is_empty());
}

#[tokio::test]
async fn without_a_worker_whoever_deletes_the_next_one_a_day_later_sweeps() {
    let world = with_late_work().await;
    world.wait(24 * 3600);
    world.put(serde_json::json!({"metadata": {"name": "other"}})).await.unwrap();
    world.delete("other").await.unwrap();
    let left = left(&world).await;
    assert!(matches!(&left[..], [path] if path.starts_with("deleted/retail/other/")), "{left:?}");
    assert!(world.engine.held().is_empty());
}
