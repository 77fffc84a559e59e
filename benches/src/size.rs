//! How much a bench measures.

/// The amount of work of a bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Enough for figures that are compared with their bounds.
    Whole,
    /// The least that goes through all code of a bench, for a test without optimization. Its figures mean nothing, and their keys and
    /// descriptions have the numbers of the whole.
    Smallest,
}

impl Size {
    /// Returns the value for this size.
    pub fn of<T>(self, whole: T, smallest: T) -> T {
        match self {
            Self::Whole => whole,
            Self::Smallest => smallest,
        }
    }
}
