//! The engine on simulated clusters, in virtual time.

#![allow(unreachable_pub)] // one binary: nothing outside reaches in

mod fixture;
mod hindrances;
mod lifecycle;
mod mishaps;
mod mortal;
mod ownership;
mod workers;
