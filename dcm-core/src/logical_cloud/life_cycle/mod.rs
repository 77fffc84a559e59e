//! The life of a logical cloud: which state it is in, and what may be done in it.
//!
//! A state is never stored. It is derived from what is wanted ([`Intent`], and whether it is paused) and from how far
//! the clusters are ([`Progress`]), so the two can't contradict each other.
//!
//! Promises:
//! - There is a way out of every state: what is on clusters can be terminated and what is not can be deleted, whatever
//!   failed before, and with no cluster left too.
//! - An operation that would do nothing says so: it is [`Allowed::AlreadySo`] when what it asks for holds already (so
//!   every operation may be repeated), and else refused with the reason.
//! - Documents can be edited in every state; that touches no cluster. What an edit must not change while the cloud is
//!   on clusters is refused by [`fixed_while_applied`].

mod edit;
mod operation;
mod state;

#[cfg(test)]
mod tests;

pub use edit::fixed_while_applied;
pub use operation::{Allowed, Operation, Reason, Refused};
pub use state::{Intent, LaneProgress, LifeCycle, Progress, State, Work};
