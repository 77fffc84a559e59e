//! Parts of objects of other clients: what was read of them, what is recorded, and when they are read again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{Bundle, Edited};
use dcm_core::manifest::ObjectKey;
use dcm_core::plan::{self, EditedObject, Plan, Step, Text, Why, Work};
use dcm_core::port::clock::Random as _;
use dcm_core::port::cluster::Object;
use dcm_core::status::{Cause, Reason};

use super::Machine;
use super::lane::Lane;
use super::steps::Run;
use super::timers::Alarm;
use crate::engine::Safeguard;
use crate::engine::event::What;
use crate::engine::io::LaneId;

impl Machine {
    /// Keeps the texts of an object of which parts are edited; false for any other object.
    pub(super) fn note_text(&mut self, id: &LaneId, step: &Step, found: Option<&Object>) -> bool {
        let bundle = self.contexts.get(&id.context).and_then(|context| context.bundle(&id.cluster));
        let Some(lane) = self.lane_mut(id) else { return false };
        let members = lane.edited_members(&step.key, bundle.as_deref());
        if members.is_empty() {
            return false;
        }
        lane.texts.insert(step.key.clone(), found.map(|object| EditedObject::of(object, &members)));
        self.follow_edits(id);
        true
    }

    /// True for an object that the app context desires, or that was written for it.
    pub(super) fn is_about_object(&mut self, id: &LaneId, key: &ObjectKey) -> bool {
        let bundle = self.contexts.get(&id.context).and_then(|context| context.bundle(&id.cluster));
        let is_desired = bundle.is_some_and(|bundle| bundle.manifest(key).is_some());
        is_desired || self.lane_mut(id).is_some_and(|lane| lane.record.objects.contains_key(key))
    }

    /// A part of an object of another client was changed.
    pub(super) fn edited(&mut self, id: &LaneId, step: &Step, object: &Object) {
        let Work::Edit { member, stub, .. } = &step.work else { return };
        let Some(lane) = self.lane_mut(id) else { return };
        if let Some(failing) = &mut lane.failing {
            failing.count = 0;
        }
        match stub {
            Some(stub) => {
                let is_same = |one: &&mut Edited| one.key() == step.key && one.member == *member;
                if let Some(edited) = lane.record.edits.iter_mut().find(is_same) {
                    edited.written = vec![(**stub).clone()];
                }
            }
            None => lane.forget_edit(&step.key, member),
        }
        lane.unsaved = true;
        lane.texts.remove(&step.key);
        self.note_text(id, step, Some(object));
        if step.why == Why::Drifted {
            self.note_correction(id, &step.key);
        }
        self.publish(&id.cluster, Some(&id.context), What::Edited(step.key.clone()));
    }

    /// Drops the record of an edit that is not in the text.
    pub(super) fn forget_edit(&mut self, id: &LaneId, step: &Step, member: &str) -> Run {
        if let Some(waits) = self.settle_edit(id, step) {
            return waits;
        }
        if let Some(lane) = self.lane_mut(id)
            && lane.texts.contains_key(&step.key)
        {
            lane.forget_edit(&step.key, member);
        }
        Run::Changed
    }

    /// What comes before a text counts as settled: while a request without an answer may still change it, that is awaited; afterwards the text
    /// is read once more. None when it is settled.
    pub(super) fn settle_edit(&mut self, id: &LaneId, step: &Step) -> Option<Run> {
        let now = self.now;
        let awaits = self.options.keeps(Safeguard::RequestsAwaited);
        let lane = self.lane_mut(id).filter(|_| awaits)?;
        if let Some(until) = lane.unanswered_until(now) {
            self.timers.set(until, Alarm::Edits(id.clone()));
            let message = "a request without an answer may still take effect; looking once more";
            let cause = Cause { object: Some(step.key.clone()), ..Cause::new(Reason::Waiting, message) };
            return Some(Run::Waits(Cause { next_try: Some(until), ..cause }));
        }
        lane.lost.take()?;
        lane.texts.clear();
        Some(Run::Changed)
    }

    /// True for an edit that writes what the text is already.
    pub(super) fn changes_nothing(&mut self, id: &LaneId, step: &Step) -> bool {
        let Work::Edit { member, text, .. } = &step.work else { return false };
        let read = self.lane_mut(id).and_then(|lane| lane.texts.get(&step.key)?.as_ref()?.texts.get(member));
        matches!(read, Some(Text::Whole(read)) if read == text)
    }

    /// Reads edited objects again after an interval: no watch reports objects of other clients.
    pub(super) fn follow_edits(&mut self, id: &LaneId) {
        let interval = self.options.read_interval;
        // Lanes that began together don't read together for ever.
        let spread = interval / 4 * u32::try_from(self.jitter.next() % 256).unwrap_or_default() / 256;
        let next = self.now + interval + spread;
        if self.lane_mut(id).is_some_and(|lane| !lane.record.edits.is_empty()) {
            self.timers.set(next, Alarm::Edits(id.clone()));
        }
    }

    /// Forgets what was read of edited objects, so that they are read again.
    pub(super) fn read_edits(&mut self, id: &LaneId) {
        let Some(lane) = self.lane_mut(id) else { return };
        if lane.texts.is_empty() {
            return;
        }
        lane.texts = BTreeMap::new();
        self.ready.insert(id.clone());
    }
}

impl Lane {
    /// The members of an object that are edited, or were.
    fn edited_members(&self, key: &ObjectKey, bundle: Option<&Bundle>) -> BTreeSet<Arc<str>> {
        let desired = bundle.into_iter().flat_map(Bundle::edits).map(|(_, edit)| (edit.key(), &edit.member));
        let written = self.record.edits.iter().map(|edited| (edited.key(), &edited.member));
        desired.chain(written).filter(|(edited, _)| edited == key).map(|(_, member)| member.clone()).collect()
    }

    /// Records what a plan is about to write; true when the record must be stored before that.
    pub(super) fn note_edits(&mut self, plan: &Plan) -> bool {
        let mut is_news = false;
        for step in plan.runnable() {
            if let Some(edits) = plan::note_edit(&self.record.edits, step) {
                self.record.edits = edits;
                is_news = true;
            }
        }
        is_news
    }

    fn forget_edit(&mut self, key: &ObjectKey, member: &str) {
        let before = self.record.edits.len();
        self.record.edits.retain(|edited| edited.key() != *key || &*edited.member != member);
        self.unsaved |= self.record.edits.len() != before;
    }

    /// Everything is as wanted: of each text that has its stub domain stays that alone.
    pub(super) fn forget_texts(&mut self) {
        let edits = &self.record.edits;
        self.texts.retain(|key, found| found.is_some() && edits.iter().any(|edited| edited.key() == *key));
        for (key, found) in &mut self.texts {
            let Some(object) = found else { continue };
            for (member, text) in &mut object.texts {
                let edited = edits.iter().find(|edited| edited.key() == *key && edited.member == *member);
                let stub = edited.and_then(|edited| edited.written.last());
                if let (Text::Whole(whole), Some(stub)) = (&*text, stub)
                    && stub.edit(whole, &[]).as_deref() == Ok(whole)
                {
                    *text = Text::With(stub.clone());
                }
            }
        }
    }
}
