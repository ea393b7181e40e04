use std::ops::AddAssign;

/// What an engine did to make its picks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Work {
    /// Number of passes over the pool.
    pub passes: usize,
    /// Number of functionals with which the passes of [`super::speculative`] multiplied every row.
    pub probes: usize,
    /// Whether passes ran on this machine's processor although the pool has a carrier at hand.
    pub left_carrier: bool,
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.passes += other.passes;
        self.probes += other.probes;
        self.left_carrier |= other.left_carrier;
    }
}
