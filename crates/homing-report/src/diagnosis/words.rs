//! Sentences about a diagnosis: its verdict, its warnings, and each number with its meaning and its place in the paper.

use homing::diagnose::{Advice, Closeness, Diagnosis, FEWEST_ROWS, FEWEST_VALUES, NEAR, OUT_OF_REACH, Offer, Warning};

use crate::Fact;
use crate::text::{grouped, short};

/// Maximum number of targets that a sentence lists by name.
const MAX_NAMED: usize = 8;

/// An upper bound that is this many times the lower one says nothing.
const UNKNOWN: f64 = 100.0;

/// Functions that name rows and targets and phrase advice.
pub struct Names<'a> {
    pub row: &'a dyn Fn(usize) -> String,
    pub target: &'a dyn Fn(usize) -> String,
    /// Phrases advice with the name that the reader's interface has for the setting.
    pub advice: &'a dyn Fn(Advice) -> String,
}

/// Phrases advice without the name of a setting.
pub fn plain_advice(advice: Advice) -> String {
    match advice {
        Advice::LowerNoise => "lower the noise".to_owned(),
        Advice::RaiseNoise => "raise the noise".to_owned(),
        Advice::SetNoise(std) => format!("try a noise of {}", short(std)),
        Advice::Center => "try centring the embeddings".to_owned(),
        _ => "change the settings".to_owned(),
    }
}

/// Formats a large number for a sentence.
fn rounded(x: f64) -> String {
    if x < 1e6 { format!("{x:.0}") } else { format!("{x:.0e}") }
}

/// Turns a ratio into a factor of at least 1 and "larger" or "smaller".
fn times(ratio: f64) -> (String, &'static str) {
    if ratio > 1.0 { (rounded(ratio), "larger") } else { (rounded(1.0 / ratio), "smaller") }
}

/// Returns one sentence per warning.
pub fn warnings(diagnosis: &Diagnosis, advice: &dyn Fn(Advice) -> String) -> Vec<String> {
    diagnosis.warnings().iter().map(|warning| sentence(warning, diagnosis, advice)).collect()
}

fn sentence(warning: &Warning, diagnosis: &Diagnosis, advice: &dyn Fn(Advice) -> String) -> String {
    let advice = warning.advice().map(advice).unwrap_or_default();
    match *warning {
        Warning::MuchNoise(relative) => format!(
            "The noise ρ² is {} times the pool's mean variance, so labels reveal almost nothing; {advice}.",
            rounded(relative)
        ),
        Warning::LittleNoise(relative) => format!(
            "The noise ρ² is {relative:.0e} of the pool's mean variance, so one label fully determines a direction; {advice}."
        ),
        Warning::OtherNoise { factor, .. } => {
            let (times, side) = times(factor);
            format!("The values suggest a noise variance {times} times {side} than ρ²; {advice}.")
        }
        Warning::OtherScale(ratio) => {
            let (times, side) = times(ratio);
            format!(
                "The targets' mean variance is {times} times {side} than the pool's; embed and scale both the same way."
            )
        }
        Warning::LargeRow => {
            "The largest row has more than 100 times the median variance and attracts picks; check it, or normalise the rows."
                .to_owned()
        }
        Warning::CommonMean(share) => {
            format!("{:.0} % of the pool's squared norm is its mean, which all rows share; {advice}.", 100.0 * share)
        }
        Warning::EmptyRows(count) => {
            format!("{count} of {} rows have zero variance: nothing can be learned from them.", diagnosis.rows)
        }
        Warning::EmptyTargets(count) => format!(
            "{count} of {} targets have zero variance: nothing can be learned about them.",
            diagnosis.targets.len()
        ),
        Warning::ObservedAgain(count) => {
            format!("{count} of the picks are among the observed rows: each counts as one more label.")
        }
        Warning::NearDuplicates(share) => {
            format!("{:.0} % of the rows have a near-duplicate; remove duplicates to make the pool smaller.", 100.0 * share)
        }
        _ => advice,
    }
}

/// Says in one sentence whether the pool has rows like the targets, and which targets it cannot teach.
pub fn verdict(diagnosis: &Diagnosis, name: impl Fn(usize) -> String) -> String {
    let out_of_reach = diagnosis.out_of_reach();
    let (count, all) = (out_of_reach.len(), diagnosis.targets.len());
    if count == 0 {
        let targets = match all {
            1 => "the target".into(),
            2 => "both targets".into(),
            all => format!("all {} targets", grouped(all)),
        };
        let near = diagnosis.closeness.as_ref().map_or(0.0, Closeness::mean);
        return match diagnosis.offer() {
            None => {
                let why = if diagnosis.rows < FEWEST_ROWS {
                    format!("it has fewer than {FEWEST_ROWS} rows")
                } else {
                    "its rows vary in few directions only".to_owned()
                };
                format!(
                    "Labels for every row of this pool would settle most about {targets}; whether it has rows like them cannot be \
                     told, because {why}."
                )
            }
            Some(Offer::Rows) => match &*diagnosis.without_rows() {
                [] => format!("This pool has rows like {targets} and can teach them (closeness {near:.2} of 1)."),
                far => {
                    let names: Vec<String> = far.iter().take(MAX_NAMED).map(|&target| name(target)).collect();
                    let more = if far.len() > MAX_NAMED {
                        format!(" and {} more", grouped(far.len() - MAX_NAMED))
                    } else {
                        String::new()
                    };
                    format!(
                        "This pool has rows like most of the targets (closeness {near:.2} of 1), but none like {}{more}.",
                        names.join(", ")
                    )
                }
            },
            Some(Offer::FewRows) => format!(
                "This pool has few rows like the targets (closeness {near:.2} of 1), so picks will teach them only in part; add rows \
                 of their kind."
            ),
            Some(Offer::NoRows) => format!(
                "This pool has no rows like the targets (closeness {near:.2} of 1): picks from it will hardly teach them; add rows of \
                 their kind, or check that the same model made both embeddings."
            ),
            Some(Offer::Chance) => {
                "The rows of this pool resemble neither the targets nor one another more than chance would make \
                                    them, so no choice among them will teach the targets; check the embeddings."
                    .to_owned()
            }
        };
    }
    let names: Vec<String> = out_of_reach.iter().take(MAX_NAMED).map(|target| name(target.row)).collect();
    let more = if count > MAX_NAMED { format!(" and {} more", grouped(count - MAX_NAMED)) } else { String::new() };
    // Labels for a part of the pool leave more variance than labels for all of it.
    let (can, labelled) = if diagnosis.labelled_rows < diagnosis.rows {
        ("may not be able to", format!("{} of its rows", grouped(diagnosis.labelled_rows)))
    } else {
        ("cannot", "every row".to_owned())
    };
    format!(
        "This pool {can} teach {} of {} targets ({}{more}): with labels for {labelled}, more than {:.0} % of {} variance is left.",
        grouped(count),
        grouped(all),
        names.join(", "),
        100.0 * OUT_OF_REACH,
        if count == 1 { "its" } else { "their" },
    )
}

/// Returns whether the verdict asks for action, so that it belongs among the warnings.
pub fn is_warning(diagnosis: &Diagnosis) -> bool {
    !diagnosis.out_of_reach().is_empty() || diagnosis.offer().is_some_and(|offer| offer != Offer::Rows)
}

/// Explains the words of a diagnosis, one per line.
pub const DEFINITIONS: [&str; 5] = [
    "Closeness: from 0 to 1; 0 if the rows nearest to a target resemble it no more than chance makes rows resemble each other, 1 if \
     they are as near to it as rows of the pool are to one another.",
    "Variance: how uncertain the prediction for a target is; prior: before any label.",
    "Reached: the share of a target's variance that the labels of the picks remove.",
    "Out of reach: the share of it that labels for every row of the pool would leave.",
    "Nat: the unit of information; 1 nat about a value divides the standard deviation of its prediction by 2.7.",
];

/// Lists what the picks can do for the targets, and how near the pool's rows are to them.
pub fn prospects(diagnosis: &Diagnosis) -> Vec<Fact> {
    let prospect = diagnosis.prospect;
    let fact = |name: &str, value: String, meaning: String| Fact {
        name: name.into(),
        value,
        meaning,
        kind: "measured",
        place: "–",
    };
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let mut facts = Vec::new();
    if let Some(found) = &diagnosis.closeness {
        facts.push(fact(
            "closeness",
            format!("{:.2}", found.mean()),
            "from 0.65 on, the pool has rows like the targets; below 0.5, it has none".into(),
        ));
        facts.push(fact(
            "nearest rows",
            format!("{:.2}", found.cosine),
            format!(
                "mean cosine of a target with its five nearest rows; {:.2} among those rows, {:.2} by chance",
                found.among_rows, found.chance
            ),
        ));
    }
    let rows = prospect
        .left_of_rows
        .map_or_else(String::new, |left| format!("; for rows of the pool in place of the targets, {}", percent(left)));
    facts.push(fact(
        &format!("left after {} picks", grouped(prospect.count)),
        percent(prospect.left),
        format!("of the targets' variance; after as many random rows, {}{rows}", percent(prospect.left_by_random)),
    ));
    facts
}

/// Lists the guarantees and the numbers from which they follow. Bounds that say nothing are left out.
pub fn facts(diagnosis: &Diagnosis, id: impl Fn(usize) -> String) -> Vec<Fact> {
    let (n, batch) = (diagnosis.picks, diagnosis.batch.len());
    let what = batch_name(diagnosis);
    let nats = |value: f64| format!("{} nats", short(value));
    let between = |lower: f64, upper: f64| {
        if lower == upper { short(lower) } else { format!("{} … {}", short(lower), short(upper)) }
    };
    let fact = |name: String, value: String, meaning: String, kind: &'static str, place: &'static str| Fact {
        name,
        value,
        meaning,
        kind,
        place,
    };
    let gamma = diagnosis.capacity;
    let kappa = diagnosis.ratio;
    let mut facts = vec![
        fact(
            format!("Γ_{n}"),
            nats(diagnosis.objective.value),
            "the most information about the targets that one more observation can add".into(),
            "exact",
            "Eq. 6",
        ),
        match diagnosis.next {
            Some(next) => {
                fact("next pick".into(), id(next.row), format!("adds {}", nats(next.value)), "exact", "Eq. 1, 4")
            }
            None => fact("next pick".into(), "none".into(), "every row has been picked".into(), "exact", "Eq. 4"),
        },
        fact(
            format!("F({batch} rows)"),
            nats(diagnosis.information),
            format!("information of {what} about the noise-free f at the targets"),
            "exact",
            "Eq. 3",
        ),
        fact(
            format!("γ_{batch}"),
            if gamma.upper > UNKNOWN * gamma.lower {
                format!("≥ {}", nats(gamma.lower))
            } else {
                format!("{} nats", between(gamma.lower, gamma.upper))
            },
            format!("the most information about f that any {batch} rows can have"),
            if gamma.is_exact() { "exact" } else { "greedy and bound" },
            "§2",
        ),
    ];
    if kappa.lower >= 0.01 {
        facts.push(fact(
            format!("κ_{batch}"),
            between(kappa.lower, kappa.upper),
            format!("submodularity ratio of {what}"),
            if kappa.is_exact() { "exact" } else { "bound … sample" },
            "Eq. 5",
        ));
    }
    facts.extend(guarantee(diagnosis));
    let bound = gamma.upper / batch as f64;
    if n > 0 && bound < diagnosis.information {
        facts.push(fact(
            format!("γ_{batch}/{batch}"),
            nats(bound),
            format!("upper bound on Γ_{} if the pool is among the targets", batch - 1),
            "bound",
            "Eq. 7",
        ));
    }
    facts.extend(theorem(diagnosis));
    facts
}

fn batch_name(diagnosis: &Diagnosis) -> &'static str {
    if diagnosis.picks > 0 { "the picks" } else { "ITL's next picks" }
}

/// Returns the guaranteed share of the best batch's information, if it is at least one percent.
pub fn guarantee(diagnosis: &Diagnosis) -> Option<Fact> {
    let what = batch_name(diagnosis);
    let certified = diagnosis.information / diagnosis.capacity.upper;
    let by_ratio = diagnosis.ratio.guarantee();
    let (share, place) = if certified > by_ratio { (certified, "Thm. D.1 (v)") } else { (by_ratio, "Thm. C.2") };
    let share = if share.is_finite() { share.min(1.0) } else { 0.0 };
    let value = format!("≥ {:.0} %", 100.0 * share);
    let meaning = if certified > by_ratio {
        format!("{what} have at least this share of the best batch's information, which is at most γ")
    } else {
        format!("if chosen by ITL, {what} have at least this share of the best batch's information: 1 − e^−κ")
    };
    (share >= 0.01).then(|| Fact { name: "guarantee".into(), value, meaning, kind: "bound", place })
}

/// Returns the bound of Theorem 3.1, unless it exceeds the variance of every target.
fn theorem(diagnosis: &Diagnosis) -> Option<Fact> {
    let n = diagnosis.batch.len().max(1);
    let bound = homing::theory::reducible_bound(&diagnosis.constants, diagnosis.capacity.upper, n)?;
    let largest = diagnosis.targets.iter().map(|target| target.prior).fold(0.0, f64::max);
    (bound < largest).then(|| Fact {
        name: format!("C·γ_{n}/√{n}"),
        value: short(bound),
        meaning: "upper bound on σ²_n − η²_S if the pool is among the targets".to_owned(),
        kind: "bound",
        place: "Thm. 3.1",
    })
}

/// Lists the checks of noise, scale and duplicates.
pub fn checks(diagnosis: &Diagnosis) -> Vec<Fact> {
    let Diagnosis { rows, scale, duplicates, fit, noise_var, .. } = diagnosis;
    let fact = |name: &str, value: String, meaning: String, kind: &'static str, place: &'static str| Fact {
        name: name.into(),
        value,
        meaning,
        kind,
        place,
    };
    let noise_from = if diagnosis.noise_is_default { "default" } else { "given" };
    let times_of_pool = |value: f64| {
        let times = value / scale.mean_var;
        if times.is_finite() {
            format!("{} × the pool's mean variance", short(times))
        } else {
            "the pool has zero variance".to_owned()
        }
    };
    let mut checks = vec![
        fact("noise ρ²", short(*noise_var), times_of_pool(*noise_var), noise_from, "Asm. B.2"),
        fact(
            "variance of a row",
            short(scale.mean_var),
            format!("mean; median {}, largest {}", short(scale.median_var), short(scale.max_var)),
            "exact",
            "App. D.1",
        ),
        fact("variance of a target", short(scale.target_var), times_of_pool(scale.target_var), "exact", "App. D.1"),
        fact(
            "shared by all rows",
            format!("{:.0} %", 100.0 * scale.common_share),
            "share of the squared norm that comes from the mean embedding".into(),
            "exact",
            "–",
        ),
        fact("exact duplicates", grouped(duplicates.exact), "rows that equal an earlier row".into(), "exact", "–"),
        fact(
            "near-duplicates",
            format!("{:.0} %", 100.0 * duplicates.near_share),
            format!("of {} rows have a correlation of {NEAR} or more with another row", grouped(duplicates.looked_at)),
            if duplicates.looked_at == *rows { "exact" } else { "sample" },
            "–",
        ),
    ];
    if let Some(few) = fit.filter(|fit| fit.rows < FEWEST_VALUES) {
        let meaning = format!("the values of {} rows are too few to estimate it; {FEWEST_VALUES} are needed", few.rows);
        checks.push(fact("suggested ρ²", "–".to_owned(), meaning, "–", "App. B.2"));
    } else if let Some(fit) = fit {
        let edge = if fit.is_at_edge { "; the best value is at the edge of the range that was tried" } else { "" };
        checks.push(fact(
            "suggested ρ²",
            short(fit.noise_var),
            format!(
                "ρ = {}, by the marginal likelihood of {} values{edge}",
                short(fit.noise_var.sqrt()),
                grouped(fit.rows)
            ),
            if fit.rows == *rows { "exact" } else { "sample" },
            "App. B.2",
        ));
    }
    checks
}

/// Explains the columns of the table of targets and says from how many rows they were computed.
pub fn reach_note(diagnosis: &Diagnosis) -> String {
    let from = |used: usize| {
        if used == diagnosis.rows { String::new() } else { format!(", an upper bound from {} rows", grouped(used)) }
    };
    format!(
        "Variances of each target. prior: σ²_0 = k(a, a), before any label. irreducible: η²_S, if f were known on the whole \
         pool{} (§3.1). whole pool: if every row were labelled once{} (App. B.2). now: σ²_{}, with the picks so far (App. B.2).",
        from(diagnosis.irreducible_rows),
        from(diagnosis.labelled_rows),
        diagnosis.picks,
    )
}
