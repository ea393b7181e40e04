use std::ops::AddAssign;

/// What an engine did to make its picks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Work {
    /// Number of passes over the pool.
    pub passes: usize,
    /// Number of functionals with which the passes of [`super::speculative`] multiplied every row.
    pub probes: usize,
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.passes += other.passes;
        self.probes += other.probes;
    }
}
