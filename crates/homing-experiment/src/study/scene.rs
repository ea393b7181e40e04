//! A scene of the study: one task on one pool.

use std::fmt;

use homing::{Embeddings, Noise, Plan, Task, kernel_named, select};
use rand::RngExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::data::StudyData;
use super::probe::Probe;
use super::setting::Setting;
use super::{BUDGETS, POOL};

/// Largest number of classes of a task, and largest share of all classes.
const TASK: usize = 5;
const TASK_SHARE: f64 = 0.34;

/// Largest number of test rows.
const TEST: usize = 250;

/// Label of rows that belong to no class.
const JUNK: usize = usize::MAX;

/// What is done to the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// Nothing.
    AsItIs,
    /// This share of the rows, in percent, are near-copies of a few others.
    NearCopies(u8),
    /// A tenth of the rows are noise, each number with the spread of its column.
    Junk,
    /// The classes of the task are rare, each rarer than the one before.
    RareClasses,
    /// Rows of the pool and targets are scaled to unequal lengths.
    UnequalLengths,
}

/// The conditions of the study.
pub const CONDITIONS: [Condition; 6] = [
    Condition::AsItIs,
    Condition::NearCopies(5),
    Condition::NearCopies(50),
    Condition::Junk,
    Condition::RareClasses,
    Condition::UnequalLengths,
];

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsItIs => f.write_str("as it is"),
            Self::NearCopies(percent) => write!(f, "{percent} % near-copies"),
            Self::Junk => f.write_str("10 % junk"),
            Self::RareClasses => f.write_str("rare classes"),
            Self::UnequalLengths => f.write_str("unequal lengths"),
        }
    }
}

/// Description of a scene, from which the scene can be made again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SceneName {
    /// Name of the data set.
    pub data: String,
    /// Number of the draw: another draw has other classes, rows and targets.
    pub draw: u64,
    /// Number of targets.
    pub targets: usize,
    /// What is done to the pool.
    pub condition: String,
}

/// A pool, targets and test rows, with the classes that the probe learns.
pub struct Scene {
    /// Description of the scene.
    pub name: SceneName,
    dim: usize,
    pool: Vec<f32>,
    classes: Vec<usize>,
    targets: Vec<f32>,
    test: Vec<f32>,
    test_classes: Vec<usize>,
    seed: u64,
}

impl Scene {
    /// Draws the scene.
    pub fn new(data: &StudyData, name: SceneName) -> Self {
        let condition =
            *CONDITIONS.iter().find(|c| c.to_string() == name.condition).expect("conditions have these names");
        let place = CONDITIONS.iter().position(|c| *c == condition).unwrap_or(0);
        let seed = name.draw << 16 | (name.targets as u64) << 4 | place as u64;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let most = ((data.classes as f64 * TASK_SHARE) as usize).clamp(2, TASK);
        let mut task: Vec<usize> = (0..data.classes).collect();
        task.shuffle(&mut rng);
        task.truncate(most);
        let mut rows: Vec<usize> = (0..data.rows()).collect();
        rows.shuffle(&mut rng);
        let pool = rows.split_off(rows.len() - POOL.min(data.rows() / 2));
        let mut of_task: Vec<usize> = rows.into_iter().filter(|&row| task.contains(&data.labels[row])).collect();
        // The targets are taken from the classes in turn, so that even a few of them cover the task.
        let mut targets = Vec::new();
        'draw: loop {
            let before = targets.len();
            for class in &task {
                if targets.len() == name.targets {
                    break 'draw;
                }
                if let Some(at) = of_task.iter().position(|&row| data.labels[row] == *class) {
                    targets.push(of_task.remove(at));
                }
            }
            // Some rows stay for the test.
            if targets.len() == before || of_task.len() < TEST / 5 {
                break;
            }
        }
        targets.shuffle(&mut rng);
        of_task.truncate(TEST);
        let gather = |rows: &[usize]| -> Vec<f32> { rows.iter().flat_map(|&row| data.row(row)).copied().collect() };
        let labels = |rows: &[usize]| -> Vec<usize> { rows.iter().map(|&row| data.labels[row]).collect() };
        let mut scene = Self {
            name,
            dim: data.dim,
            pool: gather(&pool),
            classes: labels(&pool),
            targets: gather(&targets),
            test: gather(&of_task),
            test_classes: labels(&of_task),
            seed,
        };
        match condition {
            Condition::AsItIs => {}
            Condition::NearCopies(percent) => scene.copy_rows(f64::from(percent) / 100.0, &mut rng),
            Condition::Junk => scene.add_junk(&mut rng),
            Condition::RareClasses => scene.make_rare(&task),
            Condition::UnequalLengths => scene.stretch(&mut rng),
        }
        scene
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.pool[row * self.dim..(row + 1) * self.dim]
    }

    /// Replaces a share of the rows by near-copies of a fifth as many of the others.
    fn copy_rows(&mut self, share: f64, rng: &mut ChaCha8Rng) {
        let rows = self.classes.len();
        let copies = (share * rows as f64) as usize;
        let originals: Vec<usize> = (0..(copies / 5).max(1)).map(|_| rng.random_range(0..rows - copies)).collect();
        let size = self.pool.iter().map(|x| x * x).sum::<f32>() / self.pool.len() as f32;
        for row in rows - copies..rows {
            let from = originals[rng.random_range(0..originals.len())];
            for j in 0..self.dim {
                let noise: f32 = StandardNormal.sample(rng);
                self.pool[row * self.dim + j] = self.pool[from * self.dim + j] + 0.02 * size.sqrt() * noise;
            }
            self.classes[row] = self.classes[from];
        }
    }

    fn add_junk(&mut self, rng: &mut ChaCha8Rng) {
        let rows = self.classes.len();
        let count = rows as f32;
        let column = |j: usize| self.pool.iter().skip(j).step_by(self.dim);
        let means: Vec<f32> = (0..self.dim).map(|j| column(j).sum::<f32>() / count).collect();
        let spreads: Vec<f32> =
            (0..self.dim).map(|j| (column(j).map(|x| (x - means[j]).powi(2)).sum::<f32>() / count).sqrt()).collect();
        for row in (0..rows).step_by(10) {
            let stretch: f32 = StandardNormal.sample(rng);
            for j in 0..self.dim {
                let noise: f32 = StandardNormal.sample(rng);
                self.pool[row * self.dim + j] = means[j] + spreads[j] * noise * (0.5 * stretch).exp();
            }
            self.classes[row] = JUNK;
        }
    }

    /// Keeps every row of the first class of the task, a third of the second, a fifth of the third, and so on.
    fn make_rare(&mut self, task: &[usize]) {
        let mut seen = vec![0; task.len()];
        let keeps: Vec<bool> = self
            .classes
            .iter()
            .map(|class| {
                let Some(place) = task.iter().position(|of| of == class) else { return true };
                seen[place] += 1;
                (seen[place] - 1usize).is_multiple_of(1 + 2 * place)
            })
            .collect();
        let kept = |row: &usize| keeps[*row];
        let rows: Vec<usize> = (0..keeps.len()).filter(kept).collect();
        self.pool = rows.iter().flat_map(|&row| self.row(row)).copied().collect();
        self.classes = rows.iter().map(|&row| self.classes[row]).collect();
    }

    fn stretch(&mut self, rng: &mut ChaCha8Rng) {
        for values in [&mut self.pool, &mut self.targets, &mut self.test] {
            for row in values.chunks_exact_mut(self.dim) {
                let stretch: f32 = StandardNormal.sample(rng);
                row.iter_mut().for_each(|x| *x *= (0.5 * stretch).exp());
            }
        }
    }

    /// Picks rows with every setting.
    pub fn picks(&self, settings: &[Setting]) -> homing::Result<Vec<Vec<usize>>> {
        let mut views: Vec<View> = Vec::new();
        let mut all = Vec::new();
        for setting in settings {
            let is_for = |view: &View| (view.center, view.normalize) == (setting.center, setting.normalize);
            if !views.iter().any(is_for) {
                views.push(self.view(setting.center, setting.normalize)?);
            }
            let view = views.iter().find(|view| is_for(view)).expect("it was made above");
            all.push(self.picks_of(setting, view)?);
        }
        Ok(all)
    }

    fn view(&self, center: bool, normalize: bool) -> homing::Result<View> {
        let mean = Embeddings::new(&self.pool, self.dim)?.mean();
        let prepared = |values: &[f32]| -> homing::Result<Vec<f32>> {
            let mut rows = Embeddings::new(values, self.dim)?;
            if center {
                rows = rows.centered(&mean);
            }
            if normalize {
                rows = rows.normalized();
            }
            let mut values = vec![0.0; values.len()];
            rows.read(0..rows.rows(), &mut values);
            Ok(values.into_iter().map(|x| x as f32).collect())
        };
        Ok(View { center, normalize, pool: prepared(&self.pool)?, targets: prepared(&self.targets)? })
    }

    fn picks_of(&self, setting: &Setting, view: &View) -> homing::Result<Vec<usize>> {
        let task = Task::new(Embeddings::new(&view.pool, self.dim)?, Embeddings::new(&view.targets, self.dim)?);
        let kernel = kernel_named(setting.kernel, 0)?;
        let count = BUDGETS.iter().copied().max().unwrap_or(1).min(self.classes.len());
        let plan = Plan::default().strategy(setting.rule.parse()?).count(count).seed(self.seed);
        let plan = plan.noise(setting.noise.map_or(Noise::Auto, Noise::Relative));
        Ok(select(&task.kernel(&*kernel), &plan)?.rows())
    }

    /// Returns the accuracies of the probe after each of the [`BUDGETS`], for the picks of every setting.
    pub fn accuracies(&self, settings: &[Setting]) -> homing::Result<Vec<[f64; BUDGETS.len()]>> {
        let all = self.picks(settings)?;
        let probe = Probe::new(&self.pool, all.concat(), &self.test, &self.test_classes, self.dim);
        let of_picks = |picks: Vec<usize>| {
            BUDGETS.map(|budget| {
                let picks = &picks[..budget.min(picks.len())];
                let classes: Vec<usize> = picks.iter().map(|&row| self.classes[row]).collect();
                probe.accuracy(picks, &classes)
            })
        };
        Ok(all.into_iter().map(of_picks).collect())
    }
}

/// The rows of a scene, prepared in one way.
struct View {
    center: bool,
    normalize: bool,
    pool: Vec<f32>,
    targets: Vec<f32>,
}
