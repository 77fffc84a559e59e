//! What the benches share: the logical cloud that they all make, what a process uses, what several rounds say together,
//! and what is printed.

pub mod child;
pub mod cloud;
pub mod page;
pub mod parts;
pub mod report;
pub mod size;
pub mod statistics;
pub mod usage;
