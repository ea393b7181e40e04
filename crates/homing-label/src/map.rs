//! Positions of all rows and targets in a plane, in four bytes each.

use bytes::Bytes;
use homing::Projection;
use rayon::prelude::*;

use crate::Result;
use crate::data::LabelData;

/// Number of rows that are read at a time.
const BLOCK: usize = 256;

/// Positions in a square: two numbers from 0 to 65,535 per point.
pub(crate) struct Map {
    /// Positions of the pool, then of the targets, as little-endian 16-bit numbers.
    pub bytes: Bytes,
    pub targets: usize,
}

impl Map {
    pub fn of(data: &LabelData) -> Result<Self> {
        let embeddings = data.embeddings()?;
        let plane = Projection::new(embeddings);
        let dim = embeddings.dim();
        let mut points = vec![[0.0; 2]; embeddings.rows()];
        let buffer = || vec![0.0; BLOCK * dim];
        points.par_chunks_mut(BLOCK).enumerate().for_each_init(buffer, |rows, (block, places)| {
            let rows = &mut rows[..places.len() * dim];
            embeddings.read(block * BLOCK..block * BLOCK + places.len(), rows);
            places.iter_mut().zip(rows.chunks_exact(dim)).for_each(|(place, row)| *place = plane.apply(row));
        });
        let targets = data.target_embeddings()?;
        let targets: Vec<[f64; 2]> = targets
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
        let mut bytes = Vec::with_capacity(4 * points.len());
        for [x, y] in points {
            bytes.extend([place(x, 0), place(y, 1)].into_iter().flat_map(u16::to_le_bytes));
        }
        Ok(Self { bytes: bytes.into(), targets: count })
    }
}

/// Returns the corners of the smallest rectangle around the points.
fn bounds(points: &[[f64; 2]]) -> ([f64; 2], [f64; 2]) {
    points.iter().fold(([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]), |(low, high), point| {
        ([low[0].min(point[0]), low[1].min(point[1])], [high[0].max(point[0]), high[1].max(point[1])])
    })
}
