//! Every step of every workflow fails once, and every step is made twice: the end is the same as undisturbed, and
//! nothing is left over.
//!
//! A workflow is a list of calls, with a name that is a test's. [`holds`] runs it undisturbed, and then again and again:
//! with each write of each call failing in each way a write can fail, in a process that dies of it and in one that goes
//! on; with each call of the synchronizer failing before it has taken effect and after; and with each call made twice. A
//! call that failed is made again, once and a second later. After each step all there is must be what it was without:
//! documents, what the engine has, and what people are told. And where a process died and nobody makes the call again,
//! the others go on.

mod drafts;
mod each_step_fails_once_and_runs_twice_when;
mod outcome;
mod stage;
mod step;

use dcm_core::service::{Error, SweepAgenda};
use dcm_store::memory::Fault;

use self::outcome::{Numbers, Outcome, readable};
use self::stage::{Behind, Stage};
use self::step::Step;

/// The clouds of all workflows.
const CLOUDS: [&str; 2] = ["shop", "rival"];

/// Some calls that belong together.
struct Workflow {
    /// What is there before, undisturbed.
    before: &'static [Step],
    steps: &'static [Step],
    numbers: Numbers,
}

/// What goes wrong in one step.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// A write fails, and the process may die of it.
    Write { atomic_batches: bool, fault: Fault, dies: bool },
    /// A call of the synchronizer fails.
    Call(Fault),
}

/// All that goes wrong, at each place.
const TROUBLES: [Trouble; 8] = {
    use Fault::{NotWritten, Unanswered};
    use Trouble::{Call, Write};
    [
        Write { atomic_batches: false, fault: NotWritten, dies: true },
        Write { atomic_batches: false, fault: NotWritten, dies: false },
        Write { atomic_batches: false, fault: Unanswered, dies: true },
        Write { atomic_batches: false, fault: Unanswered, dies: false },
        Write { atomic_batches: true, fault: NotWritten, dies: true },
        Write { atomic_batches: true, fault: Unanswered, dies: false },
        Call(NotWritten),
        Call(Unanswered),
    ]
};

/// So many steps are made after the one that failed: what is wrong, and can't be seen at once, shows by then.
const STEPS_AFTER: usize = 4;

/// What there is undisturbed before one of the steps, or after the last one.
struct Moment {
    stage: Stage,
    outcome: Outcome,
}

/// Checks all that is promised of a workflow.
async fn holds(engine: Behind, workflow: &Workflow) {
    let moments = undisturbed(engine, workflow).await;
    moments.last().unwrap().outcome.assert_whole("undisturbed");
    for (index, step) in workflow.steps.iter().enumerate().filter(|(_, step)| !step.happens()) {
        let mut failures = 0;
        for trouble in TROUBLES {
            let mut after = 0;
            loop {
                let trial = Trial { workflow, moments: &moments, index, trouble, after };
                let (stage, failed) = trial.fail().await;
                if failed == 0 {
                    break;
                }
                if trouble.cuts_off() && !stage.tidies_late() {
                    trial.give_up(&stage.copy(false).await).await;
                }
                trial.repeat(&stage).await;
                after += failed;
            }
            failures += after;
        }
        assert!(failures > 0 || !step.changes(), "nothing fails in step {index}, {step:?}");
    }
    all_twice(workflow, &moments).await;
}

/// Makes all steps, and gives what there is between them.
async fn undisturbed(engine: Behind, workflow: &Workflow) -> Vec<Moment> {
    let stage = Stage::new(engine);
    for step in workflow.before {
        step.make(&stage.world, false).await.unwrap();
    }
    let mut moments = vec![Moment::of(&stage, workflow).await];
    for step in workflow.steps {
        make(&stage, *step, false).await.unwrap_or_else(|error| panic!("{step:?}: {error}"));
        moments.push(Moment::of(&stage, workflow).await);
    }
    moments
}

impl Moment {
    async fn of(stage: &Stage, workflow: &Workflow) -> Self {
        let outcome = Outcome::of(&stage.world, workflow.numbers).await;
        Self { stage: stage.copy(false).await, outcome }
    }
}

/// Each step is a second later than the one before.
async fn make(stage: &Stage, step: Step, again: bool) -> Result<(), Error> {
    stage.world.wait(1);
    step.make(&stage.world, again).await
}

/// One thing that fails in one step.
struct Trial<'a> {
    workflow: &'a Workflow,
    moments: &'a [Moment],
    index: usize,
    trouble: Trouble,
    /// How many writes or calls go well before.
    after: usize,
}

impl Trial<'_> {
    fn place(&self) -> String {
        let Self { index, trouble, after, .. } = self;
        format!("{trouble:?} after {after} in step {index}, {:?}", self.workflow.steps[*index])
    }

    /// Lets the step fail; gives how many writes or calls have failed with it: none when there were no more.
    async fn fail(&self) -> (Stage, usize) {
        let stage = self.moments[self.index].stage.copy(self.trouble.has_atomic_batches()).await;
        stage.fail_after(self.after, self.trouble);
        let made = make(&stage, self.workflow.steps[self.index], false).await;
        let failed = stage.failed(self.trouble);
        if failed > 0 {
            stage.world.store.start_again();
            let told_so = made.as_ref().err().is_none_or(Error::is_retryable);
            assert!(told_so, "{}: it may be made again, and is told {made:?}", self.place());
            let read = readable(&stage.world, self.workflow.numbers).await;
            let seen = [self.index, self.index + 1].map(|index| &self.moments[index].outcome.clouds);
            assert!(seen.contains(&&read), "{}: a cloud that nobody wrote: {read:#?}", self.place());
        }
        (stage, failed)
    }

    /// Makes the step again, and goes on.
    async fn repeat(&self, stage: &Stage) {
        let mut is_untidy = false;
        let steps = self.workflow.steps.iter().enumerate();
        for (index, step) in steps.skip(self.index).take(1 + STEPS_AFTER) {
            let place = format!("{}: step {index}, {step:?}", self.place());
            let again = index == self.index;
            make(stage, *step, again).await.unwrap_or_else(|error| panic!("{place}: {error}"));
            let was_untidy = is_untidy;
            is_untidy = (is_untidy || again) && !step.tidies();
            // Comparing takes more time than all else: only where something may show.
            if again || was_untidy || step.happens() {
                let expected = &self.moments[index + 1].outcome;
                let may_have_more = is_untidy || stage.tidies_late() && expected.has_clouds();
                let outcome = Outcome::of(&stage.world, self.workflow.numbers).await;
                outcome.assert_same(expected, may_have_more, &place);
            }
        }
        assert!(!is_untidy, "{}: nothing makes up for what was not cleaned up", self.place());
    }

    /// Goes on without the step, as far as that is allowed now. Each cloud can be taken off and deleted.
    async fn give_up(&self, stage: &Stage) {
        for step in self.workflow.steps.iter().skip(self.index + 1).take(STEPS_AFTER) {
            if let Err(error) = make(stage, step.bare(), true).await {
                let is_broken = matches!(error, Error::Incomplete { .. } | Error::UnknownSchema { .. });
                assert!(!is_broken && !error.is_retryable(), "{}: {step:?}: {error}", self.place());
            }
            readable(&stage.world, self.workflow.numbers).await;
        }
        for cloud in CLOUDS {
            let terminated = stage.world.terminate(cloud).await;
            stage.world.engine.finish();
            let deleted = stage.world.delete(cloud).await;
            // It may never have been there, or never have been applied.
            let is_fine = |error: &Error| matches!(error, Error::NotFound { .. } | Error::WrongState(_));
            assert!(terminated.as_ref().err().is_none_or(is_fine), "{}: {terminated:?}", self.place());
            let is_gone = |error: &Error| matches!(error, Error::NotFound { .. });
            assert!(deleted.as_ref().err().is_none_or(is_gone), "{}: {deleted:?}", self.place());
        }
        // As workers do: an app context may be left of a deletion that was cut off.
        let mut agenda = SweepAgenda::default();
        for _ in 0..2 {
            stage.world.clouds.sweep(&mut agenda).await.unwrap();
        }
        Outcome::of(&stage.world, self.workflow.numbers).await.assert_whole(&self.place());
    }
}

/// Makes each step twice.
async fn all_twice(workflow: &Workflow, moments: &[Moment]) {
    let stage = moments[0].stage.copy(false).await;
    for (step, moment) in workflow.steps.iter().zip(&moments[1..]) {
        let times = if step.happens() { 1 } else { 2 };
        for time in 0..times {
            let made = make(&stage, *step, time > 0).await;
            made.unwrap_or_else(|error| panic!("{step:?}, time {time}: {error}"));
        }
        let outcome = Outcome::of(&stage.world, workflow.numbers).await;
        outcome.assert_same(&moment.outcome, false, &format!("{step:?}, made twice"));
    }
}
