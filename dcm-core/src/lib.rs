//! Pure core.
