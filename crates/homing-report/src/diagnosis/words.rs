//! The numbers of a diagnosis in words: each with what it means, whether it is exact, and where the paper has it.

use homing::NEAR;

use super::numbers::{Diagnosis, OUT_OF_REACH};
use crate::Fact;
use crate::text::{grouped, short};

/// Targets that a sentence names.
const NAMED: usize = 8;

/// What rows and targets are called.
pub struct Names<'a> {
    pub row: &'a dyn Fn(usize) -> String,
    pub target: &'a dyn Fn(usize) -> String,
}

/// One sentence about what a pool of so many rows cannot do.
pub fn verdict(diagnosis: &Diagnosis, rows: usize, name: impl Fn(usize) -> String) -> String {
    let lost = diagnosis.out_of_reach();
    let all = diagnosis.targets.len();
    if lost.is_empty() {
        return format!(
            "This pool can teach {}.",
            if all == 1 { "the target".into() } else { format!("all {} targets", grouped(all)) }
        );
    }
    let names: Vec<String> = lost.iter().take(NAMED).map(|target| name(target.index)).collect();
    let more = if lost.len() > NAMED { format!(" and {} more", grouped(lost.len() - NAMED)) } else { String::new() };
    // Labels for a part of the pool leave more than labels for all of it.
    let (can, labelled) = if diagnosis.labelled_rows < rows {
        ("may not be able to", format!("labels for {} of its rows leave", grouped(diagnosis.labelled_rows)))
    } else {
        ("cannot", "labels for every row leave".to_owned())
    };
    format!(
        "This pool {can} teach {} of {} targets ({}{more}): {labelled} {} more than {:.0} % of {} variance.",
        grouped(lost.len()),
        grouped(all),
        names.join(", "),
        if lost.len() == 1 { "it" } else { "them" },
        100.0 * OUT_OF_REACH,
        if lost.len() == 1 { "its" } else { "their" },
    )
}

/// The guarantees and what they are made of.
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
            "the most that one more observation tells about the targets".into(),
            "exact",
            "Eq. 6",
        ),
        match diagnosis.next {
            Some(next) => {
                fact("next pick".into(), id(next.row), format!("adds {}", nats(next.value)), "exact", "Eq. 1, 4")
            }
            None => fact("next pick".into(), "none".into(), "every row is picked already".into(), "exact", "Eq. 4"),
        },
        fact(
            format!("F({batch} rows)"),
            nats(diagnosis.information),
            format!("what {what} tell about f at the targets, free of noise"),
            "exact",
            "Eq. 3",
        ),
        fact(
            format!("γ_{batch}"),
            format!("{} nats", between(gamma.lower, gamma.upper)),
            "the most that so many rows tell about anything".into(),
            if gamma.is_exact() { "exact" } else { "greedy and bound" },
            "§2",
        ),
        fact(
            format!("κ_{batch}"),
            between(kappa.lower, kappa.upper),
            ratio_meaning(diagnosis, what),
            if kappa.is_exact() { "exact" } else { "bound … sample" },
            "Eq. 5",
        ),
        guarantee(diagnosis),
    ];
    if n > 0 {
        let bound = gamma.upper / batch as f64;
        facts.push(fact(
            format!("γ_{batch}/{batch}"),
            nats(bound),
            format!("bounds Γ_{} where the pool is among the targets", batch - 1),
            "bound",
            "Eq. 7",
        ));
    }
    facts.push(theorem(diagnosis));
    facts
}

/// What κ is about, and what its lower end says where that is next to nothing.
fn ratio_meaning(diagnosis: &Diagnosis, what: &str) -> String {
    let ratio = diagnosis.ratio;
    if ratio.is_exact() || ratio.lower >= 0.01 {
        return format!("submodularity ratio of {what}");
    }
    format!("submodularity ratio of {what}; some row tells so little about the targets that its bound promises nothing")
}

fn batch_name(diagnosis: &Diagnosis) -> &'static str {
    if diagnosis.picks > 0 { "the picks" } else { "ITL's next picks" }
}

/// The share of the best batch's information that the batch has at least.
pub fn guarantee(diagnosis: &Diagnosis) -> Fact {
    let what = batch_name(diagnosis);
    let certified = diagnosis.information / diagnosis.capacity.upper;
    let by_ratio = diagnosis.ratio.guarantee();
    let (share, place) = if certified > by_ratio { (certified, "Thm. D.1 (v)") } else { (by_ratio, "Thm. C.2") };
    let share = if share.is_finite() { share.min(1.0) } else { 0.0 };
    let value = if share > 0.0 { format!("≥ {:.0} %", 100.0 * share) } else { "none".to_owned() };
    let meaning = if certified > by_ratio {
        format!("{what} have this share of the best batch's information, whose bound is γ")
    } else {
        format!("{what}, if chosen by ITL, have this share of the best batch's information: 1 − e^−κ")
    };
    Fact { name: "guarantee".into(), value, meaning, kind: "bound", place }
}

fn theorem(diagnosis: &Diagnosis) -> Fact {
    let n = diagnosis.batch.len().max(1);
    let reducible = homing::theory::reducible_bound(&diagnosis.constants, diagnosis.capacity.upper, n);
    let (value, meaning) = match reducible {
        None => ("unknown".to_owned(), "λ_min of a pool this large is not computed".to_owned()),
        Some(bound) if !bound.is_finite() => (
            "infinite".to_owned(),
            "the pool's rows are linearly dependent: λ_min(K_SS) = 0, the theorem says nothing".to_owned(),
        ),
        Some(bound) => (short(bound), "bounds σ²_n − η²_S where the pool is among the targets".to_owned()),
    };
    Fact { name: format!("C·γ_{n}/√{n}"), value, meaning, kind: "bound", place: "Thm. 3.1" }
}

/// Whether noise and scale are sane.
pub fn checks(diagnosis: &Diagnosis, rows: usize) -> Vec<Fact> {
    let Diagnosis { scale, duplicates, fit, noise_var, .. } = diagnosis;
    let fact = |name: &str, value: String, meaning: String, kind: &'static str, place: &'static str| Fact {
        name: name.into(),
        value,
        meaning,
        kind,
        place,
    };
    let noise_from = if diagnosis.noise_is_default { "default" } else { "given" };
    let times_of_pool = |value: f64, what: &str| {
        let times = value / scale.mean_var;
        if times.is_finite() { format!("{} × the pool's{what}", short(times)) } else { "the pool has none".to_owned() }
    };
    let mut checks = vec![
        fact("noise ρ²", short(*noise_var), times_of_pool(*noise_var, " mean variance"), noise_from, "Asm. B.2"),
        fact(
            "variance of a row",
            short(scale.mean_var),
            format!("mean; median {}, largest {}", short(scale.median_var), short(scale.max_var)),
            "exact",
            "App. D.1",
        ),
        fact("variance of a target", short(scale.target_var), times_of_pool(scale.target_var, ""), "exact", "App. D.1"),
        fact(
            "shared by all rows",
            format!("{:.0} %", 100.0 * scale.common_share),
            "of the squared norm is the mean embedding".into(),
            "exact",
            "–",
        ),
        fact("exact duplicates", grouped(duplicates.exact), "rows equal an earlier one".into(), "exact", "–"),
        fact(
            "near-duplicates",
            format!("{:.0} %", 100.0 * duplicates.near_share),
            format!("of {} rows correlate by {NEAR} or more with another", grouped(duplicates.looked_at)),
            if duplicates.looked_at == rows { "exact" } else { "sample" },
            "–",
        ),
    ];
    if let Some(fit) = fit {
        let said = if fit.at_edge { "; the best is at the edge of what was tried" } else { "" };
        checks.push(fact(
            "suggested ρ²",
            short(fit.noise_var),
            format!(
                "--noise-std {}, by the marginal likelihood of {} values{said}",
                short(fit.noise_var.sqrt()),
                grouped(fit.rows)
            ),
            if fit.rows == rows { "exact" } else { "sample" },
            "App. B.2",
        ));
    }
    checks
}

/// What the columns of the table of targets are, and what they were computed from.
pub fn reach_note(diagnosis: &Diagnosis, rows: usize) -> String {
    let from = |used: usize| {
        if used == rows { String::new() } else { format!(" (an upper bound, from {} rows)", grouped(used)) }
    };
    format!(
        "prior: σ²_0 = k(a, a). irreducible: η²_S, with f known on the whole pool{} (§3.1). whole pool: with every row labelled \
         once{} (App. B.2). now: σ²_{} (App. B.2).",
        from(diagnosis.irreducible_rows),
        from(diagnosis.labelled_rows),
        diagnosis.picks,
    )
}
