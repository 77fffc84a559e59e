//! What an engine tells, until it ends.

use dcm_sync::engine::{Engine, Event};
use futures::stream::{Stream, StreamExt as _};

/// What there is to hear of an engine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It tells this.
    Event(Event),
    /// It told so many events more, before the next one, while nobody took them.
    Missed(u64),
}

/// Gives everything that an engine tells from now on, and ends with it. Nothing is waited for in between, so that only what
/// holds up the whole process makes it miss any.
pub(crate) fn follow<F>(engine: &Engine, hear: F) -> impl Future<Output = ()> + Send + use<F>
where
    F: FnMut(Heard) + Send,
{
    let (first, engine) = (engine.events(), engine.clone());
    follow_anew(first, move || engine.events(), hear)
}

/// The same for any events: those of a first subscription, and of others while there are any. One that ends was given up
/// by its engine, as too many waited; one that ends before its first event is of an engine that has ended.
async fn follow_anew<E, S, F>(mut events: E, mut subscribe: S, mut hear: F)
where
    E: Stream<Item = Event> + Unpin,
    S: FnMut() -> E,
    F: FnMut(Heard),
{
    let mut next = None;
    loop {
        let before = next;
        while let Some(event) = events.next().await {
            next = Some(hear_in_turn(event, next, &mut hear));
        }
        if next == before {
            return;
        }
        events = subscribe();
    }
}

/// Hears an event, after what is missing before it; gives the number of the one that follows.
fn hear_in_turn(event: Event, awaited: Option<u64>, hear: &mut impl FnMut(Heard)) -> u64 {
    let missed = awaited.map_or(0, |awaited| event.sequence.saturating_sub(awaited));
    if missed > 0 {
        hear(Heard::Missed(missed));
    }
    let next = event.sequence + 1;
    hear(Heard::Event(event));
    next
}

#[cfg(test)]
mod tests {
    use dcm_sync::engine::What;
    use futures::stream;
    use jiff::Timestamp;

    use super::*;

    fn event(sequence: u64) -> Event {
        let cluster = "p/c".parse().unwrap();
        Event { sequence, at: Timestamp::UNIX_EPOCH, cluster, context: None, what: What::Acquired }
    }

    /// What is heard of an engine whose subscriptions end after these events each, and how often it was asked for another.
    async fn heard(subscriptions: &[&[u64]]) -> (Vec<Heard>, usize) {
        let events = |numbers: &&[u64]| stream::iter(numbers.iter().copied().map(event).collect::<Vec<_>>());
        let mut subscriptions = subscriptions.iter().map(events);
        let (mut heard, mut asked) = (Vec::new(), 0);
        let first = subscriptions.next().unwrap();
        let subscribe = || {
            asked += 1;
            subscriptions.next().expect("the engine has ended")
        };
        follow_anew(first, subscribe, |one| heard.push(one)).await;
        (heard, asked)
    }

    #[tokio::test]
    async fn it_ends_with_the_engine_and_misses_nothing_then() {
        assert_eq!(heard(&[&[]]).await, (vec![], 0));
        let (heard, asked) = heard(&[&[1, 2], &[]]).await;
        assert_eq!((heard, asked), (vec![Heard::Event(event(1)), Heard::Event(event(2))], 1));
    }

    #[tokio::test]
    async fn what_was_not_taken_in_time_is_told_with_how_much_it_was() {
        let (heard, asked) = heard(&[&[7], &[11, 12], &[]]).await;
        let told =
            vec![Heard::Event(event(7)), Heard::Missed(3), Heard::Event(event(11)), Heard::Event(event(12))];
        assert_eq!((heard, asked), (told, 2));
    }
}
