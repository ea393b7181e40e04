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
