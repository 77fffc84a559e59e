//! The engine on simulated clusters, in virtual time.

// One binary: nothing outside reaches in. An unwrap is an assertion here.
#![allow(unreachable_pub, clippy::unwrap_used)]

mod bound;
mod drift;
mod edits;
mod ending;
mod fixture;
mod forged;
mod gates;
mod goes_on;
mod heavy;
mod hindrances;
mod identity;
mod late_connections;
mod lifecycle;
mod mishaps;
mod mortal;
mod null;
mod observing;
mod ownership;
mod pausing;
mod requests;
mod restored;
mod results;
mod seen;
mod slow;
mod tidying;
mod trials;
mod unstorable;
mod workers;
