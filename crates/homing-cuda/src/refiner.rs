//! A second look, in f64, at the rows that f32 names.
//!
//! The bounds of f32 name many rows under little noise, and the CPU would compute each of them from scratch. Here their
//! numbers are computed from the start in f64, whose bounds leave hardly more than the rows that win.

use std::collections::HashMap;
use std::sync::Arc;

use homing::shard::{Pass, PickStep, Precision, Start};

use crate::buffer::Buffer;
use crate::device::{launch, per_block, per_row};
use crate::products::Products;
use crate::rows::Rows;
use crate::shard::{Checkpoints, DecisionNumbers, Law, NEVER, SLOTS, StartNumbers, StepNumbers, functionals};
use crate::{Device, Result};

/// Largest number of products at a time, which take 256 MiB.
const PRODUCTS: usize = 1 << 25;

/// Everything from which the numbers of a row are computed.
pub(crate) struct Refiner {
    device: Arc<Device>,
    dim: usize,
    gamma: f64,
    start: StartNumbers,
    /// The steps that are applied to all rows since the start.
    pub steps: Vec<PickStep>,
    names: Buffer<u32>,
    points: Buffer<f64>,
    norms: Buffer<f64>,
    weights: Buffer<f64>,
    /// With the functionals of the start, and with those of the steps.
    start_products: Products<f64>,
    products: Products<f64>,
    vars: Buffer<f64>,
    seconds: Buffer<f64>,
    errors: Buffer<f64>,
    until: Buffer<u8>,
    named: Buffer<u8>,
    numbers: Buffer<StepNumbers<f64>>,
    decisions: Buffer<DecisionNumbers<f64>>,
    counts: Buffer<u32>,
}

impl Refiner {
    pub fn new(device: &Arc<Device>, dim: usize) -> Self {
        let [names, counts] = std::array::from_fn(|_| Buffer::new(device));
        let [points, norms, weights, vars, seconds, errors] = std::array::from_fn(|_| Buffer::new(device));
        let [until, named] = std::array::from_fn(|_| Buffer::new(device));
        Self {
            device: device.clone(),
            dim,
            gamma: Precision::fine_product(dim),
            start: StartNumbers::default(),
            steps: Vec::new(),
            names,
            points,
            norms,
            weights,
            start_products: Products::new(device, dim, 0),
            products: Products::new(device, dim, 0),
            vars,
            seconds,
            errors,
            until,
            named,
            numbers: Buffer::new(device),
            decisions: Buffer::new(device),
            counts,
        }
    }

    pub fn start(&mut self, start: &Start<'_>) -> Result<()> {
        self.start = StartNumbers::of(start, self.dim, self.gamma);
        self.steps.clear();
        self.start_products.set(self.start.functionals.iter().map(Vec::as_slice))?;
        self.weights.fill(&self.start.weights)?;
        Ok(())
    }

    /// Returns those of the named rows that may matter to a decision of the pass, with the first such decision.
    pub fn challengers(
        &mut self,
        law: Law,
        stored: &Rows<'_>,
        pass: &Pass<'_>,
        named: &[(usize, usize)],
    ) -> Result<Vec<(usize, usize)>> {
        let excluded: HashMap<usize, usize> = pass.excluded.iter().copied().collect();
        let steps = self.steps.len() + pass.steps.len();
        let functionals = (steps * law.wide as usize + 1).max(self.start.functionals.len());
        let most = (PRODUCTS / functionals).clamp(256, 1 << 15);
        if !named.is_empty() {
            self.prepare(pass)?;
        }
        let mut found = Vec::new();
        for rows in named.chunks(most) {
            let names: Vec<u32> = rows.iter().map(|&(_, row)| row as u32).collect();
            let until = |row: usize| excluded.get(&row).map_or(NEVER, |&from| u8::try_from(from).unwrap_or(NEVER));
            let until: Vec<u8> = rows.iter().map(|&(_, row)| until(row)).collect();
            let decisions = self.decide(law, stored, pass, &names, &until)?;
            let all = decisions.into_iter().zip(&names).filter(|(t, _)| *t != NEVER);
            found.extend(all.map(|(t, &row)| (usize::from(t), row as usize)));
        }
        Ok(found)
    }

    /// Copies all steps and the decisions to the device.
    fn prepare(&mut self, pass: &Pass<'_>) -> Result<()> {
        let steps = || self.steps.iter().chain(pass.steps.iter().copied());
        let numbers: Vec<StepNumbers<f64>> = steps().map(|step| StepNumbers::of(step, self.gamma)).collect();
        self.products.set(functionals(steps(), pass.after))?;
        self.numbers.fill(&numbers)?;
        let decisions: Vec<_> =
            pass.decisions.iter().map(|one| DecisionNumbers::of(one.bar, &one.fine_errors)).collect();
        self.decisions.fill(&decisions)?;
        self.counts.reserve(256)?;
        Ok(())
    }

    /// Returns the first decision that each row may matter to, or [`NEVER`].
    fn decide(&mut self, law: Law, stored: &Rows<'_>, pass: &Pass<'_>, names: &[u32], until: &[u8]) -> Result<Vec<u8>> {
        let device = self.device.clone();
        let (count, kernels) = (names.len(), &device.double);
        let (names, until) = (self.names.fill(names)?, self.until.fill(until)?);
        let (points, dim) = (self.points.reserve(count * self.dim)?, self.dim as i32);
        launch!(device, kernels.gather, per_block(count), stored.argument(), names, points);
        let (rows, norms) = (count as i32, self.norms.reserve(count)?);
        launch!(device, kernels.measure, per_row(32 * count), points, dim, rows, norms);
        let (vars, seconds, errors) =
            (self.vars.reserve(count)?, self.seconds.reserve(count)?, self.errors.reserve(count)?);

        let StartNumbers { data, data_is_whole, others, others_are_whole, error, .. } = self.start;
        let block = self.start_products.of_rows(points, count)?;
        let weights = self.weights.at(0);
        let stride = block.stride as i64;
        launch!(
            device,
            kernels.start,
            per_row(count),
            law,
            block.address,
            stride,
            rows,
            norms,
            weights,
            data,
            data_is_whole,
            others,
            others_are_whole,
            error,
            vars,
            seconds,
            errors,
        );

        let block = self.products.of_rows(points, count)?;
        let (all, made) = ((self.steps.len() + pass.steps.len()) as i32, (self.steps.len() + pass.made) as i32);
        let (numbers, decisions, counts) = (self.numbers.at(0), self.decisions.at(0), self.counts.at(0));
        let named = self.named.reserve(count)?;
        let checkpoints = Checkpoints { slot: [0; SLOTS], at: [-1; SLOTS] };
        let (first, total, no_roots, no_error) = (0i64, count as i64, 0i32, 0.0f64);
        launch!(
            device,
            kernels.verify,
            per_row(count),
            law,
            block.address,
            block.stride as i64,
            rows,
            first,
            total,
            norms,
            vars,
            seconds,
            errors,
            until,
            numbers,
            all,
            made,
            decisions,
            no_roots,
            no_error,
            checkpoints,
            named,
            counts,
            0u32,
        );
        let mut found = vec![NEVER; count];
        self.named.read(&mut found)?;
        Ok(found)
    }
}
