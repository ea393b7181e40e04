//! Whether a pool has rows like the targets: how near their nearest rows are, compared with how near those rows and others
//! around the targets are to their own nearest rows, and with chance.

use rayon::prelude::*;

use super::NEAR;
use crate::base::random::sample_rows;
use crate::shard::BLOCK;
use crate::{Kernel, Points};

/// Number of nearest rows that are compared.
const NEAREST: usize = 5;

/// Number of rows around a target whose nearest rows are compared with the target's, and the share of the pool, or of a sample
/// of this size, that counts as around it.
const AROUND: usize = 10;
const AROUND_SHARE: f64 = 0.03;
const AROUND_SAMPLE: usize = 2000;

/// Smallest pool for which chance can be told from resemblance.
pub const FEWEST_ROWS: usize = 100;

/// Largest number of targets that are looked at, and largest number of cosines that are computed.
const MOST_TARGETS: usize = 100;
const MOST_COSINES: usize = 1 << 28;

/// Degrees of freedom of the cosines below which chance alone makes rows near one another, so that nearness says nothing.
/// Pools of few kinds of rows have few, whatever their dimensions.
const LEAST_FREEDOM: f64 = 10.0;

/// Cosine beyond chance, as a share of what chance leaves, below which rows resemble one another by chance alone.
const STRUCTURE: f64 = 0.05;

/// Rank of the other target up to which rows are counted around a target, or the share of all targets if that is more; the number
/// of rows that is as many as can be asked for; and the share that stands for them if there are too few targets to count.
const COMPANY_RANK: usize = 2;
const COMPANY_SHARE: f64 = 0.1;
const COMPANY: f64 = 19.0;
const USUAL_COMPANY: f64 = 0.8;

/// Closeness from which a pool has rows like the targets, and below which it has none. They were chosen on tasks of CLINC150,
/// banking77 and CIFAR-100 whose rows were removed at 0, 50, 90 and 100 %; `bench/diagnosis.py` measures how well they tell such
/// pools apart on other tasks.
const PRESENT: f64 = 0.65;
const ABSENT: f64 = 0.5;

/// What a pool offers to the targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Rows like the targets.
    Rows,
    /// Few rows like the targets, or rows that are only somewhat like them.
    FewRows,
    /// No rows like the targets.
    NoRows,
    /// Rows that resemble nothing more than chance would, neither the targets nor one another.
    Chance,
}

impl Offer {
    /// Returns its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Offer::Rows => "rows",
            Offer::FewRows => "few-rows",
            Offer::NoRows => "no-rows",
            Offer::Chance => "chance",
        }
    }
}

/// How near a target's nearest rows are.
///
/// ```
/// use homing::diagnose::closeness;
/// use homing::{Embeddings, Linear};
///
/// let pool: Vec<f64> = (0..10_000).map(|i| (f64::from(i) * 1.7).sin() * (f64::from(i * i % 9973)).cos()).collect(); // 200 rows
/// let targets = pool[..100].to_vec(); // two of them
/// let found = closeness(Embeddings::new(&pool, 50)?.into(), Embeddings::new(&targets, 50)?.into(), &Linear, 0);
/// let target = &found.expect("the pool is large enough").targets[1];
/// assert!(target.row == 1 && target.nearest.1 > 0.999);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetCloseness {
    /// Row among the targets, starting at 0.
    pub row: usize,
    /// The nearest row of the pool, and its cosine with the target.
    pub nearest: (usize, f64),
    /// How near the target's nearest rows are, from 0 to 1: the mean of two shares. One is 1 if they are as near to the target
    /// as their own nearest rows are to them, and 0 if they are no nearer than chance would make them. The other is the share
    /// of the rows around the target whose nearest row is farther from them than the target's is from it. It is 0 if rows
    /// resemble one another by chance alone.
    pub closeness: f64,
}

/// How near the nearest rows of the targets are.
///
/// ```
/// use homing::diagnose::{Offer, closeness};
/// use homing::{Embeddings, Linear};
///
/// // 750 rows in 25 bundles, and a target in the direction of one bundle.
/// let row = |i: u32| (0..25).map(move |j| f64::from(u8::from(i % 25 == j)) + 0.1 * f64::from(i * 7 + j * j).sin());
/// let (pool, target): (Vec<f64>, Vec<f64>) = ((0..750).flat_map(row).collect(), row(1003).collect());
/// let found = closeness(Embeddings::new(&pool, 25)?.into(), Embeddings::new(&target, 25)?.into(), &Linear, 0);
/// assert_eq!(found.expect("the pool is large enough").offer(), Offer::Rows);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Closeness {
    /// The targets that were looked at: all, or a sample.
    pub targets: Vec<TargetCloseness>,
    /// Mean cosine of the targets with their nearest rows.
    pub cosine: f64,
    /// Mean cosine of those rows with their own nearest rows.
    pub among_rows: f64,
    /// Mean cosine with the nearest rows that chance would give: that of as many random rows with the same mean and spread of
    /// cosines.
    pub chance: f64,
    /// How many rows are nearer to a target than its second-nearest other target (with more than 20 targets, than a tenth of
    /// them), from 0 for none to 1 for 19 or more, on a logarithmic scale, in the mean; none for fewer than three targets.
    pub company: Option<f64>,
}

impl Closeness {
    /// Returns the closeness of the targets as a whole, from 0 to 1: two thirds of it are the mean closeness of the targets, and
    /// one third is [`Closeness::company`]. It is 0 if rows resemble one another by chance alone.
    pub fn mean(&self) -> f64 {
        if self.is_chance() {
            return 0.0;
        }
        let own = self.targets.iter().map(|target| target.closeness).sum::<f64>() / self.targets.len() as f64;
        (2.0 * own + self.company.unwrap_or(USUAL_COMPANY)) / 3.0
    }

    /// Whether rows resemble one another by chance alone.
    fn is_chance(&self) -> bool {
        !is_beyond(self.among_rows, self.chance)
    }

    /// Says what the pool offers to the targets.
    pub fn offer(&self) -> Offer {
        match self.mean() {
            _ if self.is_chance() => Offer::Chance,
            mean if mean >= PRESENT => Offer::Rows,
            mean if mean >= ABSENT => Offer::FewRows,
            _ => Offer::NoRows,
        }
    }
}

fn is_beyond(cosine: f64, chance: f64) -> bool {
    cosine - chance > STRUCTURE * (1.0 - chance).max(0.0)
}

/// Measures how near the nearest rows of the targets are. Returns `None` if nearness says nothing: for a pool of fewer
/// than 100 rows, or one whose rows fill few dimensions.
///
/// ```
/// use homing::diagnose::closeness;
/// use homing::{Embeddings, Linear};
///
/// let few = [1.0, 0.0, 0.0, 1.0];
/// assert!(closeness(Embeddings::new(&few, 2)?.into(), Embeddings::new(&few, 2)?.into(), &Linear, 0).is_none());
/// # Ok::<(), homing::Error>(())
/// ```
pub fn closeness(pool: Points<'_>, targets: Points<'_>, kernel: &dyn Kernel, seed: u64) -> Option<Closeness> {
    let rows = pool.rows();
    if rows < FEWEST_ROWS {
        return None;
    }
    let most = (MOST_COSINES / rows / (1 + NEAREST + AROUND)).clamp(1, MOST_TARGETS);
    let mut chosen = sample_rows(targets.rows(), most, seed);
    chosen.sort_unstable();
    let points = targets.gather(&chosen);
    let radii = company_radii(kernel, &points, pool.dim());
    let of_targets = nearest(pool, kernel, &points, radii.as_deref(), None);
    let freedom = of_targets.iter().map(|found| found.freedom).sum::<f64>() / of_targets.len() as f64;
    if freedom < LEAST_FREEDOM {
        return None;
    }
    let around = rows_around(pool, kernel, &points, seed);
    let neighbours = of_targets.iter().flat_map(|found| found.rows.iter().map(|near| near.0));
    let mut compared: Vec<usize> = neighbours.chain(around.iter().flatten().copied()).collect();
    compared.sort_unstable();
    compared.dedup();
    let of_rows = nearest(pool, kernel, &pool.gather(&compared), None, Some(&compared));
    let of_row = |row: usize| &of_rows[compared.binary_search(&row).expect("it was looked up")];
    let mean = |values: &mut dyn Iterator<Item = f64>| {
        let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
        if count > 0.0 { sum / count } else { 0.0 }
    };
    let among = |found: &Nearest| mean(&mut found.rows.iter().map(|near| of_row(near.0).mean()));
    let target = |((&row, found), around): ((&usize, &Nearest), &Vec<usize>)| {
        let (own, chance, nearest) = (among(found), found.chance, found.rows[0]);
        let near = if is_beyond(own, chance) { (found.mean() - chance) / (own - chance) } else { 0.0 };
        let is_farther = |&row: &usize| f64::from(u8::from(of_row(row).first() < nearest.1));
        let usual = mean(&mut around.iter().map(is_farther));
        TargetCloseness { row, nearest, closeness: f64::midpoint(near.clamp(0.0, 1.0), usual) }
    };
    let mut closeness = Closeness {
        targets: chosen.iter().zip(&of_targets).zip(&around).map(target).collect(),
        cosine: mean(&mut of_targets.iter().map(Nearest::mean)),
        among_rows: mean(&mut of_targets.iter().map(among)),
        chance: mean(&mut of_targets.iter().map(|found| found.chance)),
        company: radii.is_some().then(|| mean(&mut of_targets.iter().map(Nearest::company))),
    };
    if closeness.is_chance() {
        closeness.targets.iter_mut().for_each(|target| target.closeness = 0.0);
    }
    Some(closeness)
}

/// The nearest rows of one point, nearest first.
struct Nearest {
    rows: Vec<(usize, f64)>,
    within: usize,
    chance: f64,
    freedom: f64,
}

impl Nearest {
    fn mean(&self) -> f64 {
        self.rows.iter().map(|near| near.1).sum::<f64>() / self.rows.len().max(1) as f64
    }

    fn company(&self) -> f64 {
        ((1.0 + self.within as f64).ln() / (1.0 + COMPANY).ln()).min(1.0)
    }

    fn first(&self) -> f64 {
        self.rows.first().map_or(f64::NEG_INFINITY, |near| near.1)
    }

    fn keep_best(rows: &mut Vec<(usize, f64)>) {
        rows.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        rows.truncate(NEAREST);
    }
}

/// Returns each target's cosine with the other target up to which rows are counted; none if a target has too few others.
/// Near-duplicates do not count.
fn company_radii(kernel: &dyn Kernel, points: &[f64], dim: usize) -> Option<Vec<f64>> {
    let stds: Vec<f64> = points.chunks_exact(dim).map(|x| kernel.var(x).sqrt()).collect();
    let count = stds.len();
    let rank = COMPANY_RANK.max((COMPANY_SHARE * count as f64) as usize);
    let mut covs = vec![0.0; count * count];
    kernel.block(points, points, dim, &mut covs);
    let of_rank = |(i, covs): (usize, &[f64])| {
        let cosine = |j: usize| if stds[i] * stds[j] > 0.0 { covs[j] / (stds[i] * stds[j]) } else { 0.0 };
        let mut others: Vec<f64> = (0..count).filter(|&j| j != i).map(cosine).filter(|cosine| *cosine < NEAR).collect();
        others.sort_unstable_by(|a, b| b.total_cmp(a));
        others.get(rank - 1).copied()
    };
    covs.chunks_exact(count).enumerate().map(of_rank).collect()
}

/// Returns some rows around each point, at equal steps of rank among the nearest rows of a sample.
fn rows_around(pool: Points<'_>, kernel: &dyn Kernel, points: &[f64], seed: u64) -> Vec<Vec<usize>> {
    let mut sample = sample_rows(pool.rows(), AROUND_SAMPLE, seed);
    sample.sort_unstable();
    let (count, dim, values) = (sample.len(), pool.dim(), pool.gather(&sample));
    let stds: Vec<f64> = kernel.vars(&values, dim).into_iter().map(f64::sqrt).collect();
    let mut covs = vec![0.0; count * points.len() / dim];
    kernel.block(&values, points, dim, &mut covs);
    let step = ((AROUND_SHARE * count as f64) as usize / AROUND).max(2);
    let around = |covs: &[f64]| {
        let cosine = |i: usize| if stds[i] > 0.0 { covs[i] / stds[i] } else { f64::NEG_INFINITY };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_unstable_by(|&i, &j| cosine(j).total_cmp(&cosine(i)).then(i.cmp(&j)));
        (1..=AROUND).map(|i| sample[order[i * step - 1]]).collect()
    };
    covs.chunks_exact(count).map(around).collect()
}

/// Finds the nearest rows of some points, in one pass, and counts the rows whose cosine exceeds that of `radii`. If the points
/// are rows themselves, they and their near-duplicates do not count.
fn nearest(
    pool: Points<'_>,
    kernel: &dyn Kernel,
    points: &[f64],
    radii: Option<&[f64]>,
    own: Option<&[usize]>,
) -> Vec<Nearest> {
    let (rows, dim) = (pool.rows(), pool.dim());
    let norms: Vec<f64> = points.chunks_exact(dim).map(|x| kernel.var(x).sqrt()).collect();
    let in_block = |block: usize| {
        let range = block * BLOCK..rows.min((block + 1) * BLOCK);
        let (start, count) = (range.start, range.len());
        let mut values = vec![0.0; count * dim];
        pool.read(range, &mut values);
        let stds: Vec<f64> = kernel.vars(&values, dim).into_iter().map(f64::sqrt).collect();
        let mut covs = vec![0.0; count * norms.len()];
        kernel.block(&values, points, dim, &mut covs);
        let of_point = |(j, covs): (usize, &[f64])| {
            let size = |i: usize| norms[j] * stds[i];
            let cosine = |i: usize| if size(i) > 0.0 { covs[i] / size(i) } else { 0.0 };
            let cosines: Vec<f64> = (0..count).map(cosine).collect();
            let (sum, squares) = cosines.iter().fold((0.0, 0.0), |(s, q), c| (s + c, q + c * c));
            let radius = radii.map_or(f64::INFINITY, |radii| radii[j]);
            let within = cosines.iter().filter(|cosine| **cosine > radius).count();
            let counts = |&(i, cosine): &(usize, f64)| match own {
                Some(own) => own[j] != start + i && cosine < NEAR,
                None => true,
            };
            let mut best: Vec<(usize, f64)> = cosines.into_iter().enumerate().filter(counts).collect();
            Nearest::keep_best(&mut best);
            best.iter_mut().for_each(|near| near.0 += start);
            (sum, squares, best, within)
        };
        covs.chunks_exact(count).enumerate().map(of_point).collect::<Vec<_>>()
    };
    let blocks: Vec<Vec<_>> = (0..rows.div_ceil(BLOCK)).into_par_iter().map(in_block).collect();
    let of_point = |j: usize| {
        let (sum, squares) = blocks.iter().fold((0.0, 0.0), |(s, q), block| (s + block[j].0, q + block[j].1));
        let mut best: Vec<(usize, f64)> = blocks.iter().flat_map(|block| block[j].2.iter().copied()).collect();
        Nearest::keep_best(&mut best);
        let mean = sum / rows as f64;
        let spread = (squares / rows as f64 - mean * mean).max(0.0).sqrt();
        let freedom = freedom(mean, spread);
        let within = blocks.iter().map(|block| block[j].3).sum();
        Nearest { rows: best, within, chance: chance_of(mean, freedom, rows), freedom }
    };
    (0..norms.len()).map(of_point).collect()
}

/// Returns the degrees of freedom of cosines with this mean and spread.
///
/// The mean comes from what all rows share. What is left of them has random directions in n dimensions, where n follows from
/// the spread, and n − 1 degrees of freedom.
fn freedom(mean: f64, spread: f64) -> f64 {
    (((1.0 - mean) / spread.max(f64::EPSILON)).powi(2) - 1.0).max(1.0)
}

/// Returns the expected mean of the largest [`NEAREST`] cosines of `count` random rows. Beyond what all rows share, for a
/// cosine r of random directions r√(ν / (1 − r²)) has Student's distribution with ν degrees of freedom. The positions of the
/// largest are Blom's.
fn chance_of(mean: f64, freedom: f64, count: usize) -> f64 {
    let of_rank = |rank: usize| {
        let t = student((rank as f64 - 0.375) / (count as f64 + 0.25), freedom);
        t / t.hypot(freedom.sqrt())
    };
    mean + (1.0 - mean) * (1..=NEAREST).map(of_rank).sum::<f64>() / NEAREST as f64
}

/// Returns the number that a number of Student's distribution exceeds with probability p ≤ ½ (Abramowitz and Stegun, 26.7.5).
fn student(p: f64, freedom: f64) -> f64 {
    let z = upper_quantile(p);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    z + first / freedom + second / freedom.powi(2)
}

/// Returns the number that a standard normal number exceeds with probability p ≤ ½, to three digits (Hastings 1955).
fn upper_quantile(p: f64) -> f64 {
    let t = (-2.0 * p.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_normal_distribution() {
        for (p, want) in [(0.5, 0.0), (0.1, 1.2816), (0.025, 1.96), (1e-4, 3.7190)] {
            assert!((upper_quantile(p) - want).abs() < 5e-4, "{p}");
        }
        // The largest five of a thousand lie around 2.8.
        // In very many dimensions, cosines are normal: the mean of the five largest of 1,000 is 2.8 spreads above the mean.
        assert!((0.027..0.029).contains(&chance_of(0.0, freedom(0.0, 0.01), 1000)));
        // In three dimensions a cosine is uniform, and the five largest of 1,000 are near 1.
        assert!((0.98..1.0).contains(&chance_of(0.0, freedom(0.0, (1.0f64 / 3.0).sqrt()), 1000)));
    }
}
