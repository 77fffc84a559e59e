//! To be written.

#[cfg(feature = "contract")]
pub mod contract;
#[cfg(feature = "sim")]
pub mod sim;
