//! The information that the picks have given about the targets so far, whatever rule picked them.

use crate::law::Law;
use crate::law::irreducible::eliminate;
use crate::law::targets::Targets;
use crate::rules::TargetNoise;
use crate::{Error, Result, Task};

/// The law given D and the picks, the law given the targets as well, and the targets' variances.
#[derive(Clone)]
pub(crate) struct Ledger<'a> {
    pub data: Law<'a>,
    /// The law given D, the picks and the targets; `None` without targets.
    pub joint: Option<Law<'a>>,
    targets: Option<Targets>,
    start_var: f64,
    information: f64,
}

impl<'a> Ledger<'a> {
    /// Creates the ledger. `data` is the law given D; `targets` are all of A, observed as `target_noise` says with noise
    /// ρ².
    pub fn new(
        mut data: Law<'a>,
        targets: Option<(Vec<f64>, usize)>,
        target_noise: TargetNoise,
        noise_var: f64,
    ) -> Self {
        let joint = targets.as_ref().map(|(points, dim)| given_targets(&data, points, *dim, target_noise, noise_var));
        let targets = targets.map(|(points, dim)| Targets::new(points, dim, &mut data));
        let start_var = targets.as_ref().map_or(0.0, Targets::total_var);
        Self { data, joint, targets, start_var, information: 0.0 }
    }

    /// Returns I(A; y_x | D, picks), the information that an observation of x would add, in nats. Without targets, it is
    /// about f_x itself.
    pub fn gain(&mut self, x: &[f64], noise_var: f64) -> f64 {
        let before = self.data.var(x);
        let after = self.joint.as_mut().map_or(0.0, |joint| joint.var(x));
        gain_of(before, after, noise_var)
    }

    /// Conditions on an observation of x.
    pub fn observe(&mut self, x: &[f64], noise_var: f64) {
        let Self { data, joint, .. } = self;
        let of_joint = || joint.as_mut().map_or(0.0, |joint| joint.observe_with_var(x, noise_var).1);
        let ((functional, before, total), after) = rayon::join(|| data.observe_with_var(x, noise_var), of_joint);
        self.information += gain_of(before, after, noise_var);
        if let Some(targets) = &mut self.targets {
            let covs = targets.covs(&self.data, &functional);
            targets.observe(&covs, total, &mut self.data);
        }
    }

    /// Returns an error if an observed point has a negative variance under the kernel. `row` is the last observed row.
    pub fn check_definite(&self, row: Option<usize>, noise_var: f64) -> Result<()> {
        let laws = [Some(&self.data), self.joint.as_ref()].into_iter().flatten();
        match laws.filter_map(|law| law.least_var(noise_var)).reduce(f64::min) {
            Some(var) => Err(Error::Indefinite { row, var }),
            None => Ok(()),
        }
    }

    /// Returns the information gained so far, in nats.
    pub fn information(&self) -> f64 {
        self.information
    }

    /// Returns the targets' total variance.
    pub fn target_var(&self) -> Option<f64> {
        self.targets.as_ref().map(Targets::total_var)
    }

    /// Returns the share of the targets' variance that is left.
    pub fn variance_left(&self) -> Option<f64> {
        let now = self.target_var()?;
        Some(if self.start_var > 0.0 { (now / self.start_var).clamp(0.0, 1.0) } else { 0.0 })
    }

    /// Returns the targets' variances.
    pub fn target_vars(&self) -> Vec<f64> {
        self.targets.iter().flat_map(|targets| &targets.vars).map(|var| var.value).collect()
    }
}

/// Returns the information of an observation in nats, from the variances of f_x without and with the targets.
fn gain_of(before: f64, after: f64, noise_var: f64) -> f64 {
    (0.5 * ((before - after) / (after + noise_var)).ln_1p()).max(0.0)
}

/// Returns the law given the targets as well.
pub(crate) fn given_targets<'a>(
    data: &Law<'a>,
    points: &[f64],
    dim: usize,
    target_noise: TargetNoise,
    noise_var: f64,
) -> Law<'a> {
    let mut joint = data.clone();
    match (target_noise, data) {
        (TargetNoise::Noisy, _) => joint.observe_all(points, &vec![noise_var; points.len() / dim]),
        (TargetNoise::Free, Law::Linear(_)) => joint.observe_all(points, &vec![0.0; points.len() / dim]),
        // Targets that are nearly linearly dependent must be eliminated in the right order.
        (TargetNoise::Free, Law::Dual(_)) => {
            let order = eliminate(data, points, &[], dim).0;
            let ordered: Vec<f64> = order.iter().flat_map(|&a| &points[a * dim..(a + 1) * dim]).copied().collect();
            if !order.is_empty() {
                joint.observe_all(&ordered, &vec![0.0; order.len()]);
            }
        }
    }
    joint
}

/// Creates the ledger of a task: the law given the rows that are already labelled, and the targets.
pub(crate) fn open_ledger<'a>(task: &Task<'a>, noise_var: f64, target_noise: TargetNoise) -> Result<Ledger<'a>> {
    let mut data = Law::prior(task.kernel, task.pool.dim());
    let rows = task.labelled_rows();
    let mut observed = task.pool.gather(&rows);
    let mut noise: Vec<f64> = rows.iter().map(|&row| task.noise_vars.map_or(noise_var, |vars| vars[row])).collect();
    if let Some(points) = task.observed_points {
        observed.extend(points.to_vec());
        noise.resize(noise.len() + points.rows(), noise_var);
    }
    if !noise.is_empty() {
        data.observe_all(&observed, &noise);
    }
    let targets = task.targets.map(|targets| (targets.to_vec(), targets.dim()));
    let ledger = Ledger::new(data, targets, target_noise, noise_var);
    ledger.check_definite(None, noise_var)?;
    Ok(ledger)
}
