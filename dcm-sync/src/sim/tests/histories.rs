//! Random histories: whatever happens, states go forward, and a watch arrives at what is there.

use std::collections::BTreeMap;

use dcm_core::port::cluster::{Error, Selection, WatchEvent};
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Act {
    Create(u8, u8),
    Update(u8, u8),
    Edit(u8, u8),
    Hold(u8),
    Delete(u8),
    DeleteNamespace,
    CreateNamespace,
    Wait(u16),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (0..3_u8, any::<u8>()).prop_map(|(name, value)| Act::Create(name, value)),
        (0..3_u8, any::<u8>()).prop_map(|(name, value)| Act::Update(name, value)),
        (0..3_u8, any::<u8>()).prop_map(|(name, value)| Act::Edit(name, value)),
        (0..3_u8).prop_map(Act::Hold),
        (0..3_u8).prop_map(Act::Delete),
        Just(Act::DeleteNamespace),
        Just(Act::CreateNamespace),
        (0..4000_u16).prop_map(Act::Wait),
    ]
}

fn body(name: u8, value: u8) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": format!("c{name}"), "namespace": "team"},
        "data": {(value % 3).to_string(): value.to_string()},
    })
}

/// What is refused is part of the history.
fn perform(lab: &mut Lab, act: &Act) -> Result<(), Error> {
    let patch = |lab: &mut Lab, name: u8, patch: Value| {
        let body = body(name, 0);
        lab.server.edit_as("other", &kind(&body), &key(&body), &patch).map(drop)
    };
    match act {
        Act::Create(name, value) => lab.create(&body(*name, *value)).map(drop),
        Act::Update(name, value) if lab.get(&body(*name, 0)).is_some() => {
            lab.update(&body(*name, *value)).map(drop)
        }
        Act::Update(..) => Ok(()),
        Act::Edit(name, value) => {
            patch(lab, *name, json!({"data": {"1": value.to_string()}, "metadata": {"finalizers": null}}))
        }
        Act::Hold(name) => patch(lab, *name, json!({"metadata": {"finalizers": ["a.io/held"]}})),
        Act::Delete(name) => lab.delete(&body(*name, 0)).map(drop),
        Act::DeleteNamespace => lab.delete(&namespace("team")).map(drop),
        Act::CreateNamespace => lab.create(&namespace("team")).map(drop),
        Act::Wait(millis) => {
            lab.wait(Duration::from_millis(u64::from(*millis)));
            Ok(())
        }
    }
}

fn revision(object: &Object) -> u64 {
    object.resource_version.parse().unwrap()
}

/// Follows a server as a watch does.
struct Watched {
    seen: u64,
    known: BTreeMap<ObjectKey, Object>,
}

impl Watched {
    fn follow(&mut self, server: &Server, selection: &Selection) {
        loop {
            let (seen, event) = server.next_change(self.seen, selection).unwrap();
            assert!(seen >= self.seen, "a watch goes forward");
            self.seen = seen;
            match event {
                None => break,
                Some((_, WatchEvent::Applied(object))) => {
                    let before = self.known.insert(object.key.clone(), object.clone());
                    assert!(before.is_none_or(|before| revision(&before) < revision(&object)));
                }
                Some((_, WatchEvent::Deleted(object))) => {
                    let before = self.known.remove(&object.key).unwrap();
                    assert!(before.uid == object.uid && revision(&before) <= revision(&object));
                }
                Some((_, WatchEvent::Listing(_) | WatchEvent::Relisting | WatchEvent::Listed(_))) => {
                    panic!("a list is no change")
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn resource_versions_never_go_back_and_a_watch_arrives_at_what_is_there(
        acts in proptest::collection::vec(act(), 1..60),
    ) {
        let mut lab = Lab::new();
        lab.create(&namespace("team")).unwrap();
        let selection = Selection { kind: kind(&body(0, 0)), owner: call().owner };
        let mut watched = Watched { seen: lab.server.revision(), known: BTreeMap::new() };
        for act in &acts {
            let before = lab.server.revision();
            let refused = perform(&mut lab, act).err();
            prop_assert!(lab.server.revision() >= before, "{act:?}: {refused:?}");
            let newest = lab.server.objects().map(|object| revision(&object)).max();
            prop_assert!(newest <= Some(lab.server.revision()));
            watched.follow(&lab.server, &selection);
            let ours = lab.server.objects().filter(|object| object.kind == selection.kind && object.marks.is_some());
            let there: Vec<_> = ours.map(|object| (object.key, object.resource_version)).collect();
            let known = watched.known.values().map(|object| (object.key.clone(), object.resource_version.clone()));
            let known: Vec<_> = known.collect();
            prop_assert_eq!(there, known);
        }
    }
}
