//! Attacks of project admins on real API servers: they grant, name and stretch what they may not.

mod admins;

/// The API servers of the environment that all these tests share.
const SERVERS: usize = 2;
