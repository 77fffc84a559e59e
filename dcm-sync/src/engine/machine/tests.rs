//! What the state machine does of itself, without a shell.

use super::*;

#[test]
fn a_context_that_changes_while_it_is_read_is_read_once_more_afterwards() {
    let now = Timestamp::UNIX_EPOCH;
    let mut machine = Machine::new(Options::default(), 1, now);
    let id = ContextId::new("lc-1").unwrap();
    let changed = || Input::ContextChanged(id.clone());
    let loaded = || Input::ContextLoaded(id.clone(), Ok(None));
    let mut reads = |input| {
        let effects = machine.handle(input, now);
        effects.iter().filter(|effect| matches!(effect, Effect::LoadContext(_))).count()
    };
    assert_eq!(reads(Input::Listed), 0);
    assert_eq!([reads(changed()), reads(changed()), reads(changed())], [1, 0, 0]);
    assert_eq!([reads(loaded()), reads(loaded())], [1, 0]);
}
