//! App contexts in the store, with nobody who works on them, and calls at the same moment.

// An unwrap is an assertion here.
#![allow(clippy::unwrap_used)]

mod at_once;
mod cut_off;
mod following;
mod large;
mod later_versions;
mod polite;
mod support;
mod waiting;
