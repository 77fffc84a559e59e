//! What the core needs from outside, as traits with written contracts. Adapters implement them.

pub mod answer;
pub mod audit;
pub mod clock;
pub mod cluster;
pub mod in_order;
pub mod key_source;
pub mod listing;
pub mod proof;
pub mod resources;
pub mod room;
pub mod schema;
pub mod store;
pub mod synchronizer;
pub mod threads;
pub mod trial;
pub mod unbinding;
