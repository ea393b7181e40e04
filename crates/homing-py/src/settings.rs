//! Reads the settings of a selection. This is the only place that does.

use homing::{Engine, Error, Noise, Plan, Stop, Strategy, TargetSampling};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::argument::{Argument, Reader, read};
use crate::error::core_error;

/// Every setting, with how it enters the plan. The package lists the same names in `_settings.py`.
pub const SETTINGS: &[Reader<Settings>] = &[
    ("n", |to, n| n.whole(1).map(|n| to.plan.count = n)),
    ("rule", |to, rule| rule.text()?.parse().map(|rule| to.plan.strategy = rule).map_err(core_error)),
    ("noise_std", |to, std| std.optional(Argument::real).map(|std| to.plan.noise = noise(std))),
    ("seed", |to, seed| seed.whole(0).map(|seed| to.plan.seed = seed as u64)),
    ("threads", |to, threads| threads.optional(Argument::threads).map(|threads| to.threads = threads)),
    ("progress", |to, call| call.optional(|call| Ok(call.object.clone().unbind())).map(|call| to.progress = call)),
    ("stop", |to, stop| stop.optional(stop_of).map(|stop| to.plan.stop = stop.unwrap_or_default())),
    ("budget", |to, budget| budget.optional(Argument::real).map(|budget| to.plan.budget = budget)),
    ("target_sample", |to, sample| {
        sample.optional(sampling).map(|sample| to.plan.target_sampling = sample.unwrap_or_default())
    }),
    ("target_weights", |to, weights| weights.optional(Argument::numbers).map(|weights| to.target_weights = weights)),
    ("picks_per_round", |to, size| size.optional(|size| size.whole(1)).map(|size| to.plan.picks_per_round = size)),
    ("beta", |to, beta| beta.optional(Argument::real).map(|beta| to.beta = beta)),
    ("repeat", |to, repeat| repeat.flag().map(|repeat| to.plan.repeat = repeat)),
    ("greedy", |to, greedy| greedy.text()?.parse().map(|greedy| to.plan.greedy = greedy).map_err(core_error)),
    ("engine", |to, engine| engine_named(&engine.text()?).map(|engine| to.plan.engine = engine)),
    ("device", |to, device| device.optional(Argument::text).map(|device| to.device = device)),
    ("earlier_picks", |to, picks| picks.whole(0).map(|picks| to.plan.earlier_picks = picks)),
];

/// The settings of a selection.
#[derive(Default)]
pub struct Settings {
    pub plan: Plan,
    pub threads: Option<usize>,
    /// Where the passes over the pool run.
    pub device: Option<String>,
    /// The function that is called with every pick.
    pub progress: Option<Py<PyAny>>,
    beta: Option<f64>,
    target_weights: Option<Vec<f64>>,
}

impl Settings {
    pub fn read(settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut all = Self::default();
        read(SETTINGS, &mut all, settings)?;
        if let Some(beta) = all.beta {
            let rule = all.plan.strategy.name();
            if rule != "information-density" {
                return Err(PyValueError::new_err(format!(
                    "beta is a setting of the rule information-density, not of {rule}; leave it out"
                )));
            }
            all.plan.strategy = Strategy::information_density(beta).map_err(core_error)?;
        }
        if let Some(weights) = all.target_weights.take() {
            let TargetSampling::Size(size) = all.plan.target_sampling else {
                let why = "target_weights need a whole number of draws; give it as target_sample";
                return Err(PyValueError::new_err(why));
            };
            all.plan.target_sampling = TargetSampling::Weighted { weights, size };
        }
        Ok(all)
    }
}

fn noise(std: Option<f64>) -> Noise {
    std.map_or_else(Noise::default, Noise::Std)
}

/// Reads the fields of the package's `Stop`.
fn stop_of(stop: &Argument<'_, '_>) -> PyResult<Stop> {
    let field = |name: &str| {
        let object = stop.object.getattr(name)?;
        Argument { name, object: &object }.optional(Argument::real)
    };
    Ok(Stop { min_gain: field("min_gain")?, reduced_share: field("variance")? })
}

/// Reads a share of the targets (0.1), a number of them (20), or the size of a diverse subset of them (`max-det:20`).
fn sampling(sample: &Argument<'_, '_>) -> PyResult<TargetSampling> {
    if sample.object.is_instance_of::<PyString>() {
        let text = sample.text()?;
        return match text.parse() {
            Ok(explanatory @ (TargetSampling::MaxDet(_) | TargetSampling::MaxDist(_))) => Ok(explanatory),
            _ => Err(PyValueError::new_err(format!(
                "target_sample is {}; give a share (0.1), a number (20), 'max-det:20' or 'max-dist:20'",
                crate::argument::shown(sample.object)
            ))),
        };
    }
    if sample.is_whole()? || sample.is_truth_value()? {
        return sample.whole(1).map(TargetSampling::Size);
    }
    sample.real().map(TargetSampling::Fraction)
}

fn engine_named(name: &str) -> PyResult<Engine> {
    match name {
        "auto" => Ok(Engine::Auto),
        "plain" => Ok(Engine::Plain),
        "speculative" => Ok(Engine::Speculative),
        _ => {
            let choices = "auto, plain or speculative";
            Err(core_error(Error::UnknownName { what: "engine", name: name.into(), choices }))
        }
    }
}
