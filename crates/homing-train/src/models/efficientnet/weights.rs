//! Weights of a safetensors file by name.

use std::collections::{BTreeMap, BTreeSet};

use safetensors::SafeTensors;
use safetensors::tensor::TensorView;

use super::design::Design;
use super::names::{NAMINGS, Slot, norm_eps, slots};
use crate::weights::numbers;
use crate::{Error, Remedy, Result};

/// Number of tensors that a message names before it counts the others.
const NAMED: usize = 4;
/// Suffix of the counters that training stores in addition to the weights.
const COUNTER: &str = "num_batches_tracked";

/// Tensors of a network by the names of this crate.
#[derive(Debug)]
pub(super) struct Weights {
    tensors: BTreeMap<String, Vec<f32>>,
    /// Number that norms add to the variance in the library that made the file.
    pub norm_eps: f32,
}

impl Weights {
    /// Reads a safetensors file whose tensors have one of the namings of `names.rs`.
    pub fn read(bytes: &[u8], design: &Design) -> Result<Self> {
        let file = SafeTensors::deserialize(bytes)
            .map_err(|error| unfit(format!("the file is not a safetensors file ({error})"), design, None))?;
        let slots = slots(design);
        let mut left: BTreeSet<&str> = file.names().into_iter().filter(|name| !name.ends_with(COUNTER)).collect();
        let naming = naming(&slots, &left).ok_or_else(|| unknown(&left, design))?;
        let mut misfits = Misfits::default();
        let mut tensors = BTreeMap::new();
        for slot in &slots {
            let name = &slot.names[naming];
            let Ok(tensor) = file.tensor(name) else {
                if !slot.optional {
                    misfits.missing.push(name.clone());
                }
                continue;
            };
            left.remove(name.as_str());
            match decode(slot, &tensor) {
                Ok(values) => drop(tensors.insert(slot.names[0].clone(), values)),
                Err(why) => misfits.other.push(format!("{name} {why}")),
            }
        }
        misfits.left_over = left.into_iter().map(String::from).collect();
        misfits.check(naming, design)?;
        Ok(Self { tensors, norm_eps: norm_eps(naming, design) })
    }

    /// Returns a tensor that every file of this design holds.
    pub fn get(&self, name: &str) -> &[f32] {
        self.find(name).unwrap_or_else(|| panic!("{name} was not read"))
    }

    pub fn find(&self, name: &str) -> Option<&[f32]> {
        self.tensors.get(name).map(Vec::as_slice)
    }
}

/// Returns the naming that matches most tensors of the file, or none if no naming matches any.
fn naming(slots: &[Slot], names: &BTreeSet<&str>) -> Option<usize> {
    let known = |naming: usize| slots.iter().filter(|slot| names.contains(slot.names[naming].as_str())).count();
    let counts: Vec<usize> = (0..NAMINGS.len()).map(known).collect();
    let best = (0..NAMINGS.len()).rev().max_by_key(|&naming| counts[naming])?;
    (counts[best] > 0).then_some(best)
}

fn decode(slot: &Slot, tensor: &TensorView<'_>) -> std::result::Result<Vec<f32>, String> {
    let fits = tensor.shape().len() == slot.shape.len()
        && slot.shape.iter().zip(tensor.shape()).all(|(want, got)| want.is_none_or(|want| want == *got));
    if !fits {
        let want: Vec<String> =
            slot.shape.iter().map(|want| want.map_or("any".into(), |want| want.to_string())).collect();
        let got: Vec<String> = tensor.shape().iter().map(usize::to_string).collect();
        return Err(format!("is [{}], not [{}]", got.join(", "), want.join(", ")));
    }
    numbers(tensor).ok_or_else(|| format!("holds {}, not floats", tensor.dtype()))
}

/// All tensors that do not fit.
#[derive(Default)]
struct Misfits {
    missing: Vec<String>,
    left_over: Vec<String>,
    other: Vec<String>,
}

impl Misfits {
    fn check(self, naming: usize, design: &Design) -> Result<()> {
        let kinds =
            [(self.missing, "missing"), (self.left_over, "unexpected"), (self.other, "of another shape or type")];
        let problems: Vec<String> =
            kinds.iter().filter(|(list, _)| !list.is_empty()).map(|(list, what)| describe(list, what)).collect();
        if problems.is_empty() {
            return Ok(());
        }
        Err(unfit(problems.join("; "), design, Some(NAMINGS[naming])))
    }
}

/// Describes tensors as `2 tensors are missing (a, b)`.
fn describe(list: &[String], what: &str) -> String {
    let verb = if list.len() == 1 { "tensor is" } else { "tensors are" };
    let named = list.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = list.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{} {verb} {what} ({named}{more})", list.len())
}

fn unknown(names: &BTreeSet<&str>, design: &Design) -> Error {
    if names.contains("gain") && names.contains("conv") {
        return Error::weights("the file holds the weights that a run has learned", Remedy::LearnedWeights);
    }
    let found = names.first().map_or_else(|| "it has no tensors".into(), |name| format!("the first is {name:?}"));
    let [ours, others @ .., last] = NAMINGS;
    let known = others.join(", ");
    unfit(format!("the file has none of the tensor names of {ours}, {known} or {last} ({found})"), design, None)
}

fn unfit(reason: String, design: &Design, naming: Option<&'static str>) -> Error {
    Error::weights(reason, Remedy::WeightsOf { network: design.name, naming })
}
