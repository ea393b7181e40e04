//! Computes the colours of the map: one byte per row of the pool.

use rayon::prelude::*;

use crate::board::Answer;
use crate::session::Shared;

/// Codes of rows without a class.
const OPEN: u8 = 255;
const EXCLUDED: u8 = 254;
const ASIDE: u8 = 253;

/// Largest number of multiplications for the colours of one map.
const MOST_WORK: usize = 1 << 36;

/// Returns the class of each labelled row, and a code for each row without a class.
pub(crate) fn labels(shared: &Shared) -> Vec<u8> {
    let state = shared.lock();
    let mut out = vec![OPEN; shared.data.rows()];
    for (&row, decision) in state.board.decisions() {
        out[row] = match decision.answer {
            Answer::Label(class) => (class % 250) as u8,
            Answer::Excluded => EXCLUDED,
            Answer::Unsure | Answer::Skipped => ASIDE,
        };
    }
    out
}

/// Returns the predicted class of each row.
pub(crate) fn predictions(shared: &Shared) -> Result<Vec<u8>, String> {
    let head = shared.lock().head.clone().ok_or("there are too few labels for predictions")?;
    let data = &shared.data;
    if head.cost().saturating_mul(data.rows()) > MOST_WORK {
        return Err("the pool is too large to predict every row".into());
    }
    let embeddings = data.embeddings().map_err(|error| error.to_string())?;
    let predict = |row: usize| (head.predict(&*data.kernel, &embeddings.row(row)).class % 250) as u8;
    Ok((0..data.rows()).into_par_iter().map(predict).collect())
}

/// Returns the information of each row, from 0 to 255 for the largest.
///
/// The exact information of every row would take too long. This is an approximation: the largest covariance of the row with
/// the part of a target that the observations do not determine, relative to the largest such covariance of all rows.
pub(crate) fn information(shared: &Shared) -> Result<Vec<u8>, String> {
    let data = &shared.data;
    let (observed, targets) = {
        let state = shared.lock();
        (state.board.observed(), state.progress.targets.clone())
    };
    let embeddings = data.embeddings().map_err(|error| error.to_string())?;
    let all = data.target_embeddings().map_err(|error| error.to_string())?.ok_or("there are no targets")?;
    let work = data.rows().saturating_mul(embeddings.dim()).saturating_mul(all.rows() + observed.len());
    if work > MOST_WORK || targets.len() != all.rows() {
        return Err("the pool is too large, or nothing has been chosen yet".into());
    }
    let points: Vec<Vec<f64>> = (0..all.rows()).map(|at| all.row(at)).collect();
    let open: Vec<f64> =
        targets.iter().map(|target| (target.now / target.start.max(f64::MIN_POSITIVE)).sqrt()).collect();
    let kernel = &*data.kernel;
    let score = |row: usize| {
        let x = embeddings.row(row);
        let own = kernel.var(&x).sqrt().max(f64::MIN_POSITIVE);
        let served = points.iter().zip(&open).zip(&targets).map(|((point, open), target)| {
            open * kernel.eval(point, &x).abs() / (own * target.start.sqrt().max(f64::MIN_POSITIVE))
        });
        served.fold(0.0, f64::max)
    };
    let scores: Vec<f64> = (0..data.rows()).into_par_iter().map(score).collect();
    let most = scores.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    Ok(scores.into_iter().map(|score| (255.0 * (score / most).clamp(0.0, 1.0)) as u8).collect())
}
