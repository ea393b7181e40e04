//! Answers about a shard's rows alone.

use std::ops::Range;

use super::part::PoolPart;
use super::wire::{Answer, Column, PartSurvey, Question};
use crate::data::embeddings::{add, map_blocks, sum_of_rows};
use crate::data::points::check_probabilities;
use crate::shard::BLOCK;
use crate::task::survey::single;
use crate::{Embeddings, Error, Kernel, Linear};

/// Answers about the rows alone.
#[derive(Default)]
pub(super) struct RowAnswers {
    /// Sums of blocks that are computed ahead.
    sums: Option<Vec<Vec<f64>>>,
    /// ‖φ‖² of all rows, as the last survey found them.
    norms: Option<KnownNorms>,
}

/// ‖φ‖² of all rows under a transform.
struct KnownNorms {
    offset: Option<Vec<f64>>,
    to_unit: bool,
    norms: Vec<f32>,
}

impl RowAnswers {
    /// Returns ‖φ‖² of all rows under a transform, if the last survey had it.
    pub fn norms(&mut self, offset: Option<&[f64]>, to_unit: bool) -> Option<Vec<f32>> {
        let known = self.norms.take_if(|known| known.offset.as_deref() == offset && known.to_unit == to_unit)?;
        Some(known.norms)
    }

    pub fn answer(&mut self, part: PoolPart<'_>, question: Question) -> Answer {
        let none = || Answer::Failed("the rows have no class probabilities".into());
        match question {
            Question::Rows { column: Column::Embeddings, rows } => stored(part.rows, &part.own(&rows)),
            Question::Rows { column: Column::Probabilities, rows } => {
                part.probabilities.map_or_else(none, |probabilities| stored(probabilities, &part.own(&rows)))
            }
            Question::Survey { offset, to_unit } => {
                let (survey, norms) = survey(part, offset.as_deref(), to_unit);
                self.norms = Some(KnownNorms { offset, to_unit, norms });
                Answer::Survey(survey)
            }
            Question::SumBlocks => {
                self.sums = Some(block_sums(part));
                Answer::Done
            }
            Question::AddRows { sum, block } => {
                let blocks = self.sums.take().unwrap_or_else(|| block_sums(part));
                add_rows(part, &blocks, sum, block)
            }
            Question::CheckProbabilities => part.probabilities.map_or_else(none, |probabilities| {
                match check_probabilities(probabilities, "probabilities") {
                    Ok(()) => Answer::Done,
                    Err(error) => Answer::Failed(numbered(error, part.first).to_string()),
                }
            }),
        }
    }
}

/// Gives an error the number of its row in the pool.
fn numbered(error: Error, first: usize) -> Error {
    match error {
        Error::NotFinite { what, row } => Error::NotFinite { what, row: first + row },
        Error::BadValue { what, row, value, expected } => Error::BadValue { what, row: first + row, value, expected },
        other => other,
    }
}

/// Returns rows as they are stored.
fn stored(rows: Embeddings<'_>, which: &[usize]) -> Answer {
    if rows.fits_f32() {
        let mut values = vec![0.0; which.len() * rows.dim()];
        rows.gather_f32(which, &mut values);
        Answer::Singles(values)
    } else {
        Answer::Doubles(crate::Points::from(rows).gather(which))
    }
}

/// Returns the sizes of all rows, and ‖φ‖² of each in f32.
fn survey(part: PoolPart<'_>, offset: Option<&[f64]>, to_unit: bool) -> (PartSurvey, Vec<f32>) {
    let view = part.view(offset, to_unit);
    let dim = view.dim();
    let norms = |rows: Range<usize>| {
        let mut values = vec![0.0; rows.len() * dim];
        view.read(rows, &mut values);
        Linear.vars(&values, dim)
    };
    let [head, whole, tail] = part.edges();
    let fold = |start: usize, norms: &[f64]| {
        let mut found = PartSurvey { row: part.first + start, ..PartSurvey::default() };
        for (row, &norm) in (part.first + start..).zip(norms) {
            if norm > found.most {
                (found.most, found.row) = (norm, row);
            }
            if norm > 0.0 && (found.least == 0.0 || norm < found.least) {
                found.least = norm;
            }
            if !norm.is_finite() && found.bad.is_none() {
                found.bad = Some(row);
            }
        }
        found
    };
    let singles = |norms: &[f64]| norms.iter().map(|&norm| single(norm)).collect::<Vec<f32>>();
    let blocks = whole_blocks(view, &whole, |start, block| {
        let norms = Linear.vars(block, dim);
        (norms.iter().sum::<f64>(), fold(start, &norms), singles(&norms))
    });
    let (head_norms, tail_norms) = (norms(head.clone()), norms(tail.clone()));
    let mut found = fold(head.start, &head_norms);
    found.merge(blocks.iter().map(|(_, block, _)| block));
    found.merge([&fold(tail.start, &tail_norms)].into_iter());
    if let Some(bad) = found.bad.take() {
        // A norm overflows where the numbers may not.
        let unfit = |row: &usize| part.rows.row(row - part.first).iter().any(|x| !x.is_finite());
        found.bad = (bad..part.range().end).find(unfit);
    }
    let mut kept = singles(&head_norms);
    blocks.iter().for_each(|(.., norms)| kept.extend(norms));
    kept.extend(singles(&tail_norms));
    let sums = blocks.into_iter().map(|(sum, ..)| sum).collect();
    (PartSurvey { head: head_norms, blocks: sums, tail: tail_norms, ..found }, kept)
}

impl PartSurvey {
    /// Takes up the extremes of later rows.
    pub(super) fn merge<'s>(&mut self, others: impl Iterator<Item = &'s Self>) {
        for other in others {
            if other.most > self.most {
                (self.most, self.row) = (other.most, other.row);
            }
            if other.least > 0.0 && (self.least == 0.0 || other.least < self.least) {
                self.least = other.least;
            }
            self.bad = self.bad.or(other.bad);
        }
    }
}

/// Returns the sums of the whole blocks, row by row.
fn block_sums(part: PoolPart<'_>) -> Vec<Vec<f64>> {
    let [_, whole, _] = part.edges();
    whole_blocks(part.rows, &whole, |_, block| sum_of_rows(block, part.rows.dim()))
}

/// Applies `f` to each whole block of the pool: the number of its first row here, and its values.
fn whole_blocks<T: Send>(rows: Embeddings<'_>, whole: &Range<usize>, f: impl Fn(usize, &[f64]) -> T + Sync) -> Vec<T> {
    let read =
        |range: Range<usize>, out: &mut [f64]| rows.read(whole.start + range.start..whole.start + range.end, out);
    map_blocks(whole.len(), rows.dim(), read, |start, block| f(whole.start + start, block))
}

/// Continues the sums of the rows before, as one machine would compute them.
fn add_rows(part: PoolPart<'_>, blocks: &[Vec<f64>], mut sum: Vec<f64>, mut block: Vec<f64>) -> Answer {
    let [head, _, tail] = part.edges();
    head.clone().for_each(|row| add(&mut block, &part.rows.row(row)));
    if !head.is_empty() && (part.first + head.end).is_multiple_of(BLOCK) {
        add(&mut sum, &block);
        block.fill(0.0);
    }
    blocks.iter().for_each(|block| add(&mut sum, block));
    tail.for_each(|row| add(&mut block, &part.rows.row(row)));
    Answer::Sums { sum, block }
}
