//! The shard of one device.

use std::sync::Arc;

use cudarc::driver::DeviceRepr;
use homing::shard::{
    CHALLENGERS, CHECKPOINTS, Challengers, Decision, KeyForm, Pass, PickStep, Precision, Ranked, Ranking, Rival,
    SecondNumber, SecondStart, Shard, Start, Trial,
};

use crate::buffer::Buffer;
use crate::device::{launch, per_row, through_all};
use crate::kernels::Kernels;
use crate::pool::{DevicePool, Part};
use crate::products::{Products, product_error};
use crate::ranking::WarmRows;
use crate::real::Real;
use crate::{Device, Result};

/// The decision from which on a row is not named, if there is none.
const NEVER: u8 = u8::MAX;

/// Number of challengers above which f64 costs less: the CPU computes every challenger from scratch.
const DOUBTFUL: usize = 4096;

/// Number of states of all rows.
const SLOTS: usize = CHECKPOINTS + 1;

/// What all kernels of a selection share. `kernels.cu` has the same structures.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Law {
    pub kind: i32,
    pub form: i32,
    pub noise_var: f64,
    pub wide: i64,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct StepNumbers<T> {
    inverse: T,
    second: T,
    of_g: T,
    of_h: T,
    key: f64,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct DecisionNumbers<T> {
    bar: T,
    var_error: T,
    second_error: T,
    std_cov_error: T,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Checkpoints {
    slot: [i32; SLOTS],
    at: [i32; SLOTS],
}

#[allow(unsafe_code, reason = "kernels read these structures")]
mod layout {
    use super::{Checkpoints, DecisionNumbers, DeviceRepr, Law, Real, StepNumbers};
    use cudarc::driver::ValidAsZeroBits;

    // SAFETY: the structures hold numbers in the layout of C, without padding.
    unsafe impl DeviceRepr for Law {}
    unsafe impl<T: Real> DeviceRepr for StepNumbers<T> {}
    unsafe impl<T: Real> DeviceRepr for DecisionNumbers<T> {}
    unsafe impl DeviceRepr for Checkpoints {}
    unsafe impl<T: Real> ValidAsZeroBits for StepNumbers<T> {}
    unsafe impl<T: Real> ValidAsZeroBits for DecisionNumbers<T> {}
}

impl Law {
    fn new(form: KeyForm, noise_var: f64) -> Self {
        let form = match form {
            KeyForm::Variance => 0,
            KeyForm::SignalRatio => 1,
            KeyForm::InformationRatio => 2,
            KeyForm::ValueRatio => 3,
            KeyForm::SquaresRatio => 4,
            KeyForm::Correlation => 5,
        };
        Self { kind: 0, form, noise_var, wide: 1 }
    }

    fn has_second(self) -> bool {
        self.kind != 0
    }
}

impl<T: Real> StepNumbers<T> {
    pub fn of(step: &PickStep, gamma: f64) -> Self {
        let size = |weights: &[f64]| gamma * weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        let (second, of_g, of_h) = match &step.second {
            SecondNumber::Joint { total, .. } => (1.0 / total, 0.0, 0.0),
            SecondNumber::Squares { weights, norm_sq: c } => {
                // With ĝ off by a‖φ‖ and ĥ by b‖φ‖: (2/p)(|ĝ|b + |ĥ|a) + 2|ĝ|a·‖c‖²/p², times ‖φ‖.
                let (a, b) = (size(&step.data), size(weights));
                (*c, 2.0 / step.total * (b + a * c / step.total), 2.0 / step.total * a)
            }
            SecondNumber::None | SecondNumber::Standardised { .. } => (0.0, 0.0, 0.0),
        };
        let [inverse, second, of_g, of_h] = [1.0 / step.total, second, of_g, of_h].map(T::of);
        Self { inverse, second, of_g, of_h, key: step.key }
    }
}

impl<T: Real> DecisionNumbers<T> {
    fn of(decision: &Decision) -> Self {
        // The arithmetic of the kernel rounds by a few ulp of ‖φ‖² and of the key.
        let wide = |error: f64| T::of(1.001 * (error + 8.0 * T::UNIT));
        Self {
            bar: T::of(decision.bar - 160.0 * T::UNIT * decision.bar.abs()),
            var_error: wide(decision.var_error),
            second_error: wide(decision.second_error),
            std_cov_error: T::of(1.001 * decision.std_cov_error),
        }
    }
}

/// Returns the functionals of steps in the order that the kernels expect: those of each step, then CTL's after the last.
pub(crate) fn functionals<'m>(
    steps: impl Iterator<Item = &'m PickStep>,
    after: Option<&'m [f64]>,
) -> impl Iterator<Item = &'m [f64]> {
    steps.flat_map(|step| [Some(&step.data[..]), step.second.weights()].into_iter().flatten()).chain(after)
}

/// The rows of one device, with their numbers.
pub(crate) struct DeviceShard<'a, T: Real> {
    pool: &'a DevicePool,
    part: &'a Part,
    device: Arc<Device>,
    law: Law,
    gamma: f64,
    products: Products<T>,
    /// The variance of every row in each slot, then the second number, and the error of a sum of squares per ‖φ‖.
    vars: Buffer<T>,
    seconds: Buffer<T>,
    errors: Buffer<T>,
    /// The slots of the current numbers and of the checkpoints.
    slots: [usize; SLOTS],
    /// The decision from which on each row is not to be named: 0 if it may not be picked.
    until: Buffer<u8>,
    named: Buffer<u8>,
    steps: Buffer<StepNumbers<T>>,
    decisions: Buffer<DecisionNumbers<T>>,
    counts: Buffer<u32>,
    found: Buffer<u32>,
    names: Buffer<u32>,
    marks: Buffer<u8>,
    warm: WarmRows<T>,
    /// ‖φ‖² of every row, if they are kept in another precision than the pool's.
    norms: Option<Buffer<T>>,
}

impl<'a, T: Real> DeviceShard<'a, T> {
    pub fn new(pool: &'a DevicePool, part: &'a Part, form: KeyForm, noise_var: f64) -> Result<Self> {
        let device = part.device.clone();
        let rows = part.rows.len();
        Ok(Self {
            pool,
            part,
            law: Law::new(form, noise_var),
            gamma: product_error::<T>(pool.dim),
            products: Products::new(&device, pool.dim),
            vars: Buffer::zeros(&device, rows * SLOTS)?,
            seconds: Buffer::new(&device),
            errors: Buffer::new(&device),
            slots: std::array::from_fn(|i| i),
            until: Buffer::zeros(&device, rows)?,
            named: Buffer::zeros(&device, rows)?,
            steps: Buffer::new(&device),
            decisions: Buffer::new(&device),
            counts: Buffer::new(&device),
            found: Buffer::zeros(&device, 1 + 2 * CHALLENGERS)?,
            names: Buffer::new(&device),
            marks: Buffer::new(&device),
            warm: WarmRows::new(&device, pool.dim),
            norms: if T::UNIT == f32::UNIT { None } else { Some(part.norms(pool.dim, pool.format)?) },
            device,
        })
    }

    fn kernels(&self) -> &'a Kernels {
        T::kernels(&self.part.device)
    }

    /// Returns the address of a row's ‖φ‖².
    fn norms(&self, row: usize) -> u64 {
        self.norms.as_ref().map_or_else(|| self.part.norms.at(row), |norms| norms.at(row))
    }

    fn len(&self) -> usize {
        self.part.rows.len()
    }

    /// Returns what a computation gives, or a default if the device fails, which the pool remembers.
    fn or_fail<A>(&mut self, default: A, f: impl FnOnce(&mut Self) -> Result<A>) -> A {
        if self.len() == 0 {
            return default;
        }
        let device = self.device.clone();
        let answer = device.take_turn().and_then(|_turn| f(self));
        answer.unwrap_or_else(|error| {
            self.pool.fail(&error);
            default
        })
    }

    fn set_until(&mut self, rows: &[u32], values: &[u8]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let (names, marks) = (self.names.fill(rows)?, self.marks.fill(values)?);
        launch!(
            self.device,
            self.kernels().set_until,
            per_row(rows.len()),
            self.until.at(0),
            names,
            marks,
            rows.len() as i32
        );
        Ok(())
    }

    fn try_start(&mut self, start: &Start<'_>) -> Result<()> {
        let rows = self.len();
        let none = (&[][..], &[][..]);
        let (kind, (columns, shrink), error) = match start.second {
            SecondStart::None => (0, none, 0.0),
            SecondStart::Joint(joint) => (1, (&joint.columns[..], &joint.shrink[..]), 0.0),
            SecondStart::Squares(root) => (2, (&root.columns[..], &[][..]), root.error_per_root(self.gamma)),
            SecondStart::Standardised(weights) => (3, (std::slice::from_ref(weights), &[][..]), 0.0),
        };
        (self.law.kind, self.law.wide) = (kind, 1 + i64::from(kind != 0));
        if kind != 0 {
            self.seconds.reserve(rows * SLOTS)?;
        }
        if kind == 2 {
            self.errors.reserve(rows)?;
        }
        let open: Vec<u8> = start.open.iter().map(|&open| if open { NEVER } else { 0 }).collect();
        self.until.fill(&open)?;
        let dim = self.pool.dim;
        let weights = |shrink: &[f64]| -> Vec<f64> {
            shrink.iter().map(|&s| if shrink.len() == dim { s } else { 1.0 - s }).collect()
        };
        let (data, others) = (start.data, shrink);
        let mut all = weights(&data.shrink);
        all.extend(weights(others));
        let mut weights = Buffer::new(&self.device);
        let weights = weights.fill(&all).map(|address| (address, weights))?;
        let whole = |shrink: &[f64]| i32::from(shrink.len() == dim);
        let (data_is_whole, others_are_whole) = (whole(&data.shrink), whole(others));
        let (data, others) = (data.columns.len() as i32, columns.len() as i32);
        self.products.set(start.data.columns.iter().chain(columns).map(Vec::as_slice))?;
        let (law, device, kernels) = (self.law, &self.device, self.kernels());
        let (vars, seconds, errors, norms) = (&self.vars, &self.seconds, &self.errors, self.norms(0));
        self.products.of_part(self.part, self.pool.format, |block| {
            let (stride, rows, first) = (block.stride as i64, block.rows as i32, block.first);
            launch!(
                device,
                kernels.start,
                per_row(block.rows),
                law,
                block.address,
                stride,
                rows,
                norms + (first * size_of::<T>()) as u64,
                weights.0,
                data,
                data_is_whole,
                others,
                others_are_whole,
                error,
                vars.at(first),
                seconds.at(first),
                errors.at(first),
            );
            Ok(())
        })?;
        self.device.wait()
    }

    fn try_verify(&mut self, pass: &Pass<'_>) -> Result<Challengers> {
        let all = self.len() as i64;
        let excluded: Vec<u32> = pass.excluded.iter().map(|&(row, _)| row as u32).collect();
        let until: Vec<u8> = pass.excluded.iter().map(|&(_, until)| u8::try_from(until).unwrap_or(NEVER)).collect();
        self.set_until(&excluded, &until)?;
        let steps: Vec<StepNumbers<T>> = pass.steps.iter().map(|step| StepNumbers::of(step, self.gamma)).collect();
        let decisions: Vec<DecisionNumbers<T>> = pass.decisions.iter().map(DecisionNumbers::of).collect();
        let (steps, decisions) = (self.steps.fill(&steps)?, self.decisions.fill(&decisions)?);
        let mut counts = vec![0; 256];
        let count_address = self.counts.fill(&counts)?;
        let root = pass.root.map_or(&[][..], |root| &root.columns);
        let error = pass.root.map_or(0.0, |root| root.error_per_root(self.gamma));
        let (count, made, roots) = (pass.steps.len() as i32, pass.made as i32, root.len() as i32);
        let checkpoints =
            Checkpoints { slot: self.slots.map(|slot| slot as i32), at: pass.checkpoints.map(|at| at as i32) };
        let all_functionals = functionals(pass.steps.iter().copied(), pass.after);
        self.products.set(all_functionals.chain(root.iter().map(Vec::as_slice)))?;
        let (law, device, kernels) = (self.law, &self.device, self.kernels());
        let (vars, seconds, errors) = (self.vars.at(0), self.seconds.at(0), self.errors.at(0));
        let (until, named, norms) = (self.until.at(0), self.named.at(0), self.norms(0));
        self.products.of_part(self.part, self.pool.format, |block| {
            let (stride, rows, first) = (block.stride as i64, block.rows as i32, block.first as i64);
            launch!(
                device,
                kernels.verify,
                per_row(block.rows),
                law,
                block.address,
                stride,
                rows,
                first,
                all,
                norms,
                vars,
                seconds,
                errors,
                until,
                steps,
                count,
                made,
                decisions,
                roots,
                error,
                checkpoints,
                named,
                count_address,
            );
            Ok(())
        })?;
        self.counts.read(&mut counts)?;
        let mut total = 0;
        let within = |count: &u32| {
            total += *count as usize;
            total <= CHALLENGERS
        };
        let complete = counts[..pass.decisions.len()].iter().map(within).take_while(|&within| within).count();
        let total: u32 = counts[..complete].iter().sum();
        let mut rows = Vec::new();
        if total > 0 {
            let found = self.found.fill(&[0])?;
            let (room, pairs) = (CHALLENGERS as u32, self.found.at(1));
            launch!(
                self.device,
                self.kernels().collect,
                through_all(),
                named,
                all,
                complete as i32,
                found,
                room,
                pairs
            );
            let mut pairs = vec![0; 1 + 2 * total as usize];
            self.found.read(&mut pairs)?;
            rows = pairs[1..].chunks_exact(2).map(|pair| (pair[0] as usize, pair[1] as usize)).collect();
        }
        self.set_until(&excluded, &vec![NEVER; excluded.len()])?;
        Ok(Challengers { rows, complete })
    }

    fn try_rank(&mut self, ranking: &Ranking<'_>) -> Result<Vec<Ranked>> {
        let taken: Vec<u32> = ranking.taken.iter().map(|&row| row as u32).collect();
        self.set_until(&taken, &vec![0; taken.len()])?;
        let all = self.len();
        let seconds = |slot: usize| if self.law.has_second() { self.seconds.at(slot * all) } else { 0 };
        let slots = self.slots.map(|slot| (self.vars.at(slot * all), seconds(slot)));
        self.warm.choose(self.law, ranking.lists, &slots, self.until.at(0), all)?;
        self.warm.copy(self.law, slots[0], self.part, self.pool.format)?;
        self.warm.rank(self.law, ranking, self.gamma)
    }
}

impl<T: Real> Shard for DeviceShard<'_, T> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn precision(&self) -> Precision {
        let challengers = if T::UNIT == f32::UNIT { DOUBTFUL } else { CHALLENGERS };
        Precision { unit: T::UNIT, product: self.gamma, challengers }
    }

    fn start(&mut self, start: &Start<'_>) {
        self.or_fail((), |shard| shard.try_start(start));
    }

    fn verify(&mut self, pass: &Pass<'_>) -> Challengers {
        let nothing = Challengers { rows: Vec::new(), complete: pass.decisions.len() };
        self.or_fail(nothing, |shard| shard.try_verify(pass))
    }

    fn keep(&mut self, checkpoint: usize) {
        self.slots.swap(0, checkpoint);
    }

    fn rank(&mut self, ranking: &Ranking<'_>) -> Vec<Ranked> {
        self.or_fail(Vec::new(), |shard| shard.try_rank(ranking))
    }

    fn try_steps(&mut self, trial: &Trial<'_>) -> Vec<Rival> {
        self.or_fail(Vec::new(), |shard| shard.warm.try_steps(shard.law, trial, shard.gamma))
    }

    fn rewind(&mut self, at: usize) {
        self.or_fail((), |shard| shard.warm.rewind(shard.law.has_second(), at));
    }
}
