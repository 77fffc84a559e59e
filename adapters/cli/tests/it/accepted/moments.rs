//! When a server ends: after how many answers, by a seed.

/// What the moments follow from.
pub(crate) struct Moments {
    pub(crate) seed: u64,
    state: u64,
}

impl Moments {
    pub(crate) fn begin(seed: u64) -> Self {
        Self { seed, state: seed }
    }

    /// A number below another one (SplitMix64).
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }
}
