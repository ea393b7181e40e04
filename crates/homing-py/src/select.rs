//! Choosing rows.

use std::time::Instant;

use homing::{Ended, Engine, Error, Interrupt, Noise, Pick, Plan, Selection, Stop, Strategy, TargetSampling};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::refused;
use crate::run::run;
use crate::task::Task;

/// Indices, scores, information, variance left, ρ², why it ended, passes, seconds in the core, the promise of a greedy that is not exact.
type Answer<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Option<Bound<'py, PyArray1<f64>>>,
    f64,
    &'static str,
    usize,
    f64,
    Option<String>,
);

/// How a selection's end is called.
fn ended(ended: Ended) -> &'static str {
    match ended {
        Ended::Count => "count",
        Ended::Gain => "gain",
        Ended::Variance => "variance",
        Ended::Limits => "limits",
        _ => "asked",
    }
}

pub fn noise_of(noise_std: Option<f64>) -> Noise {
    noise_std.map_or_else(Noise::default, Noise::Std)
}

/// A kind and a number, as Python has parsed them; `weights` draws by weight.
fn sampling(given: Option<(String, f64)>, weights: Option<Vec<f64>>) -> PyResult<TargetSampling> {
    Ok(match (given, weights) {
        (None, None) => TargetSampling::All,
        (Some((kind, size)), Some(weights)) if kind == "size" => {
            TargetSampling::Weighted { weights, size: size as usize }
        }
        (_, Some(_)) => {
            return Err(PyValueError::new_err(
                "with target_weights, target_sample is a whole number of draws; give it",
            ));
        }
        (Some((kind, number)), None) => match &*kind {
            "share" => TargetSampling::Fraction(number),
            "size" => TargetSampling::Size(number as usize),
            "max-det" => TargetSampling::MaxDet(number as usize),
            "max-dist" => TargetSampling::MaxDist(number as usize),
            _ => return Err(PyValueError::new_err(format!("there is no way '{kind}' to sample targets"))),
        },
    })
}

#[pyfunction]
#[pyo3(signature = (
    task, n, *, rule="itl", beta=None, noise_std=None, target_sample=None, target_weights=None, round_size=None, seed=0,
    made=0, min_gain=None, reduced_share=None, quotas=None, budget=None, repeat=false, greedy="exact",
    engine="auto", threads=None, progress=None,
))]
#[expect(clippy::too_many_arguments, reason = "they are the settings of a selection")]
pub fn select<'py>(
    py: Python<'py>,
    task: &Bound<'py, Task>,
    n: usize,
    rule: &str,
    beta: Option<f64>,
    noise_std: Option<f64>,
    target_sample: Option<(String, f64)>,
    target_weights: Option<PyReadonlyArray1<'py, f64>>,
    round_size: Option<usize>,
    seed: u64,
    made: usize,
    min_gain: Option<f64>,
    reduced_share: Option<f64>,
    quotas: Option<Vec<usize>>,
    budget: Option<f64>,
    repeat: bool,
    greedy: &str,
    engine: &str,
    threads: Option<usize>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Answer<'py>> {
    let strategy: Strategy = match beta {
        Some(beta) if rule == "information-density" => Strategy::information_density(beta),
        Some(_) => {
            return Err(PyValueError::new_err(format!("beta belongs to information-density, not to {rule}")));
        }
        None => rule.parse(),
    }
    .map_err(refused)?;
    let weights = target_weights.map(|weights| weights.as_slice().map(<[f64]>::to_vec)).transpose()?;
    let plan = Plan {
        strategy,
        count: n,
        noise: noise_of(noise_std),
        target_sampling: sampling(target_sample, weights)?,
        round_size,
        seed,
        made,
        stop: Stop { min_gain, reduced_share },
        quotas: quotas.unwrap_or_default(),
        budget,
        repeat,
        greedy: greedy.parse().map_err(refused)?,
        engine: engine_of(engine).map_err(refused)?,
    };
    let interrupt = Interrupt::default();
    let mut heard = progress.map(|progress| {
        move |pick: Pick| {
            let told = (pick.rank, n, pick.index, pick.score, pick.information, pick.variance_left);
            Ok(!matches!(progress.call1(told)?.extract::<bool>(), Ok(false)))
        }
    });
    let (selection, seconds, guarantee) = task.get().with(py, &interrupt, |task| {
        let heard = heard.as_mut().map(|heard| heard as &mut dyn FnMut(Pick) -> PyResult<bool>);
        let (selection, time) = run(py, threads, &interrupt, heard, |tell| {
            let start = Instant::now();
            let selection = homing::select(&task, &plan, |progress| tell(progress.pick))?;
            Ok((selection, start.elapsed()))
        })?;
        Ok((selection, time.as_secs_f64(), plan.greedy.guarantee(&task, &plan)))
    })?;
    let Selection { picks, noise_var, ended: end, passes } = selection;
    let column = |value: fn(&Pick) -> f64| PyArray1::from_iter(py, picks.iter().map(value));
    let left: Option<Vec<f64>> = picks.iter().map(|pick| pick.variance_left).collect();
    Ok((
        PyArray1::from_iter(py, picks.iter().map(|pick| pick.index as i64)),
        column(|pick| pick.score),
        column(|pick| pick.information),
        left.filter(|_| task.get().targets().is_some()).map(|left| PyArray1::from_vec(py, left)),
        noise_var,
        ended(end),
        passes,
        seconds,
        guarantee,
    ))
}

fn engine_of(name: &str) -> homing::Result<Engine> {
    match name {
        "auto" => Ok(Engine::Auto),
        "plain" => Ok(Engine::Plain),
        "speculative" => Ok(Engine::Speculative),
        _ => Err(Error::UnknownName { what: "engine", name: name.into(), choices: "auto, plain or speculative" }),
    }
}
