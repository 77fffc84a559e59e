//! Making a decision between the two halves of its entry.

use crate::app_context::Generation;
use crate::causes;
use crate::port::audit::{AuditLog, Decision, Ending, Outcome, TEXT_MAX};
use crate::port::clock::Clock;
use crate::port::{store, synchronizer};

/// What a decision gives, as the audit log says it.
pub trait Told: Send + Sync {
    /// What came of it.
    fn outcome(&self) -> Outcome;
}

/// Why a decision came to nothing, as the audit log says it.
pub trait AuditedError: std::error::Error + Send + Sync + Sized + 'static {
    /// The log could not be written, so nothing was changed.
    fn not_audited(source: store::Error) -> Self;

    /// True when a rule is against it and nothing was changed; false when it failed on the way.
    fn is_refusal(&self) -> bool;

    /// What the log keeps of it. Whoever may see a project reads that.
    fn kept(&self) -> String {
        causes::told(self)
    }
}

/// Makes a decision between the two halves of its entry. Where the first can't be written, nothing is decided.
///
/// # Errors
/// Those of the call, and [`AuditedError::not_audited`].
pub async fn kept<T: Told, E: AuditedError>(
    log: &dyn AuditLog,
    clock: &dyn Clock,
    decision: Decision,
    call: impl Future<Output = Result<T, E>> + Send,
) -> Result<T, E> {
    let entry = log.begin(&decision).await.map_err(E::not_audited)?;
    let done = call.await;
    let outcome = match &done {
        Ok(told) => told.outcome(),
        Err(error) => of_error(error),
    };
    // The decision is made by now, or refused. An entry without an end says that nobody knows.
    drop(log.end(&entry, &Ending { at: clock.now(), outcome }).await);
    done
}

/// An error with all that caused it.
fn of_error<E: AuditedError>(error: &E) -> Outcome {
    let message = error.kept().chars().take(TEXT_MAX).collect();
    if error.is_refusal() { Outcome::Refused { message } } else { Outcome::Failed { message } }
}

/// Accepted, and nothing is brought to clusters.
impl Told for () {
    fn outcome(&self) -> Outcome {
        Outcome::Accepted { generation: None }
    }
}

/// Accepted, and brought to clusters with this generation.
impl Told for Generation {
    fn outcome(&self) -> Outcome {
        Outcome::Accepted { generation: Some(*self) }
    }
}

impl AuditedError for synchronizer::Error {
    fn not_audited(source: store::Error) -> Self {
        Self::Store(source)
    }

    fn is_refusal(&self) -> bool {
        // The work is paused then, whatever is still under way.
        !matches!(self, Self::Store(_) | Self::Contended { .. } | Self::StillUnderWay { .. } | Self::Resumed)
    }

    fn kept(&self) -> String {
        match self {
            Self::Store(_) => self.to_string(),
            error => causes::told(error),
        }
    }
}
