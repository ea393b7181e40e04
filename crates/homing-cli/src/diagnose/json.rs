//! A diagnosis as JSON.

use homing::diagnose::{Closeness, Diagnosis, Prospect, TargetCloseness, TargetReach};
use homing_report::diagnosis::verdict;
use serde::Serialize;

use crate::files::TaskFiles;
use crate::texts::RowTexts;

/// Maximum number of characters of a target's text within the verdict.
const SENTENCE_TEXT: usize = 40;

/// The output of `--format json`.
#[derive(Serialize)]
pub struct Json {
    verdict: String,
    closeness: Option<JsonCloseness>,
    prospect: JsonProspect,
    targets: Vec<JsonTarget>,
    objective: f64,
    next_row: Option<usize>,
    next_gain: Option<f64>,
    batch: Vec<usize>,
    information: f64,
    gamma: Gamma,
    kappa: Kappa,
    guarantee: f64,
    noise_var: f64,
    suggested_noise_var: Option<f64>,
    mean_var: f64,
    target_var: f64,
    duplicates: usize,
    near_duplicate_share: f64,
}

/// Whether the pool has rows like the targets; null if that cannot be told.
#[derive(Serialize)]
struct JsonCloseness {
    mean: f64,
    offer: &'static str,
    nearest_cosine: f64,
    cosine_among_rows: f64,
    cosine_by_chance: f64,
}

impl JsonCloseness {
    fn new(found: &Closeness) -> Self {
        let Closeness { cosine, among_rows, chance, .. } = *found;
        Self {
            mean: found.mean(),
            offer: found.offer().name(),
            nearest_cosine: cosine,
            cosine_among_rows: among_rows,
            cosine_by_chance: chance,
        }
    }
}

/// Shares of variance that are left after n picks.
#[derive(Serialize)]
struct JsonProspect {
    n: usize,
    left: f64,
    left_by_random: f64,
    left_of_rows: Option<f64>,
}

#[derive(Serialize)]
struct JsonTarget {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    closeness: Option<f64>,
    nearest_row: Option<usize>,
    nearest_cosine: Option<f64>,
    prior_var: f64,
    irreducible_var: f64,
    labelled_var: f64,
    posterior_var: f64,
}

#[derive(Serialize)]
struct Gamma {
    n: usize,
    lower: f64,
    upper: f64,
}

#[derive(Serialize)]
struct Kappa {
    lower: f64,
    upper: f64,
}

impl Json {
    pub fn new(diagnosis: &Diagnosis, files: &TaskFiles, texts: &RowTexts) -> Self {
        let near: Vec<&TargetCloseness> = diagnosis.closeness.iter().flat_map(|found| &found.targets).collect();
        let target = |target: &TargetReach| {
            let near = near.iter().find(|near| near.row == target.row);
            JsonTarget {
                index: target.row,
                text: texts.target(target.row),
                closeness: near.map(|near| near.closeness),
                nearest_row: near.map(|near| near.nearest.0),
                nearest_cosine: near.map(|near| near.nearest.1),
                prior_var: target.prior,
                irreducible_var: target.irreducible,
                labelled_var: target.labelled,
                posterior_var: target.now,
            }
        };
        let Prospect { count, left, left_by_random, left_of_rows, .. } = diagnosis.prospect;
        let (gamma, kappa) = (diagnosis.capacity, diagnosis.ratio);
        Self {
            verdict: verdict(diagnosis, |row| texts.target_name(files, row, SENTENCE_TEXT)),
            closeness: diagnosis.closeness.as_ref().map(JsonCloseness::new),
            prospect: JsonProspect { n: count, left, left_by_random, left_of_rows },
            targets: diagnosis.targets.iter().map(target).collect(),
            objective: diagnosis.objective.value,
            next_row: diagnosis.next.map(|next| next.row),
            next_gain: diagnosis.next.map(|next| next.value),
            batch: diagnosis.batch.clone(),
            information: diagnosis.information,
            gamma: Gamma { n: gamma.n, lower: gamma.lower, upper: gamma.upper },
            kappa: Kappa { lower: kappa.lower, upper: kappa.upper },
            guarantee: diagnosis.ratio.guarantee(),
            noise_var: diagnosis.noise_var,
            suggested_noise_var: diagnosis.suggested_noise_var(),
            mean_var: diagnosis.scale.mean_var,
            target_var: diagnosis.scale.target_var,
            duplicates: diagnosis.duplicates.exact,
            near_duplicate_share: diagnosis.duplicates.near_share,
        }
    }
}
