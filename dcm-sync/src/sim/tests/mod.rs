//! The simulation by itself: the pure server, and what lies in front of it.
