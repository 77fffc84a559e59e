#![doc = include_str!("../README.md")]

mod manager;
pub mod prelude;
mod sweeping;
mod tending;
mod use_cases;

pub use manager::{Builder, Manager};
pub use sweeping::keep_swept;
pub use tending::keep_tended;
pub use use_cases::UseCases;
