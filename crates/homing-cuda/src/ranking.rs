//! The warm rows of a device: choosing them, ranking them, and trying drafts on them.

use std::sync::Arc;

use cudarc::driver::LaunchConfig;
use homing::shard::{PickStep, Ranked, Ranking, Rival, Trial};

use crate::buffer::Buffer;
use crate::device::{launch, per_block, per_row, through_all};
use crate::products::Products;
use crate::real::Real;
use crate::rows::Rows;
use crate::shard::{Law, StepNumbers, functionals};
use crate::{Device, Result};

/// Number of values of a digit of a key, of which two decide.
const BINS: usize = 4096;

/// Numbers of a bar, which `kernels.cu` states: its leading bits, the rows above it, and the rows that are listed.
const BAR: usize = 3;
const LISTED: usize = 2;

/// Launch of a kernel with one block of 256 threads, and of one that runs through the chosen rows.
const ONE_BLOCK: LaunchConfig = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
const THROUGH_CHOSEN: LaunchConfig = LaunchConfig { grid_dim: (64, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };

/// Number of rivals that are read together with their number.
const FIRST_RIVALS: usize = 1024;

/// The rows with nearly the best keys, with copies of their vectors.
pub(crate) struct WarmRows<T> {
    device: Arc<Device>,
    dim: usize,
    count: usize,
    names: Buffer<u32>,
    /// Whether a row is chosen already; all zero between two choices.
    marks: Buffer<u8>,
    /// All zero between two questions.
    bins: Buffer<u32>,
    bar: Buffer<u32>,
    /// A bar, then the best rows with their keys.
    best: Buffer<u32>,
    points: Buffer<T>,
    vars: Buffer<T>,
    seconds: Buffer<T>,
    /// The numbers before each step of the last trial: all variances, then all second numbers.
    history: Buffer<T>,
    keys: Buffer<f32>,
    steps: Buffer<StepNumbers<T>>,
    excluded: Buffer<u32>,
    /// The number of rivals, then the rivals.
    rivals: Buffer<u32>,
    products: Products<T>,
}

impl<T: Real> WarmRows<T> {
    /// Prepares to choose among rows that start at an address.
    pub fn new(device: &Arc<Device>, dim: usize, address: u64) -> Self {
        let [names, bins, bar, best, excluded, rivals] = std::array::from_fn(|_| Buffer::new(device));
        let [points, vars, seconds, history] = std::array::from_fn(|_| Buffer::new(device));
        Self {
            device: device.clone(),
            dim,
            count: 0,
            names,
            marks: Buffer::new(device),
            bins,
            bar,
            best,
            points,
            vars,
            seconds,
            history,
            keys: Buffer::new(device),
            steps: Buffer::new(device),
            excluded,
            rivals,
            products: Products::new(device, dim, address),
        }
    }

    /// Chooses the open rows with the largest keys in some slots, of which the addresses are given.
    pub fn choose(
        &mut self,
        law: Law,
        lists: &[(usize, usize)],
        slots: &[(u64, u64)],
        until: u64,
        all: usize,
    ) -> Result<()> {
        let most = lists.iter().map(|&(_, count)| 2 * count).sum::<usize>().min(all);
        let (names, marks) = (self.names.reserve(most)?, self.marks.reserve(all)?);
        let (bins, bar) = (self.bins.reserve(BINS)?, self.bar.fill(&[0; BAR])?);
        let (kernels, device, rows) = (T::kernels(&self.device), &self.device, all as i64);
        let mut room = 0;
        for &(slot, count) in lists.iter().filter(|(_, count)| *count > 0) {
            let (vars, seconds) = slots[slot];
            for digit in [0i32, 1] {
                launch!(device, kernels.histogram, through_all(), law, vars, seconds, until, rows, digit, bar, bins);
                launch!(device, kernels.reach, ONE_BLOCK, bins, count as u32, digit, room as u32, bar);
            }
            // Many rows may have the same key as the bar.
            room = (room + 2 * count).min(most);
            let choose = &kernels.choose;
            launch!(device, choose, through_all(), law, vars, seconds, until, rows, bar, marks, room as u32, names);
        }
        let mut found = [0; BAR];
        self.bar.read(&mut found)?;
        self.count = (found[LISTED] as usize).min(room);
        Ok(())
    }

    /// Returns the rows with the largest keys, according to the last steps.
    fn best(&mut self, count: usize) -> Result<Vec<Ranked>> {
        let (rows, room) = (self.count as i32, (2 * count).min(self.count));
        self.best.reserve(BAR + 2 * room)?;
        let (bins, bar, keys) = (self.bins.reserve(BINS)?, self.best.fill(&[0; BAR])?, self.keys.at(0));
        let (kernels, device) = (T::kernels(&self.device), &self.device);
        for digit in [0i32, 1] {
            launch!(device, kernels.histogram_of_keys, THROUGH_CHOSEN, keys, rows, digit, bar, bins);
            launch!(device, kernels.reach, ONE_BLOCK, bins, count as u32, digit, 0u32, bar);
        }
        let (names, out, most) = (self.names.at(0), self.best.at(BAR), room as u32);
        launch!(device, kernels.list_best, THROUGH_CHOSEN, keys, names, rows, bar, most, out);
        let mut found = vec![0; BAR + 2 * room];
        self.best.read(&mut found)?;
        let listed = (found[LISTED] as usize).min(room);
        let ranked = |pair: &[u32]| Ranked { row: pair[0] as usize, key: f32::from_bits(pair[1]) };
        let mut best: Vec<Ranked> = found[BAR..].chunks_exact(2).take(listed).map(ranked).collect();
        best.sort_unstable_by(Ranked::order);
        best.truncate(count);
        Ok(best)
    }

    /// Copies the vectors and the numbers of the chosen rows.
    pub fn copy(&mut self, law: Law, (vars, seconds): (u64, u64), stored: &Rows<'_>) -> Result<()> {
        let count = self.count;
        if count == 0 {
            return Ok(());
        }
        let (points, names) = (self.points.reserve(count * self.dim)?, self.names.at(0));
        let kernels = T::kernels(&self.device);
        launch!(self.device, kernels.gather, per_block(count), stored.argument(), names, points);
        let (own_vars, own_seconds) = (self.vars.reserve(count)?, self.seconds.reserve(count)?);
        let has_second = i32::from(law.kind != 0);
        let (rows, marks) = (count as i32, self.marks.at(0));
        launch!(
            self.device,
            kernels.copy_numbers,
            per_row(count),
            vars,
            seconds,
            has_second,
            names,
            rows,
            own_vars,
            own_seconds,
            marks
        );
        Ok(())
    }

    /// Applies steps to the chosen rows.
    fn apply(
        &mut self,
        law: Law,
        (steps, after): (&[PickStep], Option<&[f64]>),
        gamma: f64,
        history: u64,
        excluded: &[u32],
    ) -> Result<()> {
        let rows = self.count;
        self.products.set(functionals(steps.iter(), after))?;
        let block = self.products.of_rows(self.points.at(0), rows)?;
        let numbers: Vec<StepNumbers<T>> = steps.iter().map(|step| StepNumbers::of(step, gamma)).collect();
        let (numbers, list) = (self.steps.fill(&numbers)?, self.excluded.fill(excluded)?);
        let keys = self.keys.reserve(rows)?;
        self.rivals.reserve(1 + 3 * rows.max(FIRST_RIVALS))?;
        let (found, rivals) = (self.rivals.fill(&[0])?, self.rivals.at(1));
        let (stride, count) = (block.stride as i64, steps.len() as i32);
        launch!(
            self.device,
            T::kernels(&self.device).try_steps,
            per_row(rows),
            law,
            block.address,
            stride,
            rows as i32,
            self.names.at(0),
            numbers,
            count,
            self.vars.at(0),
            self.seconds.at(0),
            history,
            list,
            excluded.len() as i32,
            keys,
            found,
            rivals,
        );
        Ok(())
    }

    /// Applies the pending picks, and returns the best rows.
    pub fn rank(&mut self, law: Law, ranking: &Ranking<'_>, gamma: f64) -> Result<Vec<Ranked>> {
        if self.count == 0 {
            return Ok(Vec::new());
        }
        self.apply(law, (ranking.pending, ranking.after), gamma, 0, &[])?;
        self.best(ranking.count)
    }

    /// Applies drafted steps, and returns the rows that would be picked before one of them.
    pub fn try_steps(&mut self, law: Law, trial: &Trial<'_>, gamma: f64) -> Result<Vec<Rival>> {
        if self.count == 0 {
            return Ok(Vec::new());
        }
        let excluded: Vec<u32> = trial.excluded.iter().map(|&row| row as u32).collect();
        let history = self.history.reserve(2 * self.count * trial.steps.len())?;
        self.apply(law, (trial.steps, trial.after), gamma, history, &excluded)?;
        let mut found = vec![0; 1 + 3 * FIRST_RIVALS];
        self.rivals.read(&mut found)?;
        let number = found[0] as usize;
        if number > FIRST_RIVALS {
            found.resize(1 + 3 * number, 0);
            self.rivals.read(&mut found)?;
        }
        let rival = |r: &[u32]| Rival { at: r[0] as usize, row: r[1] as usize, key: f32::from_bits(r[2]) };
        Ok(found[1..].chunks_exact(3).take(number).map(rival).collect())
    }

    /// Returns to the numbers before a step of the last trial.
    pub fn rewind(&mut self, has_second: bool, at: usize) -> Result<()> {
        let count = self.count;
        self.vars.copy_from(&self.history, 2 * at * count, count)?;
        if has_second {
            self.seconds.copy_from(&self.history, (2 * at + 1) * count, count)?;
        }
        Ok(())
    }
}
