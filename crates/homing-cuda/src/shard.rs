//! The shard of one device.

use std::sync::Arc;

use cudarc::driver::DeviceRepr;
use homing::shard::{
    CHALLENGERS, CHECKPOINTS, Challengers, Errors, KeyForm, Pass, PickStep, Precision, Ranked, Ranking, Rival,
    SecondNumber, SecondStart, Shard, ShardSetup, Start, Trial,
};

use crate::buffer::Buffer;
use crate::device::{launch, per_row, through_all};
use crate::kernels::Kernels;
use crate::pool::{DevicePool, Part};
use crate::products::Products;
use crate::ranking::WarmRows;
use crate::real::Real;
use crate::refiner::Refiner;
use crate::rows::{Rows, Sizes};
use crate::{Device, Result};

/// The decision from which on a row is not named, if there is none.
pub(crate) const NEVER: u8 = u8::MAX;

/// Number of challengers above which f64 costs less: the CPU computes every challenger from scratch.
const DOUBTFUL: usize = 4096;

/// Number of rows that f32 may name in one pass, and of those that are read together with their numbers.
const NAMED: usize = 1 << 16;
const FIRST_NAMED: usize = 512;

/// Number of decisions of which a pass counts the named rows.
const DECISIONS: usize = 256;

/// Number of states of all rows.
pub(crate) const SLOTS: usize = CHECKPOINTS + 1;

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
pub(crate) struct DecisionNumbers<T> {
    bar: T,
    var_error: T,
    second_error: T,
    std_cov_error: T,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Checkpoints {
    pub slot: [i32; SLOTS],
    pub at: [i32; SLOTS],
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
        Self { kind: 0, form: form.number().into(), noise_var, wide: 1 }
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
    pub fn of(bar: f64, errors: &Errors) -> Self {
        // The arithmetic of the kernel rounds by a few ulp of ‖φ‖² and of the key.
        let wide = |error: f64| T::of(1.001 * (error + 8.0 * T::UNIT));
        Self {
            bar: T::of(bar - 160.0 * T::UNIT * bar.abs()),
            var_error: wide(errors.var),
            second_error: wide(errors.second),
            std_cov_error: T::of(1.001 * errors.std_cov),
        }
    }
}

/// The kind of VTL's numbers.
pub(crate) const SQUARES: i32 = 2;

/// What the kernel `start` reads.
#[derive(Clone, Default)]
pub(crate) struct StartNumbers {
    pub kind: i32,
    /// The functionals of the variance, then those of the second number.
    pub functionals: Vec<Vec<f64>>,
    /// The weights of their squares.
    pub weights: Vec<f64>,
    pub data: i32,
    pub data_is_whole: i32,
    pub others: i32,
    pub others_are_whole: i32,
    /// The error of a sum of squares per its root and ‖φ‖.
    pub error: f64,
}

impl StartNumbers {
    pub fn of(start: &Start<'_>, dim: usize, gamma: f64) -> Self {
        let (kind, columns, shrink, error) = match start.second {
            SecondStart::None => (0, &[][..], &[][..], 0.0),
            SecondStart::Joint(joint) => (1, &joint.columns[..], &joint.shrink[..], 0.0),
            SecondStart::Squares(root) => (SQUARES, &root.columns[..], &[][..], root.error_per_root(gamma)),
            SecondStart::Standardised(weights) => (3, std::slice::from_ref(weights), &[][..], 0.0),
        };
        let is_whole = |shrink: &[f64]| shrink.len() == dim;
        let weights = |shrink: &[f64]| -> Vec<f64> {
            shrink.iter().map(|&s| if is_whole(shrink) { s } else { 1.0 - s }).collect()
        };
        Self {
            kind,
            functionals: start.data.columns.iter().chain(columns).cloned().collect(),
            weights: [weights(&start.data.shrink), weights(shrink)].concat(),
            data: start.data.columns.len() as i32,
            data_is_whole: i32::from(is_whole(&start.data.shrink)),
            others: columns.len() as i32,
            others_are_whole: i32::from(is_whole(shrink)),
            error,
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
    stored: Rows<'a>,
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
    /// The number of named rows per decision, then their list, which starts with its length.
    counts: Buffer<u32>,
    names: Buffer<u32>,
    marks: Buffer<u8>,
    warm: WarmRows<T>,
    /// Looks again at the rows that f32 names.
    refiner: Option<Refiner>,
    /// The drafted steps of the last pass, and its checkpoints.
    drafted: Vec<PickStep>,
    checkpoints: [usize; SLOTS],
    norms: Norms<T>,
}

/// ‖φ‖² of every row.
enum Norms<T> {
    /// Those that the pool keeps, in f32.
    OfPool(Arc<Sizes<f32>>),
    Own(Buffer<T>),
}

impl<'a, T: Real> DeviceShard<'a, T> {
    pub fn new(pool: &'a DevicePool, part: &'a Part, form: KeyForm, setup: &ShardSetup<'_>) -> Result<Self> {
        let device = part.device.clone();
        let rows = part.rows.len();
        let (stored, sizes) = part.read_as(pool.dim, pool.format, setup.transform)?;
        let norms = if T::UNIT == f32::UNIT { Norms::OfPool(sizes) } else { Norms::Own(stored.measure::<T>(0)?.norms) };
        let products = Products::new(&device, pool.dim, part.values.at(0));
        Ok(Self {
            pool,
            stored,
            law: Law::new(form, setup.noise_var),
            gamma: products.error(),
            products,
            vars: Buffer::zeros(&device, rows * SLOTS)?,
            seconds: Buffer::new(&device),
            errors: Buffer::new(&device),
            slots: std::array::from_fn(|i| i),
            until: Buffer::zeros(&device, rows)?,
            named: Buffer::zeros(&device, rows)?,
            steps: Buffer::new(&device),
            decisions: Buffer::new(&device),
            counts: Buffer::zeros(&device, DECISIONS + 1 + 2 * NAMED)?,
            names: Buffer::new(&device),
            marks: Buffer::new(&device),
            warm: WarmRows::new(&device, pool.dim, part.values.at(0)),
            refiner: (T::UNIT == f32::UNIT).then(|| Refiner::new(&device, pool.dim)),
            drafted: Vec::new(),
            checkpoints: [0; SLOTS],
            norms,
            device,
        })
    }

    fn kernels(&self) -> &'a Kernels {
        T::kernels(&self.stored.part.device)
    }

    /// Returns the address of a row's ‖φ‖².
    fn norms(&self, row: usize) -> u64 {
        match &self.norms {
            Norms::OfPool(sizes) => sizes.norms.at(row),
            Norms::Own(norms) => norms.at(row),
        }
    }

    fn len(&self) -> usize {
        self.stored.part.rows.len()
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
        let numbers = StartNumbers::of(start, self.pool.dim, self.gamma);
        (self.law.kind, self.law.wide) = (numbers.kind, 1 + i64::from(numbers.kind != 0));
        if self.law.has_second() {
            self.seconds.reserve(rows * SLOTS)?;
        }
        if numbers.kind == SQUARES {
            self.errors.reserve(rows)?;
        }
        self.until.fill(bytemuck::cast_slice(start.open))?;
        launch!(self.device, self.kernels().open_rows, through_all(), self.until.at(0), rows as i64);
        let mut room = Buffer::new(&self.device);
        let weights = room.fill(&numbers.weights)?;
        let StartNumbers { data, data_is_whole, others, others_are_whole, error, .. } = numbers;
        if let Some(refiner) = &mut self.refiner {
            refiner.start(start)?;
        }
        self.products.set(numbers.functionals.iter().map(Vec::as_slice))?;
        let (law, device, kernels) = (self.law, &self.device, self.kernels());
        let (vars, seconds, errors, norms) = (&self.vars, &self.seconds, &self.errors, self.norms(0));
        self.products.of_all(&self.stored, |block| {
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
                weights,
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
        let decisions: Vec<DecisionNumbers<T>> =
            pass.decisions.iter().map(|one| DecisionNumbers::of(one.bar, &one.errors)).collect();
        let (steps, decisions) = (self.steps.fill(&steps)?, self.decisions.fill(&decisions)?);
        let count_address = self.counts.fill(&[0; DECISIONS + 1])?;
        let room = NAMED as u32;
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
        self.products.of_all(&self.stored, |block| {
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
                room,
            );
            Ok(())
        })?;
        let mut counts = vec![0; DECISIONS + 1 + 2 * FIRST_NAMED];
        self.counts.read(&mut counts)?;
        let most = if self.refiner.is_some() { NAMED } else { CHALLENGERS };
        let mut total = 0;
        let within = |count: &u32| {
            total += *count as usize;
            total <= most
        };
        let complete = counts[..pass.decisions.len()].iter().map(within).take_while(|&within| within).count();
        let mut listed = counts[DECISIONS] as usize;
        if listed > NAMED {
            // Rows of later decisions have taken the place of some of these.
            listed = counts[..complete].iter().sum::<u32>() as usize;
            self.counts.fill(&[0; DECISIONS + 1])?;
            let list = self.counts.at(DECISIONS);
            launch!(self.device, self.kernels().collect, through_all(), named, all, complete as i32, list, room);
        }
        if listed > FIRST_NAMED {
            counts.resize(DECISIONS + 1 + 2 * listed, 0);
            self.counts.read(&mut counts)?;
        }
        let pairs = counts[DECISIONS + 1..].chunks_exact(2).take(listed);
        let mut rows: Vec<(usize, usize)> =
            pairs.map(|pair| (pair[0] as usize, pair[1] as usize)).filter(|&(t, _)| t < complete).collect();
        self.set_until(&excluded, &vec![NEVER; excluded.len()])?;
        if let Some(refiner) = &mut self.refiner {
            rows = refiner.challengers(self.law, &self.stored, pass, &rows)?;
            refiner.steps.extend(pass.steps[..pass.made].iter().map(|&step| step.clone()));
            self.drafted = pass.steps[pass.made..].iter().map(|&step| step.clone()).collect();
            self.checkpoints = pass.checkpoints;
        }
        Ok(Challengers { rows, complete })
    }

    fn try_rank(&mut self, ranking: &Ranking<'_>) -> Result<Vec<Ranked>> {
        let taken: Vec<u32> = ranking.taken.iter().map(|&row| row as u32).collect();
        self.set_until(&taken, &vec![0; taken.len()])?;
        let all = self.len();
        let seconds = |slot: usize| if self.law.has_second() { self.seconds.at(slot * all) } else { 0 };
        let slots = self.slots.map(|slot| (self.vars.at(slot * all), seconds(slot)));
        self.warm.choose(self.law, ranking.lists, &slots, self.until.at(0), all)?;
        self.warm.copy(self.law, slots[0], &self.stored)?;
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
        if let Some(refiner) = &mut self.refiner {
            let applied = self.checkpoints[checkpoint].min(self.drafted.len());
            refiner.steps.extend(self.drafted.drain(..applied));
        }
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
