//! Who may ask for what.
//!
//! Whoever serves a router proves who asks, and puts an [`Admission`] into the extensions of each request: an [`Asker`] with its
//! [`Rights`], or why nobody is let in. Each route says what it [`Need`]s, and is held against that before its handler sees
//! anything of the request. A request without an admission is refused: a router that nobody guards lets nobody in.
//!
//! A project that the asker has no role in is answered as one that is not there, without a look at the store.

mod admission;
mod need;
mod rights;

pub use admission::{Admission, Asker, NotAdmitted};
pub use need::Need;
pub(crate) use need::{Denied, admitted, check};
pub use rights::{ProjectRole, Rights, Role};
