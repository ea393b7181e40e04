//! What a selection returns.

/// One chosen row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pick {
    /// 1 for the first pick.
    pub rank: usize,
    /// The row of the pool, counted from 0.
    pub index: usize,
    /// What the rule gave this row when it was picked.
    pub score: f64,
    /// Information about the targets gained by this and all earlier picks, in nats.
    pub information: f64,
    /// Share of the targets' variance still there after this pick; none without targets.
    pub variance_left: Option<f64>,
}

/// Why a selection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// As many picks as were asked for.
    Count,
    /// The next pick would have added too little ([`Stop::min_gain`](crate::Stop::min_gain)).
    Gain,
    /// Enough of the reducible variance is gone ([`Stop::reduced_share`](crate::Stop::reduced_share)).
    Variance,
    /// Quotas or the budget allow no further row.
    Limits,
    /// The progress closure said stop.
    Asked,
}

/// The picks in order, and what they were made with.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The chosen rows, first pick first.
    pub picks: Vec<Pick>,
    /// ρ² of targets and of rows without their own noise.
    pub noise_var: f64,
    /// Why there are no more.
    pub ended: Ended,
    /// Passes over the pool that it took.
    pub passes: usize,
}

impl Selection {
    /// The chosen rows' numbers, first pick first.
    pub fn indices(&self) -> Vec<usize> {
        self.picks.iter().map(|pick| pick.index).collect()
    }
}
