//! Positions of all rows and targets in a plane, in four bytes each.

use homing::Projection;
use rayon::prelude::*;

use crate::Result;
use crate::data::LabelData;

/// Positions in a square: two numbers from 0 to 65,535 per point.
pub(crate) struct Map {
    /// Positions of the pool, then of the targets, as little-endian 16-bit numbers.
    pub bytes: Vec<u8>,
    pub targets: usize,
}

impl Map {
    pub fn of(data: &LabelData) -> Result<Self> {
        let embeddings = data.embeddings()?;
        let plane = Projection::new(embeddings);
        let mut points: Vec<[f64; 2]> =
            (0..embeddings.rows()).into_par_iter().map(|row| plane.apply(&embeddings.row(row))).collect();
        let targets = data.target_embeddings()?;
        let targets = targets
            .map_or(Vec::new(), |targets| (0..targets.rows()).map(|row| plane.apply(&targets.row(row))).collect());
        let count = targets.len();
        points.extend(targets);
        embeddings.check_read()?;
        let (low, high) = bounds(&points);
        let centre = [0, 1].map(|axis| f64::midpoint(low[axis], high[axis]));
        let side = (high[0] - low[0]).max(high[1] - low[1]).max(f64::MIN_POSITIVE);
        let place = |value: f64, axis: usize| {
            // A margin keeps points off the border.
            let share = 0.5 + 0.94 * (value - centre[axis]) / side;
            (share.clamp(0.0, 1.0) * f64::from(u16::MAX)) as u16
        };
        let bytes = points.iter().flat_map(|&[x, y]| [place(x, 0), place(y, 1)]).flat_map(u16::to_le_bytes).collect();
        Ok(Self { bytes, targets: count })
    }
}

/// Returns the corners of the smallest rectangle around the points.
fn bounds(points: &[[f64; 2]]) -> ([f64; 2], [f64; 2]) {
    points.iter().fold(([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]), |(low, high), point| {
        ([low[0].min(point[0]), low[1].min(point[1])], [high[0].max(point[0]), high[1].max(point[1])])
    })
}
