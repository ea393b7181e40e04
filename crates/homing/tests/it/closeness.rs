//! Whether a pool has rows like the targets.

use homing::diagnose::{Diagnosis, Offer, Question, closeness};
use homing::{Embeddings, Linear, Task};
use rand::RngExt;

use crate::oracle::rng;

const DIM: usize = 40;
const CLUSTERS: usize = 30;

/// Rows in clusters, and the number of each row's cluster.
fn rows(count: usize) -> (Vec<f32>, Vec<usize>) {
    let mut rng = rng(8);
    let mut random = || rng.random_range(-1.0f32..1.0);
    let centres: Vec<f32> = (0..CLUSTERS * DIM).map(|_| random()).collect();
    let clusters: Vec<usize> = (0..count).map(|row| row % CLUSTERS).collect();
    let of_cluster =
        |&cluster: &usize| (0..DIM).map(|j| centres[cluster * DIM + j] + 0.7 * random()).collect::<Vec<_>>();
    (clusters.iter().flat_map(of_cluster).collect(), clusters)
}

fn gather(data: &[f32], rows: impl Iterator<Item = usize>) -> Vec<f32> {
    rows.flat_map(|row| data[row * DIM..(row + 1) * DIM].iter().copied()).collect()
}

#[test]
fn fewer_rows_of_the_targets_kind_mean_less_closeness() {
    let (data, clusters) = rows(4000);
    let targets = gather(&data, (3900..4000).filter(|&row| clusters[row] < 2));
    let of = |kept: usize| {
        let mut left = [kept, kept];
        let keeps = |&row: &usize| {
            let Some(left) = left.get_mut(clusters[row]) else { return true };
            *left = left.saturating_sub(1);
            *left > 0
        };
        let pool = gather(&data, (0..3900).filter(keeps));
        let (pool, targets) = (Embeddings::new(&pool, DIM).unwrap(), Embeddings::new(&targets, DIM).unwrap());
        closeness(pool.into(), targets.into(), &Linear, 0).unwrap()
    };
    let [all, few, none] = [1000, 3, 1].map(of);
    assert_eq!(all.offer(), Offer::Rows, "{}", all.mean());
    assert!(all.mean() > few.mean() && few.mean() > none.mean(), "{} {} {}", all.mean(), few.mean(), none.mean());
    assert!(matches!(none.offer(), Offer::NoRows | Offer::FewRows), "{}", none.mean());
    assert!(all.cosine > none.cosine && all.chance < all.among_rows);
}

#[test]
fn noise_resembles_nothing_more_than_chance() {
    let mut rng = rng(9);
    let mut normal = || -> f32 { (0..6).map(|_| rng.random_range(-1.0f32..1.0)).sum() };
    let pool: Vec<f32> = (0..15_000 * DIM).map(|_| normal()).collect();
    let targets: Vec<f32> = (0..20 * DIM).map(|_| normal()).collect();
    let (pool, targets) = (Embeddings::new(&pool, DIM).unwrap(), Embeddings::new(&targets, DIM).unwrap());
    let found = closeness(pool.into(), targets.into(), &Linear, 0).unwrap();
    assert_eq!(found.offer(), Offer::Chance, "{found:?}");
}

#[test]
fn a_diagnosis_compares_picks_for_the_targets_with_random_rows_and_with_picks_for_rows() {
    let (data, clusters) = rows(1200);
    let pool = gather(&data, 0..1100);
    let targets = gather(&data, (1100..1200).filter(|&row| clusters[row] == 4));
    let (pool, targets) = (Embeddings::new(&pool, DIM).unwrap(), Embeddings::new(&targets, DIM).unwrap());
    let diagnosis = Diagnosis::new(&Question::new(Task::new(pool, targets)).count(15)).unwrap();
    let prospect = diagnosis.prospect;
    assert_eq!((prospect.count, diagnosis.offer()), (15, Some(Offer::Rows)));
    assert!(prospect.left < prospect.left_by_random, "{prospect:?}");
    assert!(prospect.left_of_rows.is_some_and(|left| left > prospect.left), "rows of all kinds need more picks");
    assert!(diagnosis.closeness_of(0).is_some() && diagnosis.without_rows().is_empty());
}
