//! Clusters that can't be reached, refuse or hang.

use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_core::status::{LaneState, Progress, Reason};
use dcm_sync::sim::{Link, cluster_id};

use crate::fixture::*;

#[tokio::test(start_paused = true)]
async fn a_cut_cluster_slows_no_other_and_is_finished_when_it_comes_back() {
    let undisturbed = {
        let world = World::new(3);
        let engine = world.engine();
        engine.contexts().apply(&context(steps(), 1..=3)).await.unwrap();
        let status = done(&engine, &context_id()).await;
        status.lanes[&cluster_id(2)].since
    };
    for link in [Link::Cut, Link::Hang] {
        let world = World::new(3);
        world.fleet.cluster(&cluster_id(1)).unwrap().set_link(link);
        let engine = world.engine();
        engine.contexts().apply(&context(steps(), 1..=3)).await.unwrap();
        tokio::time::sleep(SOON / 4).await;
        let status = engine.contexts().status(&context_id()).await.unwrap().unwrap();
        assert_eq!(status.progress, Progress::Working);
        for number in 2..=3 {
            let lane = &status.lanes[&cluster_id(number)];
            assert_eq!((lane.state, lane.since), (LaneState::Done, undisturbed), "{link:?}");
        }
        let cause = status.lanes[&cluster_id(1)].cause.as_ref().unwrap();
        assert_eq!(cause.reason, Reason::Unreachable);
        // A cluster that hangs is being tried for as long as a request may take.
        assert!(cause.next_try.unwrap() > world.clock.now() || link == Link::Hang);
        world.fleet.cluster(&cluster_id(1)).unwrap().set_link(Link::Up);
        done(&engine, &context_id()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_was_never_reached_can_be_taken_away_at_once() {
    let world = World::new(2);
    world.fleet.cluster(&cluster_id(1)).unwrap().set_link(Link::Cut);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), 1..=2)).await.unwrap();
    tokio::time::sleep(SOON / 10).await;
    engine.contexts().apply(&context(steps(), [2])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().forget(&context_id()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_context_without_clusters_can_be_changed_and_removed() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().apply(&context(steps(), [])).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(world.owned(1), Vec::<String>::new());
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().apply(&context(steps(), [])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
}
