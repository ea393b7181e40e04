//! Small Gaussian processes: a pool S and targets A on a line or a plane.

use anyhow::Result;
use homing::theory::Model;
use homing::{Embeddings, Kernel, Noise, Plan, Task, select};

/// S and A in one or two dimensions, and the kernel between their points.
pub struct World {
    pub name: &'static str,
    pub note: &'static str,
    pub kernel: Box<dyn Kernel>,
    pub dim: usize,
    pub pool: Vec<f64>,
    pub targets: Vec<f64>,
    pub noise_std: f64,
}

impl World {
    pub fn task(&self) -> Result<Task<'_>> {
        let targets = Embeddings::new(&self.targets[..], self.dim)?;
        Ok(Task::new(Embeddings::new(&self.pool[..], self.dim)?, targets).kernel(&*self.kernel))
    }

    pub fn model(&self) -> Result<Model<'_>> {
        Ok(Model::new(self.task()?, Noise::Std(self.noise_std))?)
    }

    /// Returns the picks of a rule; a row may be observed again.
    pub fn picks(&self, rule: &str, count: usize, seed: u64) -> Result<Vec<usize>> {
        let repeat = rule != "random";
        let noise = Noise::Std(self.noise_std);
        let plan = Plan::default().strategy(rule.parse()?).count(count).noise(noise).repeat(repeat).seed(seed);
        Ok(select(&self.task()?, &plan)?.rows())
    }

    /// Returns the mean variance of the targets after 0, 1, 2, … of the picks.
    pub fn mean_vars(&self, picks: &[usize]) -> Result<Vec<f64>> {
        let mut model = self.model()?;
        let mean = |model: &Model<'_>| {
            let vars = model.target_vars();
            vars.iter().sum::<f64>() / vars.len() as f64
        };
        let mut vars = vec![mean(&model)];
        for &row in picks {
            model.observe(row)?;
            vars.push(mean(&model));
        }
        Ok(vars)
    }

    /// Returns the mean of η²_S over the targets.
    pub fn floor(&self) -> Result<f64> {
        let vars = self.model()?.irreducible_vars()?;
        Ok(vars.iter().sum::<f64>() / vars.len() as f64)
    }
}

/// Returns `count` evenly spaced points from `low` to `high`, both included.
pub fn spaced(low: f64, high: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| low + (high - low) * i as f64 / (count - 1).max(1) as f64).collect()
}
