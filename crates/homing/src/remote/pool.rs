//! A coordinator's side: a pool whose rows other processes hold.

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::connection::{Connection, Transport};
use super::shards::{RemoteScoring, RemoteShards};
use super::wire::{Answer, Column, PartSurvey, Question};
use crate::shard::{BLOCK, Carrier, Opening, Scoring, Shard, ShardSetup, Survey, Transform};
use crate::{Embeddings, Error, Result, RowSource};

/// Largest count of numbers of rows that were read and are kept, because picks are read again.
const KEPT_NUMBERS: usize = 1 << 23;

/// A pool whose rows lie in other processes, each of which runs [`serve`](super::serve).
///
/// Its [`embeddings`](RemotePool::embeddings) are a pool like any other: the processes compute on their rows, and a
/// selection reads only the few rows on which it decides. The picks are those of the same rows in one file.
pub struct RemotePool<T> {
    connection: Connection<T>,
    column: Column,
    rows: usize,
    dim: usize,
    is_single: bool,
    kept: Mutex<KeptRows>,
    /// One more than the first row that is not finite; zero if none was found.
    bad: AtomicUsize,
}

/// Rows that were read lately, in two generations, the older of which is dropped when the newer is full.
#[derive(Default)]
struct KeptRows {
    new: HashMap<usize, Vec<f64>>,
    old: HashMap<usize, Vec<f64>>,
}

impl KeptRows {
    fn get(&mut self, row: usize) -> Option<&[f64]> {
        if let Some(values) = self.old.remove(&row) {
            self.new.insert(row, values);
        }
        self.new.get(&row).map(Vec::as_slice)
    }

    fn keep(&mut self, row: usize, values: &[f64]) {
        if self.new.len() * values.len() >= KEPT_NUMBERS {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(row, values.to_vec());
    }
}

impl<T> Debug for RemotePool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemotePool({} × {})", self.rows, self.dim)
    }
}

impl<T: Transport> RemotePool<T> {
    /// Creates the pool of shards with these numbers of rows, each of `dim` numbers. `is_single` says whether f32 holds all of
    /// them exactly.
    pub fn new(transport: T, rows: &[usize], dim: usize, is_single: bool) -> Result<Self> {
        Self::of_column(transport, rows, dim, is_single, Column::Embeddings)
    }

    /// Creates the matrix of the class probabilities of such a pool.
    pub fn probabilities(transport: T, rows: &[usize], classes: usize, is_single: bool) -> Result<Self> {
        Self::of_column(transport, rows, classes, is_single, Column::Probabilities)
    }

    fn of_column(transport: T, rows: &[usize], dim: usize, is_single: bool, column: Column) -> Result<Self> {
        let mut end = 0usize;
        let mut ends = Vec::with_capacity(rows.len());
        for &rows in rows {
            end = end.checked_add(rows).ok_or(Error::Empty { what: "matrix" })?;
            ends.push(end);
        }
        if end == 0 || dim == 0 || end.checked_mul(dim).is_none() {
            return Err(Error::Empty { what: "matrix" });
        }
        let (kept, bad) = Default::default();
        Ok(Self { connection: Connection::new(transport, ends), column, rows: end, dim, is_single, kept, bad })
    }

    /// Views the rows.
    pub fn embeddings(&self) -> Embeddings<'_> {
        Embeddings::new(self as &dyn RowSource, self.dim).expect("the pool has rows, which was checked")
    }

    /// Calls `f` with each position in `rows` and the row's values. All that are not kept are read at once.
    fn each_row(&self, rows: &[usize], mut f: impl FnMut(usize, &[f64])) {
        let mut kept = self.kept.lock().expect("no thread panics while it holds the lock");
        let mut missing: Vec<usize> = rows.iter().copied().filter(|&row| kept.get(row).is_none()).collect();
        missing.sort_unstable();
        missing.dedup();
        let read = self.read_rows(&missing);
        for (at, row) in rows.iter().enumerate() {
            match missing.binary_search(row) {
                Ok(place) => f(at, &read[place * self.dim..(place + 1) * self.dim]),
                Err(_) => match kept.get(*row) {
                    Some(values) => f(at, values),
                    None => f(at, &vec![0.0; self.dim]),
                },
            }
        }
        if self.connection.failure().is_none() {
            missing.iter().zip(read.chunks_exact(self.dim)).for_each(|(&row, values)| kept.keep(row, values));
        }
    }

    /// Reads rows, in increasing order. After a failure, they are zero.
    fn read_rows(&self, rows: &[usize]) -> Vec<f64> {
        let mut out = Vec::with_capacity(rows.len() * self.dim);
        let mut shards: Vec<usize> = rows.iter().map(|&row| self.connection.shard_of(row)).collect();
        shards.dedup();
        let question = Question::Rows { column: self.column, rows: rows.to_vec() };
        for answer in self.connection.ask(&shards, &question.to_bytes()) {
            match answer {
                Answer::Singles(values) => out.extend(values.into_iter().map(f64::from)),
                Answer::Doubles(values) => out.extend(values),
                _ => self.connection.fail_by_kind(),
            }
        }
        if out.len() != rows.len() * self.dim {
            self.connection.fail_by_kind();
        }
        if self.connection.failure().is_some() {
            out = vec![0.0; rows.len() * self.dim];
        }
        out
    }

    /// Merges the surveys of the shards, whose sums are those of the pool's blocks.
    fn merge(&self, answers: Vec<Answer>) -> Option<Survey> {
        let (mut sums, mut open) = (Vec::new(), 0.0);
        let mut all = PartSurvey::default();
        for (&shard, answer) in self.connection.asked().iter().zip(answers) {
            let Answer::Survey(part) = answer else {
                self.connection.fail_by_kind();
                return None;
            };
            let first = self.connection.first(shard);
            part.head.iter().for_each(|norm| open += norm);
            if !part.head.is_empty() && (first + part.head.len()).is_multiple_of(BLOCK) {
                sums.push(std::mem::take(&mut open));
            }
            sums.extend(&part.blocks);
            part.tail.iter().for_each(|norm| open += norm);
            all.merge([&part].into_iter());
        }
        if !self.rows.is_multiple_of(BLOCK) {
            sums.push(open);
        }
        if let Some(row) = all.bad {
            self.bad.store(row + 1, Ordering::Relaxed);
        }
        let survey = Survey { sum: sums.iter().sum(), least: all.least, most: all.most, row: all.row };
        (all.bad.is_none() && survey.sum.is_finite()).then_some(survey)
    }
}

impl<T: Transport> RowSource for RemotePool<T> {
    fn count(&self) -> usize {
        self.rows * self.dim
    }

    fn fits_f32(&self) -> bool {
        self.is_single
    }

    fn read_f64(&self, start: usize, out: &mut [f64]) {
        let rows = start / self.dim..(start + out.len()).div_ceil(self.dim);
        if self.connection.failure().is_some() {
            return out.fill(0.0);
        }
        let all: Vec<usize> = rows.clone().collect();
        self.each_row(&all, |at, values| {
            let row = (rows.start + at) * self.dim;
            for (column, &value) in values.iter().enumerate() {
                if let Some(to) = (row + column).checked_sub(start).and_then(|place| out.get_mut(place)) {
                    *to = value;
                }
            }
        });
    }

    fn read_f32(&self, start: usize, out: &mut [f32]) {
        let mut exact = vec![0.0; out.len()];
        self.read_f64(start, &mut exact);
        out.iter_mut().zip(exact).for_each(|(out, x)| *out = x as f32);
    }

    fn gather_f32(&self, rows: &[usize], dim: usize, out: &mut [f32]) -> bool {
        let dim = dim.max(1);
        self.each_row(rows, |at, values| {
            let out = &mut out[at * dim..(at + 1) * dim];
            out.iter_mut().zip(values).for_each(|(out, &x)| *out = x as f32);
        });
        true
    }

    fn gather_f64(&self, rows: &[usize], dim: usize, out: &mut [f64]) -> bool {
        self.each_row(rows, |at, values| out[at * dim..(at + 1) * dim].copy_from_slice(values));
        true
    }

    fn carrier(&self) -> Option<&dyn Carrier> {
        Some(self)
    }

    fn failure(&self) -> Option<String> {
        self.connection.failure().cloned()
    }
}

impl<T: Transport> Carrier for RemotePool<T> {
    fn survey(&self, transform: Transform<'_>) -> Option<Survey> {
        if self.column == Column::Probabilities {
            return None;
        }
        let Transform { offset, to_unit } = transform;
        let offset = offset.map(<[f64]>::to_vec);
        let answers = self.connection.ask_all(&Question::Survey { offset, to_unit }.to_bytes());
        if answers.len() < self.connection.asked().len() { None } else { self.merge(answers) }
    }

    /// The shards sum their blocks at the same time, and then add these sums one shard after the other.
    fn mean(&self) -> Option<Vec<f64>> {
        let (mut sum, mut block) = (vec![0.0; self.dim], vec![0.0; self.dim]);
        self.connection.ask_all(&Question::SumBlocks.to_bytes());
        for &shard in self.connection.asked() {
            let answer = self.connection.ask(&[shard], &Question::AddRows { sum, block }.to_bytes()).pop()?;
            let Answer::Sums { sum: so_far, block: rest } = answer else {
                self.connection.fail_by_kind();
                return None;
            };
            (sum, block) = (so_far, rest);
            if sum.len() != self.dim || block.len() != self.dim {
                self.connection.fail_by_kind();
                return None;
            }
        }
        if !self.rows.is_multiple_of(BLOCK) {
            sum.iter_mut().zip(&block).for_each(|(sum, x)| *sum += x);
        }
        sum.iter_mut().for_each(|sum| *sum /= self.rows as f64);
        Some(sum)
    }

    fn is_far(&self) -> bool {
        true
    }

    fn bad_row(&self) -> Option<usize> {
        self.bad.load(Ordering::Relaxed).checked_sub(1)
    }

    fn are_probabilities(&self) -> bool {
        self.column == Column::Probabilities
            && self.connection.ask_all(&Question::CheckProbabilities.to_bytes()).len() == self.connection.asked().len()
    }

    fn scoring<'s>(&'s self, opening: &Opening<'_>) -> Option<Box<dyn Scoring + 's>> {
        Some(Box::new(RemoteScoring::new(&self.connection, opening)))
    }

    fn shards<'s>(&'s self, setup: &ShardSetup<'_>) -> Vec<Box<dyn Shard + 's>> {
        let form = setup.form.filter(|_| self.column == Column::Embeddings);
        form.map(|form| Box::new(RemoteShards::new(&self.connection, self.dim, setup, form)) as Box<dyn Shard + 's>)
            .into_iter()
            .collect()
    }
}
