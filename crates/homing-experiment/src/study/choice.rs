//! Chooses the setting that is best in the mean and in the worst case, and tests the choice on data that had no part in it.

use std::collections::{BTreeMap, BTreeSet};

use super::results::StudyRow;
use super::scene::SceneName;
use super::setting::{BASELINE, PAPER, PROGRAM, Setting, settings};

/// How a setting compares with the baseline, in points of accuracy.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The setting.
    pub setting: String,
    /// Mean accuracy in percent after each number of picks.
    pub accuracies: Vec<f64>,
    /// Mean difference from the baseline over all data sets.
    pub mean: f64,
    /// Standard error of that mean over the scenes.
    pub error: f64,
    /// The data set where the setting is worst against the baseline, and the mean difference there.
    pub worst: (String, f64),
    /// Mean difference on each data set.
    pub by_data: BTreeMap<String, f64>,
    /// Mean difference under each condition of the pool.
    pub by_condition: BTreeMap<String, f64>,
    /// Mean difference for each number of targets.
    pub by_targets: BTreeMap<usize, f64>,
    /// Mean difference on each data set for each number of targets.
    pub by_data_and_targets: BTreeMap<(String, usize), f64>,
    /// Difference in each scene.
    differences: BTreeMap<SceneName, f64>,
}

impl Score {
    /// Returns the number by which settings are chosen: the mean of the average case and the worst case.
    fn value(&self) -> f64 {
        0.5 * (self.mean + self.worst.1)
    }

    /// Returns by how much this setting is better than another in the scenes that both have seen, and the standard error.
    fn beyond(&self, other: &Self) -> (f64, f64) {
        let both = self.differences.iter().filter_map(|(scene, x)| Some(x - other.differences.get(scene)?));
        let both: Vec<f64> = both.collect();
        let average = mean(both.iter().copied());
        let variance = mean(both.iter().map(|x| (x - average).powi(2)));
        (average, (variance / both.len().max(1) as f64).sqrt())
    }
}

/// The chosen setting, which is good in the mean and in the worst case.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Its score.
    pub score: Score,
    /// The score of the best setting, which may differ by chance.
    pub best: Score,
    /// Number of scenes that it was chosen on.
    pub scenes: usize,
}

/// Result of a choice that was made without a data set, on that data set.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// The data set.
    pub data: String,
    /// The setting that was chosen on all others.
    pub setting: String,
    /// Its mean difference from the baseline on this data set, in points.
    pub difference: f64,
}

/// Returns the scores of all settings, best first.
pub fn scores(rows: &[StudyRow]) -> Vec<Score> {
    scores_of(&rows.iter().collect::<Vec<_>>())
}

fn scores_of(rows: &[&StudyRow]) -> Vec<Score> {
    let baseline: BTreeMap<_, _> =
        rows.iter().filter(|row| row.setting == BASELINE).map(|row| (row.scene(), row.accuracies())).collect();
    let mut by_setting: BTreeMap<&str, Vec<(&StudyRow, f64)>> = BTreeMap::new();
    let programs: BTreeMap<usize, String> =
        rows.iter().map(|row| (row.dim, Setting::of_program(row.dim).to_string())).collect();
    for row in rows {
        if let Some(base) = baseline.get(&row.scene()) {
            let differences = row.accuracies().into_iter().zip(base).map(|(one, base)| 100.0 * (one - base));
            let difference = mean(differences);
            by_setting.entry(&row.setting).or_default().push((row, difference));
            if row.setting == programs[&row.dim] {
                by_setting.entry(PROGRAM).or_default().push((row, difference));
            }
        }
    }
    let mut scores: Vec<Score> = by_setting.into_iter().map(|(setting, found)| score(setting, &found)).collect();
    scores.sort_by(|a, b| b.value().total_cmp(&a.value()));
    scores
}

fn score(setting: &str, found: &[(&StudyRow, f64)]) -> Score {
    let by_data = means(found.iter().map(|(row, difference)| (row.data.clone(), *difference)));
    let worst = by_data.iter().min_by(|a, b| a.1.total_cmp(b.1)).map(|(data, x)| (data.clone(), *x));
    let average = mean(by_data.values().copied());
    let variance = mean(found.iter().map(|(_, x)| (x - average).powi(2)));
    let budgets = found[0].0.accuracies().len();
    Score {
        setting: setting.to_owned(),
        accuracies: (0..budgets).map(|i| mean(found.iter().map(|(row, _)| 100.0 * row.accuracies()[i]))).collect(),
        mean: average,
        error: (variance / found.len() as f64).sqrt(),
        worst: worst.expect("a setting has at least one row"),
        by_data,
        by_condition: means(found.iter().map(|(row, x)| (row.condition.clone(), *x))),
        by_targets: means(found.iter().map(|(row, x)| (row.targets, *x))),
        by_data_and_targets: means(found.iter().map(|(row, x)| ((row.data.clone(), row.targets), *x))),
        differences: found.iter().map(|(row, x)| (row.scene(), *x)).collect(),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
    sum / f64::from(count.max(1))
}

fn means<K: Ord>(values: impl Iterator<Item = (K, f64)>) -> BTreeMap<K, f64> {
    let mut all: BTreeMap<K, Vec<f64>> = BTreeMap::new();
    for (key, value) in values {
        all.entry(key).or_default().push(value);
    }
    all.into_iter().map(|(key, values)| (key, mean(values.into_iter()))).collect()
}

/// Returns the settings that may still be the best after some scenes. A setting is dropped once it is, in the mean, more than a
/// point and more than three standard errors of the difference worse than the best one. The baselines, the program's
/// defaults and the paper's settings stay.
pub fn worth_more_scenes(rows: &[StudyRow], settings: Vec<Setting>) -> Vec<Setting> {
    let scores = scores(rows);
    let Some(best) = scores.iter().max_by(|a, b| a.mean.total_cmp(&b.mean)) else { return settings };
    let programs: BTreeSet<String> = rows.iter().map(|row| Setting::of_program(row.dim).to_string()).collect();
    let is_worth = |setting: &Setting| {
        let name = setting.to_string();
        let stays = setting.noise.is_none() || name == PAPER || programs.contains(&name);
        let Some(score) = scores.iter().find(|score| score.setting == name).filter(|_| !stays) else { return true };
        let (behind, error) = best.beyond(score);
        behind <= 1.0 || behind <= 3.0 * error
    };
    settings.into_iter().filter(is_worth).collect()
}

/// Chooses a setting by the mean of two numbers: its mean difference from the baseline, and that on its worst data set. Of all
/// settings within a standard error of the largest, the program's defaults are chosen, or else the first in the list of
/// [`settings`], so `itl`, the paper's rule with a guarantee, comes before the others. Settings that have not seen all scenes are not chosen. Returns none if there
/// are no results.
pub fn choose(rows: &[StudyRow]) -> Option<Choice> {
    choose_from(&rows.iter().collect::<Vec<_>>())
}

fn choose_from(rows: &[&StudyRow]) -> Option<Choice> {
    let scenes = rows.iter().map(|row| row.scene()).collect::<BTreeSet<_>>().len();
    let is_setting = |score: &Score| {
        let is_baseline = score.setting.parse::<Setting>().is_ok_and(|setting| setting.noise.is_none());
        !is_baseline && score.differences.len() == scenes
    };
    let scores: Vec<Score> = scores_of(rows).into_iter().filter(is_setting).collect();
    let best = scores.first()?.clone();
    let all: Vec<String> = settings(false).iter().map(ToString::to_string).collect();
    let as_good = scores.into_iter().filter(|score| best.value() - score.value() <= best.beyond(score).1);
    // The program's defaults are not in the list, and come first.
    let score = as_good.min_by_key(|score| all.iter().position(|setting| *setting == score.setting))?;
    Some(Choice { score, best, scenes })
}

/// Chooses without each data set in turn, and tests the choice on it.
pub fn held_out(rows: &[StudyRow]) -> Vec<HeldOut> {
    let names: BTreeSet<&str> = rows.iter().map(|row| &*row.data).collect();
    if names.len() < 2 {
        return Vec::new();
    }
    let test = |data: &&str| {
        let (own, others): (Vec<&StudyRow>, Vec<&StudyRow>) = rows.iter().partition(|row| row.data == **data);
        let setting = choose_from(&others)?.score.setting;
        let difference = scores_of(&own).into_iter().find(|score| score.setting == setting)?.mean;
        Some(HeldOut { data: (**data).to_owned(), setting, difference })
    };
    names.iter().filter_map(test).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(data: &str, draw: u64, setting: &str, accuracy: f64) -> StudyRow {
        StudyRow {
            data: data.into(),
            dim: 384,
            draw,
            targets: 3,
            condition: "as it is".into(),
            setting: setting.into(),
            accuracy_10: accuracy,
            accuracy_20: accuracy,
            accuracy_50: accuracy,
            accuracy_100: accuracy,
        }
    }

    /// The committed results lead to the defaults of the program, and a choice without any one data set does well on it.
    #[test]
    fn the_committed_study_chooses_the_defaults() {
        let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/study/defaults.csv");
        let rows = crate::study::read_study(std::path::Path::new(table)).unwrap();
        let choice = choose(&rows).unwrap();
        assert_eq!((&*choice.score.setting, choice.scenes), (PROGRAM, 144));
        assert!(choice.score.mean > 3.0 && choice.score.worst.1 > 0.0, "{:?}", choice.score);
        let held = held_out(&rows);
        assert_eq!(held.len(), 8);
        assert!(held.iter().all(|held| held.difference > -1.0), "{held:?}");
    }

    #[test]
    fn settings_far_behind_see_no_more_scenes() {
        let [good, fair, bad] =
            ["itl, ρ² = 0.3 ×, rows centred", "vtl, ρ² = 0.3 ×, rows centred", "ctl, ρ² = 0.3 ×, rows centred"];
        let mut rows = Vec::new();
        for draw in 0..10 {
            for (setting, accuracy) in [(BASELINE, 0.5), (good, 0.6), (fair, 0.595), (bad, 0.55), (PAPER, 0.2)] {
                rows.push(row("a", draw, setting, accuracy));
            }
        }
        let names = |settings: Vec<Setting>| settings.iter().map(ToString::to_string).collect::<Vec<_>>();
        let all: Vec<Setting> = [BASELINE, good, fair, bad, PAPER].map(|name| name.parse().unwrap()).to_vec();
        assert_eq!(names(worth_more_scenes(&rows, all)), [BASELINE, good, fair, PAPER]);
        rows.push(row("a", 10, BASELINE, 0.5));
        assert!(choose(&rows).is_none(), "no setting has seen all scenes");
    }

    #[test]
    fn the_choice_weighs_the_mean_and_the_worst_data_set() {
        let [bold, safe] = ["vtl, ρ² = 10 ×, rows as they are", "itl, ρ² = 1 ×, rows centred and of unit length"];
        let mut rows = Vec::new();
        for (data, of_bold, of_safe) in [("a", 0.9, 0.6), ("b", 0.3, 0.54)] {
            for draw in 0..2 {
                rows.push(row(data, draw, BASELINE, 0.5));
                rows.push(row(data, draw, bold, of_bold));
                rows.push(row(data, draw, safe, of_safe));
            }
        }
        // In the mean +10 and +7, on the worst data set −20 and +4. With rows of 384 numbers, the safe one is the program's.
        let choice = choose(&rows).unwrap();
        assert_eq!((&*choice.score.setting, choice.scenes), (PROGRAM, 4));
        assert!((choice.score.mean - 7.0).abs() < 1e-9 && (choice.score.worst.1 - 4.0).abs() < 1e-9);
        let held = held_out(&rows);
        assert_eq!(held.iter().map(|held| &*held.setting).collect::<Vec<_>>(), [PROGRAM, bold]);
        assert!((held[1].difference + 20.0).abs() < 1e-9);
        assert_eq!(choose(&rows[..1]), None);
    }
}
