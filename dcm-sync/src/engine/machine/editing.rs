//! Parts of objects of other clients: what was read of them, what is recorded, and when they are read again.

use std::collections::BTreeMap;

use dcm_core::app_context::DataMember;
use dcm_core::manifest::ObjectKey;
use dcm_core::plan::{self, EditedObject, Plan, Step, Text, Why};
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
        if step.kind != *DataMember::kind() {
            return false;
        }
        let bundle = self.contexts.get(&id.context).and_then(|context| context.bundle(&id.cluster));
        let Some(lane) = self.lane_mut(id) else { return false };
        let mut members = plan::edited_members(bundle.as_deref(), &lane.record.edits);
        let Some(members) = members.remove(&step.key) else { return false };
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
        let Some(lane) = self.lane_mut(id) else { return };
        if let Some(failing) = &mut lane.failing {
            failing.count = 0;
        }
        plan::settle_edit(&mut lane.record.edits, step);
        lane.unsaved = true;
        lane.texts.remove(&step.key);
        self.note_text(id, step, Some(object));
        if step.why == Why::Drifted {
            self.note_correction(id, &step.key);
        }
        self.publish(&id.cluster, Some(&id.context), What::Edited(step.key.clone()));
    }

    /// Brings the record of an edit to what the text says. While a request without an answer may still change the text, that is awaited;
    /// afterwards it is read once more.
    pub(super) fn record_edit(&mut self, id: &LaneId, step: &Step) -> Run {
        let now = self.now;
        let awaits = self.options.keeps(Safeguard::RequestsAwaited);
        let Some(lane) = self.lane_mut(id) else { return Run::Changed };
        if let Some(until) = lane.unanswered_until(now).filter(|_| awaits) {
            self.timers.set(until, Alarm::Edits(id.clone()));
            let message = "a request without an answer may still take effect; looking once more";
            let cause = Cause { object: Some(step.key.clone()), ..Cause::new(Reason::Waiting, message) };
            return Run::Waits(Cause { next_try: Some(until), ..cause });
        }
        if awaits && lane.lost.take().is_some() {
            lane.texts.clear();
        }
        // With two edits, the first one may have had the texts read once more.
        if lane.texts.contains_key(&step.key) {
            plan::settle_edit(&mut lane.record.edits, step);
            lane.unsaved = true;
        }
        Run::Changed
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

    /// Everything is as wanted: of each text that has its stub domain stays that alone.
    pub(super) fn forget_texts(&mut self) {
        let edits = &self.record.edits;
        self.texts
            .retain(|key, found| found.is_some() && edits.iter().any(|edited| edited.target.key() == *key));
        for (key, found) in &mut self.texts {
            let Some(object) = found else { continue };
            for (member, text) in &mut object.texts {
                let edited = edits.iter().find(|edited| edited.target.is(key, member));
                let stub = edited.and_then(|edited| edited.written.as_ref());
                if let (Text::Whole(whole), Some(stub)) = (&*text, stub)
                    && stub.edit(whole, &[]).as_deref() == Ok(whole)
                {
                    *text = Text::With(stub.clone());
                }
            }
        }
    }
}
