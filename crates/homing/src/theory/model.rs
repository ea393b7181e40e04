//! A Gaussian process with its pool, its targets and its observations, on which all quantities of the theory depend.

use faer::Mat;

use crate::base::algebra::zeros;
use crate::engine::order::{ScoredRow, contenders, is_copy, winner};
use crate::law::Law;
use crate::law::irreducible::irreducible_given;
use crate::law::moments::{covariance, gain, variances};
use crate::rules::TargetNoise;
use crate::select::ledger::{Ledger, open_ledger};
use crate::task::check::check;
use crate::task::range::resolve_noise;
use crate::task::survey::Survey;
use crate::{Embeddings, Error, Noise, Plan, Result, Task};

/// A Gaussian process f ~ GP(0, k) with noise ρ² (Assumptions B.1 and B.2), the pool S, the targets A and the observations
/// D_n.
///
/// Targets are observed without noise, as in Eq. 1 and in the paper's theory. Without targets, A = S.
///
/// ```
/// use homing::theory::Model;
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let after = model.given(&[1])?;
/// assert!(after.target_vars()[0] < model.target_vars()[0]);
/// assert!((after.information() - model.gains()[1]).abs() < 1e-12);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Clone)]
pub struct Model<'a> {
    task: Task<'a>,
    noise_var: f64,
    mean_var: f64,
    ledger: Ledger<'a>,
    rows: Vec<usize>,
}

/// Γ_n, the value of ITL's objective, and the row that attains it.
///
/// ```
/// use homing::theory::Model;
/// use homing::{Embeddings, Noise, Task};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let model = Model::new(task, Noise::Std(0.5))?;
/// let objective = model.objective();
/// assert_eq!(objective.value, model.gains()[objective.row]);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    /// Information I(f_A; y_x | D_n), in nats.
    pub value: f64,
    /// The row x.
    pub row: usize,
}

impl<'a> Model<'a> {
    /// Creates the model, with the task's observed rows and points as D_0. Costs, quotas and forbidden rows have no effect.
    pub fn new(task: Task<'a>, noise: Noise) -> Result<Self> {
        let rule = if task.targets.is_some() { "itl-exact" } else { "undirected-itl" };
        check(&task, &Plan { strategy: rule.parse()?, noise, ..Plan::default() })?;
        let mean_var = Survey::new(&task)?.mean_var;
        let noise_var = resolve_noise(&task, noise, mean_var)?;
        let ledger = open_ledger(&task, noise_var, TargetNoise::Free)?;
        Ok(Self { task, noise_var, mean_var, ledger, rows: task.labelled_rows() })
    }

    /// Adds an observation of a pool row to D_n. A row that is observed twice has two independent observations.
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

    /// Returns the model after observations of these rows.
    pub fn given(&self, rows: &[usize]) -> Result<Self> {
        let mut model = self.clone();
        rows.iter().try_for_each(|&row| model.observe(row))?;
        Ok(model)
    }

    /// Returns the model with one point as its only target. The law given D_n is kept.
    pub(crate) fn about<'m>(&'m self, target: &'m [f64]) -> Result<Model<'m>> {
        let targets = Some(Embeddings::new(target, self.dim())?.into());
        let task = Task { targets, observed_rows: &self.rows, ..self.task };
        let targets = Some((target.to_vec(), self.dim()));
        let ledger = Ledger::new(self.ledger.data.clone(), targets, TargetNoise::Free, self.noise_var);
        Ok(Model { task, ledger, rows: self.rows.clone(), ..*self })
    }

    /// Returns the task that the model was created from.
    pub fn task(&self) -> &Task<'a> {
        &self.task
    }

    /// Returns the pool rows in D_n.
    pub fn observed(&self) -> &[usize] {
        &self.rows
    }

    /// Returns ρ² of the targets and of rows without their own noise.
    pub fn noise_var(&self) -> f64 {
        self.noise_var
    }

    /// Returns the pool's mean prior variance.
    pub fn mean_var(&self) -> f64 {
        self.mean_var
    }

    /// Returns ρ²(x) of a pool row.
    pub fn noise_at(&self, row: usize) -> f64 {
        self.task.noise_vars.map_or(self.noise_var, |vars| vars[row])
    }

    /// Returns the information I(f_A; y_B | D_0), in nats, where B are all rows given to [`Model::observe`].
    pub fn information(&self) -> f64 {
        self.ledger.information()
    }

    /// Returns the prior variance σ²_0 = k(a, a) of each target.
    pub fn prior_vars(&self) -> Vec<f64> {
        self.targets().chunks_exact(self.dim()).map(|a| self.task.kernel.var(a)).collect()
    }

    /// Returns the variance σ²_n = Var(f_a | D_n) of each target.
    pub fn target_vars(&self) -> Vec<f64> {
        let mut law = self.data();
        self.targets().chunks_exact(self.dim()).map(|a| law.var(a)).collect()
    }

    /// Returns the irreducible variance η²_S = Var(f_a | f_S, D_n) of each target, which no further observation of the pool
    /// can remove.
    pub fn irreducible_vars(&self) -> Result<Vec<f64>> {
        match self.task.targets {
            Some(targets) => irreducible_given(self.task.pool, targets, self.data(), self.task.kernel),
            None => Ok(Vec::new()),
        }
    }

    /// Returns I(f_A; y_x | D_n) of every pool row (Eq. 1), in one pass.
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

    /// Returns Γ_n = max over S of I(f_A; y_x | D_n) (Eq. 6): the information in the best next observation, which may
    /// repeat a row.
    pub fn objective(&self) -> Objective {
        self.outlook().0
    }

    /// Returns the best next observation among the rows that are not yet observed.
    pub fn next_pick(&self) -> Option<Objective> {
        self.outlook().1
    }

    /// Returns [`Model::objective`] and [`Model::next_pick`], in one pass.
    pub fn outlook(&self) -> (Objective, Option<Objective>) {
        let gains = self.gains();
        let mut open = vec![true; gains.len()];
        self.rows.iter().for_each(|&row| open[row] = false);
        (self.best(&gains, |_| true).expect("the pool is not empty"), self.best(&gains, |row| open[row]))
    }

    /// Returns the allowed row that a selection would pick by these values.
    fn best(&self, values: &[f64], allowed: impl Fn(usize) -> bool + Copy) -> Option<Objective> {
        let scored = values.iter().enumerate().map(|(row, &value)| ScoredRow { row, score: value, key: value });
        let contenders = contenders(scored.filter(|one| allowed(one.row)));
        let picked = winner(contenders.into_iter(), |a, b| is_copy(self.task.kernel, self.task.pool, a, b));
        picked.map(|picked| Objective { value: picked.score, row: picked.row })
    }

    /// Returns the variance of the only target, before and after each of these observations.
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

    /// Returns the law given D_n.
    pub(crate) fn data(&self) -> Law<'a> {
        let mut law = self.ledger.data.clone();
        law.fold();
        law
    }

    /// Returns the law given D_n and f_A; `None` without targets.
    pub(crate) fn joint(&self) -> Option<Law<'a>> {
        let mut law = self.ledger.joint.clone()?;
        law.fold();
        Some(law)
    }

    /// Returns the covariances of pool rows given D_n, and given D_n and f_A. The latter are zero if A = S.
    pub(crate) fn covariances(&self, rows: &[usize]) -> (Mat<f64>, Mat<f64>) {
        let points = self.task.pool.gather(rows);
        let joint =
            self.joint().map_or_else(|| zeros(rows.len(), rows.len()), |law| covariance(&law, &points, self.dim()));
        (covariance(&self.data(), &points, self.dim()), joint)
    }
}
