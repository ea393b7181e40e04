//! A carrier that computes as a GPU does: in f32 alone, row by row, from the closed form of the rule's key, with sums in
//! another order than that of the engine's own shard. It is the reference for kernels, and the bench of the coordinator runs
//! on it.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use homing::shard::{
    CHALLENGERS, CHECKPOINTS, Carrier, Challengers, KeyForm, Pass, PickStep, Precision, Ranked, Ranking, Rival,
    SecondNumber, SecondStart, Shard, ShardSetup, Start, Survey, Transform, Trial,
};
use homing::{Embeddings, RowSource};

/// A pool in uneven parts, each of which is a shard.
#[derive(Debug)]
pub struct Parts {
    values: Vec<f32>,
    dim: usize,
    ends: Vec<usize>,
    /// Numbers that were read, passes that were made, and how often a shard computed all numbers from scratch.
    pub reads: AtomicUsize,
    pub passes: AtomicUsize,
    pub starts: AtomicUsize,
    /// Number of passes after which the carrier vanishes.
    pub vanishes_after: AtomicUsize,
    /// The only rows that passes name, as if a second look had ruled out the others.
    pub only: Option<std::collections::HashSet<usize>>,
}

impl Parts {
    pub fn new(values: &[f32], dim: usize, ends: &[usize]) -> Self {
        let (reads, passes, starts) = Default::default();
        let vanishes_after = AtomicUsize::new(usize::MAX);
        Self { values: values.to_vec(), dim, ends: ends.to_vec(), reads, passes, starts, vanishes_after, only: None }
    }

    fn has_vanished(&self) -> bool {
        self.passes.load(Ordering::Relaxed) > self.vanishes_after.load(Ordering::Relaxed)
    }

    pub fn embeddings(&self) -> Embeddings<'_> {
        Embeddings::new(self as &dyn RowSource, self.dim).unwrap()
    }
}

impl RowSource for Parts {
    fn count(&self) -> usize {
        self.values.len()
    }

    fn fits_f32(&self) -> bool {
        true
    }

    fn read_f64(&self, start: usize, out: &mut [f64]) {
        self.reads.fetch_add(out.len(), Ordering::Relaxed);
        let from = &self.values[start..start + out.len()];
        out.iter_mut().zip(from).for_each(|(out, &x)| *out = x.into());
    }

    fn read_f32(&self, start: usize, out: &mut [f32]) {
        self.reads.fetch_add(out.len(), Ordering::Relaxed);
        out.copy_from_slice(&self.values[start..start + out.len()]);
    }

    fn gather_f32(&self, rows: &[usize], dim: usize, out: &mut [f32]) -> bool {
        self.reads.fetch_add(out.len(), Ordering::Relaxed);
        if self.has_vanished() {
            out.fill(0.0);
            return true;
        }
        for (row, out) in rows.iter().zip(out.chunks_mut(dim)) {
            out.copy_from_slice(&self.values[row * dim..(row + 1) * dim]);
        }
        true
    }

    /// As a device does: the stored numbers, from one question.
    fn gather_f64(&self, rows: &[usize], dim: usize, out: &mut [f64]) -> bool {
        let mut singles = vec![0.0; out.len()];
        let is_done = self.gather_f32(rows, dim, &mut singles);
        out.iter_mut().zip(singles).for_each(|(out, single)| *out = single.into());
        is_done
    }

    fn carrier(&self) -> Option<&dyn Carrier> {
        Some(self)
    }

    fn failure(&self) -> Option<String> {
        self.has_vanished().then(|| "the device failed (launch failed); select again, or on the CPU".to_owned())
    }
}

fn norm_sq(x: &[f32]) -> f64 {
    x.iter().map(|&x| f64::from(x) * f64::from(x)).sum()
}

impl Parts {
    /// The rows as a selection reads them, rounded to f32.
    fn transformed(&self, transform: Transform<'_>) -> Vec<f32> {
        let mut rows: Vec<f64> = self.values.iter().map(|&x| x.into()).collect();
        transform.apply(self.dim, &mut rows);
        rows.into_iter().map(|x| x as f32).collect()
    }
}

impl Carrier for Parts {
    fn survey(&self, transform: Transform<'_>) -> Option<Survey> {
        let norms: Vec<f64> = self.transformed(transform).chunks(self.dim).map(norm_sq).collect();
        let row = (0..norms.len()).fold(0, |best, row| if norms[row] > norms[best] { row } else { best });
        let least = norms.iter().copied().filter(|&norm| norm > 0.0).fold(norms[row], f64::min);
        let sum = norms.iter().sum::<f64>();
        sum.is_finite().then_some(Survey { sum, least, most: norms[row], row })
    }

    fn shards<'s>(&'s self, setup: &ShardSetup<'_>) -> Vec<Box<dyn Shard + 's>> {
        let Some(form) = setup.form.filter(|_| !setup.is_double) else { return Vec::new() };
        let values = self.transformed(setup.transform);
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let shard = |(start, &end): (usize, &usize)| -> Box<dyn Shard + 's> {
            Box::new(Part::new(self, &values, start..end, form, setup.noise_var as f32))
        };
        starts.zip(&self.ends).map(shard).collect()
    }
}

/// The numbers of a row: v, q, and the error of q per ‖φ‖.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    var: f32,
    second: f32,
    error: f32,
}

struct WarmRow {
    row: usize,
    numbers: Numbers,
    history: Vec<Numbers>,
}

/// One part, row by row.
struct Part<'a> {
    pool: &'a Parts,
    rows: Range<usize>,
    values: Vec<f32>,
    form: KeyForm,
    noise_var: f32,
    norms: Vec<f32>,
    stored: Vec<[Numbers; CHECKPOINTS + 1]>,
    until: Vec<u8>,
    warm: Vec<WarmRow>,
}

impl<'a> Part<'a> {
    fn new(pool: &'a Parts, all: &[f32], rows: Range<usize>, form: KeyForm, noise_var: f32) -> Self {
        let values = all[rows.start * pool.dim..rows.end * pool.dim].to_vec();
        let norms: Vec<f32> = values.chunks(pool.dim).map(|x| norm_sq(x) as f32).collect();
        let (stored, until, warm) = (vec![Default::default(); norms.len()], Vec::new(), Vec::new());
        Self { pool, rows, values, form, noise_var, norms, stored, until, warm }
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.pool.dim..(row + 1) * self.pool.dim]
    }

    /// The product in f32, in eight sums from the last entries to the first.
    fn product(&self, row: usize, weights: &[f64]) -> f32 {
        let (x, x_rest) = self.row(row).as_chunks::<8>();
        let (w, w_rest) = weights.as_chunks::<8>();
        let mut sums = [0.0; 8];
        for block in (0..x.len()).rev() {
            for lane in 0..8 {
                sums[lane] += x[block][lane] * w[block][lane] as f32;
            }
        }
        x_rest.iter().zip(w_rest).fold(sums.iter().sum(), |sum, (&x, &w)| sum + x * w as f32)
    }

    fn gamma(&self) -> f64 {
        self.precision().product
    }

    /// The numbers after a step.
    fn after(&self, row: usize, step: &PickStep, mut numbers: Numbers) -> Numbers {
        let g = self.product(row, &step.data);
        let inverse = (1.0 / step.total) as f32;
        match &step.second {
            SecondNumber::Joint { weights, total } => {
                let h = self.product(row, weights);
                numbers.second -= (h * (1.0 / total) as f32) * h;
            }
            SecondNumber::Squares { weights, norm_sq: c } => {
                let h = self.product(row, weights);
                let share = g * inverse;
                numbers.second += share * (share * *c as f32 - 2.0 * h);
                let size = |weights: &[f64]| self.gamma() * weights.iter().map(|w| w * w).sum::<f64>().sqrt();
                let (a, b) = (size(&step.data), size(weights));
                let (of_g, of_h) = (2.0 / step.total * (b + a * c / step.total), 2.0 / step.total * a);
                numbers.error += of_g as f32 * g.abs() + of_h as f32 * h.abs();
            }
            SecondNumber::None | SecondNumber::Standardised { .. } => {}
        }
        numbers.var -= (g * inverse) * g;
        numbers
    }

    /// The covariance with the standardised targets before a step, for CTL.
    fn standardise(&self, row: usize, weights: Option<&[f64]>, numbers: &mut Numbers) {
        if let Some(weights) = weights {
            numbers.second = self.product(row, weights);
        }
    }

    fn sum_squares(&self, row: usize, root: &homing::shard::SquareRoot, numbers: &mut Numbers) {
        let sum: f64 = root.columns.iter().map(|column| f64::from(self.product(row, column)).powi(2)).sum();
        numbers.second = sum as f32;
        numbers.error = (root.error_per_root(self.gamma()) * sum.sqrt()) as f32;
    }

    fn key(&self, numbers: Numbers) -> f32 {
        self.form.key(numbers.var, numbers.second, self.noise_var)
    }
}

fn before(step: &PickStep) -> Option<&[f64]> {
    match &step.second {
        SecondNumber::Standardised { weights } => Some(weights),
        _ => None,
    }
}

impl Shard for Part<'_> {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn precision(&self) -> Precision {
        let unit = f64::from(f32::EPSILON) / 2.0;
        Precision { unit, product: 1.01 * unit * (self.pool.dim + 4) as f64, challengers: CHALLENGERS }
    }

    fn start(&mut self, start: &Start<'_>) {
        self.pool.starts.fetch_add(1, Ordering::Relaxed);
        self.until = start.open.iter().map(|&open| if open { u8::MAX } else { 0 }).collect();
        for row in 0..self.rows.len() {
            let remaining = |law: &homing::shard::Projection| {
                let whole = law.shrink.len() == self.pool.dim;
                let terms = law.columns.iter().zip(&law.shrink).map(|(column, shrink)| {
                    let weight = if whole { *shrink } else { 1.0 - shrink };
                    weight * f64::from(self.product(row, column)).powi(2)
                });
                let sum: f64 = terms.sum();
                if whole { sum as f32 } else { (f64::from(self.norms[row]) - sum) as f32 }
            };
            let mut numbers = Numbers { var: remaining(start.data), ..Numbers::default() };
            match start.second {
                SecondStart::None => {}
                SecondStart::Joint(joint) => numbers.second = remaining(joint),
                SecondStart::Squares(root) => self.sum_squares(row, root, &mut numbers),
                SecondStart::Standardised(weights) => self.standardise(row, Some(weights), &mut numbers),
            }
            self.stored[row][0] = numbers;
        }
    }

    fn verify(&mut self, pass: &Pass<'_>) -> Challengers {
        self.pool.passes.fetch_add(1, Ordering::Relaxed);
        if self.pool.has_vanished() {
            return Challengers { rows: Vec::new(), complete: pass.decisions.len() };
        }
        let mut found = Challengers { rows: Vec::new(), complete: pass.decisions.len() };
        for row in 0..self.rows.len() {
            let excluded = pass.excluded.iter().find(|(excluded, _)| *excluded == row).map_or(usize::MAX, |one| one.1);
            let until = excluded.min(usize::from(self.until[row]));
            let mut numbers = self.stored[row][0];
            let (mut checkpoint, mut named) = (0, false);
            let (norm_sq, norm) = (self.norms[row], self.norms[row].sqrt());
            for j in 0..=pass.steps.len() {
                let step = pass.steps.get(j);
                self.standardise(row, step.map_or(pass.after, |step| before(step)), &mut numbers);
                if let Some(root) = pass.root.filter(|_| j == pass.made) {
                    self.sum_squares(row, root, &mut numbers);
                }
                if let Some(t) = j.checked_sub(pass.made) {
                    if checkpoint <= CHECKPOINTS && t == pass.checkpoints[checkpoint] {
                        self.stored[row][checkpoint] = numbers;
                        checkpoint += 1;
                    }
                    if let Some(decision) = pass.decisions.get(t) {
                        let wide = |error: f64| (1.001 * (error + 4.0 * f64::from(f32::EPSILON))) as f32;
                        let slack = wide(decision.errors.var) * norm_sq;
                        let second = wide(decision.errors.second) * norm_sq + 1.001 * numbers.error * norm;
                        let second = match self.form {
                            KeyForm::SquaresRatio => numbers.second + second,
                            KeyForm::Correlation => {
                                let error = (1.001 * decision.errors.std_cov) as f32;
                                numbers.second + numbers.second.abs() * 1e-6 + error * norm
                            }
                            _ => numbers.second - second,
                        };
                        let vars = ((numbers.var - slack).max(0.0), numbers.var + slack);
                        let finite = numbers.var.is_finite() && numbers.second.is_finite();
                        let bar = decision.lowered_bar();
                        let below = finite && self.form.is_below(bar, self.noise_var, vars, second);
                        if !below && !named && t < until {
                            found.rows.push((t, row));
                            named = true;
                        }
                    }
                }
                if let Some(step) = step {
                    numbers = self.after(row, step, numbers);
                }
            }
            self.stored[row].iter_mut().for_each(|stored| stored.error = numbers.error);
        }
        if let Some(only) = &self.pool.only {
            found.rows.retain(|(_, row)| only.contains(&(self.rows.start + row)));
        }
        found
    }

    fn keep(&mut self, checkpoint: usize) {
        self.stored.iter_mut().for_each(|stored| stored.swap(0, checkpoint));
    }

    fn rank(&mut self, ranking: &Ranking<'_>) -> Vec<Ranked> {
        if self.pool.has_vanished() {
            return Vec::new();
        }
        ranking.taken.iter().for_each(|&row| self.until[row] = 0);
        let mut rows = Vec::new();
        for &(checkpoint, count) in ranking.lists {
            let open = (0..self.rows.len()).filter(|&row| self.until[row] != 0);
            let mut all: Vec<Ranked> =
                open.map(|row| Ranked { row, key: self.key(self.stored[row][checkpoint]) }).collect();
            all.sort_unstable_by(Ranked::order);
            rows.extend(all.iter().take(count).map(|one| one.row));
        }
        rows.sort_unstable();
        rows.dedup();
        let warm = rows.into_iter().map(|row| {
            let mut numbers = self.stored[row][0];
            for step in ranking.pending {
                self.standardise(row, before(step), &mut numbers);
                numbers = self.after(row, step, numbers);
            }
            self.standardise(row, ranking.after, &mut numbers);
            WarmRow { row, numbers, history: Vec::new() }
        });
        self.warm = warm.collect();
        let ranked = self.warm.iter().map(|warm| Ranked { row: warm.row, key: self.key(warm.numbers) });
        let mut ranked: Vec<Ranked> = ranked.collect();
        ranked.sort_unstable_by(Ranked::order);
        ranked.truncate(ranking.count);
        ranked
    }

    fn try_steps(&mut self, trial: &Trial<'_>) -> Vec<Rival> {
        let mut found = Vec::new();
        let mut all = std::mem::take(&mut self.warm);
        for warm in &mut all {
            warm.history.clear();
            let mut named = trial.excluded.binary_search(&warm.row).is_ok();
            for (at, step) in trial.steps.iter().enumerate() {
                self.standardise(warm.row, before(step), &mut warm.numbers);
                warm.history.push(warm.numbers);
                let key = self.key(warm.numbers);
                if f64::from(key) > step.key && !named {
                    found.push(Rival { at, row: warm.row, key });
                    named = true;
                }
                warm.numbers = self.after(warm.row, step, warm.numbers);
            }
            self.standardise(warm.row, trial.after, &mut warm.numbers);
        }
        self.warm = all;
        found
    }

    fn rewind(&mut self, at: usize) {
        self.warm.iter_mut().for_each(|warm| warm.numbers = warm.history[at]);
    }
}
