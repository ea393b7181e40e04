//! A Gaussian process with its pool, its targets and its observations: what every quantity of the theory is a function of.

use faer::Mat;

use crate::irreducible::irreducible_given;
use crate::law::{Columns, Law, Variance};
use crate::ledger::Ledger;
use crate::range::settled_noise;
use crate::rules::TargetNoise;
use crate::select::open_ledger;
use crate::task::{Survey, check};
use crate::{Embeddings, Error, Noise, Plan, Result, Task};

/// f ~ GP(0, k) with noise ρ² (Assumptions B.1 and B.2), the pool S, the targets A and the observations D_n.
///
/// Targets are known without noise, as in Eq. 1: the quantities are those of the paper's theory. Without targets, A = S.
#[derive(Clone)]
pub struct Model<'a> {
    task: Task<'a>,
    noise_var: f64,
    mean_var: f64,
    ledger: Ledger<'a>,
    rows: Vec<usize>,
}

/// Γ_n, the value of ITL's objective, and the row that has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    /// I(f_A; y_x | D_n), in nats.
    pub value: f64,
    /// x.
    pub row: usize,
}

impl<'a> Model<'a> {
    /// Takes the task's observed rows and points as D_0; costs, quotas and forbidden rows do not matter here.
    pub fn new(task: Task<'a>, noise: Noise) -> Result<Self> {
        let rule = if task.targets.is_some() { "itl-exact" } else { "undirected-itl" };
        check(&task, &Plan { strategy: rule.parse()?, noise, ..Plan::default() })?;
        let mean_var = Survey::new(&task)?.mean_var;
        let noise_var = settled_noise(task.noise_vars, noise, mean_var)?;
        let ledger = open_ledger(&task, noise_var, TargetNoise::Free)?;
        let mut rows = task.observed_rows.to_vec();
        rows.sort_unstable();
        rows.dedup();
        Ok(Self { task, noise_var, mean_var, ledger, rows })
    }

    /// Adds an observation of a pool row to D_n; a row observed twice has two independent observations.
    pub fn observe(&mut self, row: usize) -> Result<()> {
        let rows = self.task.pool.rows();
        if row >= rows {
            return Err(Error::NoSuchRow { what: "picks", row, rows });
        }
        let noise_var = self.noise_at(row);
        self.ledger.observe(&self.task.pool.row(row), noise_var);
        self.ledger.check_definite(Some(row), noise_var)?;
        self.rows.push(row);
        Ok(())
    }

    /// The model after observations of these rows.
    pub fn given(&self, rows: &[usize]) -> Result<Self> {
        let mut model = self.clone();
        rows.iter().try_for_each(|&row| model.observe(row))?;
        Ok(model)
    }

    /// The same with one point as the only target; the law given D_n is kept.
    pub(crate) fn about<'m>(&'m self, target: &'m [f64]) -> Result<Model<'m>> {
        let targets = Some(Embeddings::new(target, self.dim())?.into());
        let task = Task { targets, observed_rows: &self.rows, ..self.task };
        let known = Some((target.to_vec(), self.dim()));
        let ledger = Ledger::new(self.ledger.data.clone(), known, TargetNoise::Free, self.noise_var);
        Ok(Model { task, ledger, rows: self.rows.clone(), ..*self })
    }

    /// What it was made from.
    pub fn task(&self) -> &Task<'a> {
        &self.task
    }

    /// Pool rows of D_n.
    pub fn observed(&self) -> &[usize] {
        &self.rows
    }

    /// ρ² of targets and of rows without their own noise.
    pub fn noise_var(&self) -> f64 {
        self.noise_var
    }

    /// The pool's mean prior variance.
    pub fn mean_var(&self) -> f64 {
        self.mean_var
    }

    /// ρ²(x) of a pool row.
    pub fn noise_at(&self, row: usize) -> f64 {
        self.task.noise_vars.map_or(self.noise_var, |vars| vars[row])
    }

    /// I(f_A; y of all rows given to [`Model::observe`] | D_0), in nats.
    pub fn information(&self) -> f64 {
        self.ledger.information()
    }

    /// σ²_0 of each target: k(a, a).
    pub fn prior_vars(&self) -> Vec<f64> {
        self.targets().chunks_exact(self.dim()).map(|a| self.task.kernel.var(a)).collect()
    }

    /// σ²_n of each target: Var(f_a | D_n).
    pub fn target_vars(&self) -> Vec<f64> {
        let mut law = self.data();
        self.targets().chunks_exact(self.dim()).map(|a| law.var(a)).collect()
    }

    /// η²_S of each target, Var(f_a | f_S, D_n): what no further observation of the pool can take away.
    pub fn irreducible_vars(&self) -> Result<Vec<f64>> {
        match self.task.targets {
            Some(targets) => irreducible_given(self.task.pool, targets, self.data(), self.task.kernel),
            None => Ok(Vec::new()),
        }
    }

    /// I(f_A; y_x | D_n) of every pool row (Eq. 1), in one pass.
    pub fn gains(&self) -> Vec<f64> {
        let (data, joint) = (self.data(), self.joint());
        let noise = |row: usize| self.noise_at(row);
        let blocks = self.task.pool.map_blocks(|start, rows| {
            let before = variances(&data, rows, self.dim());
            let after = joint.as_ref().map_or_else(|| vec![0.0; before.len()], |law| variances(law, rows, self.dim()));
            let gain = |(i, (v, u)): (usize, (&f64, &f64))| gain(*v, *u, noise(start + i));
            before.iter().zip(&after).enumerate().map(gain).collect::<Vec<_>>()
        });
        blocks.concat()
    }

    /// Γ_n = max over S of I(f_A; y_x | D_n) (Eq. 6): what the best next observation adds, a repeated one included.
    pub fn objective(&self) -> Objective {
        self.outlook().0
    }

    /// The best next observation among the rows that are not observed yet.
    pub fn next_pick(&self) -> Option<Objective> {
        self.outlook().1
    }

    /// [`Model::objective`] and [`Model::next_pick`] in one pass.
    pub fn outlook(&self) -> (Objective, Option<Objective>) {
        let gains = self.gains();
        let mut open = vec![true; gains.len()];
        self.rows.iter().for_each(|&row| open[row] = false);
        (largest(&gains, |_| true).expect("a pool has rows"), largest(&gains, |row| open[row]))
    }

    /// What observing these rows one after the other does to the only target.
    pub(crate) fn descent(&self, rows: &[usize]) -> Result<Vec<f64>> {
        let mut model = self.clone();
        let mut vars = vec![model.target_vars()[0]];
        for &row in rows {
            model.observe(row)?;
            vars.push(model.target_vars()[0]);
        }
        Ok(vars)
    }

    pub(crate) fn dim(&self) -> usize {
        self.task.pool.dim()
    }

    pub(crate) fn targets(&self) -> Vec<f64> {
        self.task.targets.map(|targets| targets.to_vec()).unwrap_or_default()
    }

    /// The law given D_n.
    pub(crate) fn data(&self) -> Law<'a> {
        let mut law = self.ledger.data.clone();
        law.fold();
        law
    }

    /// The law given D_n and f_A; none without targets.
    pub(crate) fn joint(&self) -> Option<Law<'a>> {
        let mut law = self.ledger.joint.clone()?;
        law.fold();
        Some(law)
    }

    /// Covariances of pool rows given D_n, and given D_n and f_A: zero where A = S.
    pub(crate) fn covariances(&self, rows: &[usize]) -> (Mat<f64>, Mat<f64>) {
        let points = self.task.pool.gather(rows);
        let joint = self
            .joint()
            .map_or_else(|| Mat::zeros(rows.len(), rows.len()), |law| covariance(&law, &points, self.dim()));
        (covariance(&self.data(), &points, self.dim()), joint)
    }
}

/// ½ ln( (v + ρ²) / (u + ρ²) ) for v = Var(f_x | D), u = Var(f_x | f_A, D).
pub(crate) fn gain(var: f64, given_targets: f64, noise_var: f64) -> f64 {
    let rest = given_targets.clamp(0.0, var.max(0.0));
    0.5 * ((var.max(0.0) - rest) / (rest + noise_var)).ln_1p()
}

/// Variances of a block of rows.
pub(crate) fn variances(law: &Law<'_>, rows: &[f64], dim: usize) -> Vec<f64> {
    let mut out = vec![Variance { value: 0.0, scale: 0.0 }; rows.len() / dim];
    law.scan_vars(rows, &mut Columns::default(), &mut out);
    out.into_iter().map(|var| var.value.max(0.0)).collect()
}

/// Covariances of all pairs of points.
pub(crate) fn covariance(law: &Law<'_>, points: &[f64], dim: usize) -> Mat<f64> {
    let count = points.len() / dim;
    let mut out = Mat::zeros(count, count);
    if count == 0 {
        return out;
    }
    let mut column = vec![0.0; count];
    for (j, x) in points.chunks_exact(dim).enumerate() {
        law.scan(&law.itself(x), points, &mut Columns::default(), &mut column);
        for i in 0..=j {
            out[(i, j)] = column[i];
            out[(j, i)] = column[i];
        }
    }
    // A variance is formed from positive parts where the law can do so; a covariance with itself is not.
    for (i, var) in variances(law, points, dim).into_iter().enumerate() {
        out[(i, i)] = var;
    }
    out
}

/// The largest value among allowed rows; ties go to the smaller row.
fn largest(values: &[f64], allowed: impl Fn(usize) -> bool) -> Option<Objective> {
    let allowed = values.iter().enumerate().filter(|(row, _)| allowed(*row));
    let best = allowed.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
    best.map(|(row, &value)| Objective { value, row })
}
