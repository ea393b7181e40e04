//! Weights by name from a safetensors file.

use std::collections::{BTreeMap, BTreeSet};

use safetensors::SafeTensors;
use safetensors::tensor::TensorView;

use super::design::Design;
use super::names::{NAMINGS, Slot, slots};
use crate::weights::numbers;
use crate::{Error, Result};

/// Tensors that a message names before it counts the others.
const NAMED: usize = 4;
/// What training counts beside the weights.
const COUNTER: &str = "num_batches_tracked";

/// A network's tensors by our names.
#[derive(Debug)]
pub(super) struct Weights {
    tensors: BTreeMap<String, Vec<f32>>,
}

impl Weights {
    /// Reads a safetensors file whose tensors are named in one of the ways of `names.rs`.
    pub fn read(bytes: &[u8], design: &Design) -> Result<Self> {
        let file = SafeTensors::deserialize(bytes).map_err(|error| {
            unfit(format!("the file is no safetensors file ({error}); give the weights of {}", design.name))
        })?;
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
        Ok(Self { tensors })
    }

    /// A tensor that every file of this design holds.
    pub fn get(&self, name: &str) -> &[f32] {
        self.find(name).unwrap_or_else(|| panic!("{name} was read"))
    }

    pub fn find(&self, name: &str) -> Option<&[f32]> {
        self.tensors.get(name).map(Vec::as_slice)
    }
}

/// The naming that knows most of the file's tensors, if any knows one.
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

/// Everything that does not fit.
#[derive(Default)]
struct Misfits {
    missing: Vec<String>,
    left_over: Vec<String>,
    other: Vec<String>,
}

impl Misfits {
    fn check(self, naming: usize, design: &Design) -> Result<()> {
        let kinds =
            [(self.missing, "missing"), (self.left_over, "left over"), (self.other, "of another shape or type")];
        let told: Vec<String> =
            kinds.iter().filter(|(list, _)| !list.is_empty()).map(|(list, what)| tell(list, what)).collect();
        if told.is_empty() {
            return Ok(());
        }
        let remedy = format!("give the weights of {} as {} names them", design.name, NAMINGS[naming]);
        Err(unfit(format!("{}; {remedy}", told.join("; "))))
    }
}

/// `2 tensors are missing (a, b)`.
fn tell(list: &[String], what: &str) -> String {
    let verb = if list.len() == 1 { "tensor is" } else { "tensors are" };
    let named = list.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = list.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{} {verb} {what} ({named}{more})", list.len())
}

fn unknown(names: &BTreeSet<&str>, design: &Design) -> Error {
    if names.contains("gain") && names.contains("conv") {
        let reason = "this is what a run has learned; give it as --learned, and the weights that the run began with as --weights";
        return unfit(reason.into());
    }
    let found = names.first().map_or_else(|| "there are none".into(), |name| format!("the first is {name:?}"));
    let [ours, others @ .., last] = NAMINGS;
    let known = others.join(", ");
    unfit(format!(
        "its tensors have none of the names of {ours}, {known} or {last} ({found}); give the weights of {}",
        design.name
    ))
}

fn unfit(reason: String) -> Error {
    Error::Weights { reason }
}
