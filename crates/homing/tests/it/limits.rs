//! Forbidden rows, quotas, costs, stopping rules.

use homing::{EndReason, Error, Noise, Plan, Stop, Task, irreducible_vars, select};

use crate::oracle::{points, rng, run, uniform_rows, view};

struct Data(Vec<f64>, Vec<f64>);

fn data() -> Data {
    let mut rng = rng(8);
    Data(view(&uniform_rows(&mut rng, 100, 5)), view(&uniform_rows(&mut rng, 3, 5)))
}

impl Data {
    fn task(&self) -> Task<'_> {
        Task::new(points(&self.0, 5), points(&self.1, 5))
    }
}

#[test]
fn a_forbidden_row_is_replaced_by_the_greedy_choice_without_it() {
    let data = data();
    let plan = Plan::default().count(10);
    let free = run(&data.task(), &plan).rows();
    let forbidden = [free[0], free[3]];
    let limited = run(&data.task().forbidden(&forbidden), &plan).rows();
    assert!(limited.iter().all(|row| !forbidden.contains(row)));
    let others: Vec<usize> = (0..100).filter(|row| !forbidden.contains(row)).collect();
    let kept: Vec<f64> = others.iter().flat_map(|&row| data.0[row * 5..(row + 1) * 5].to_vec()).collect();
    let without = data.task().pool(points(&kept, 5));
    let noise = Noise::Std(run(&data.task(), &plan).noise_var.sqrt());
    let plan = plan.noise(noise);
    let want: Vec<usize> = run(&without, &plan).rows().into_iter().map(|row| others[row]).collect();
    assert_eq!(limited, want);
}

#[test]
fn quotas_hold_group_by_group() {
    let data = data();
    let groups: Vec<usize> = (0..100).map(|row| row % 4).collect();
    for rule in ["itl", "cosine", "random"] {
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(20).quotas(vec![2, 0, 3]);
        let picks = run(&data.task().groups(&groups), &plan).rows();
        let of = |group: usize| picks.iter().filter(|&&row| groups[row] == group).count();
        assert_eq!((of(0), of(1), of(2), of(3)), (2, 0, 3, 15), "{rule}: group 3 has no limit");
    }
    let plan = Plan::default().count(20).quotas(vec![2, 2, 2, 2]);
    let selection = run(&data.task().groups(&groups), &plan);
    assert_eq!((selection.picks.len(), selection.end_reason), (8, EndReason::Limits));
}

#[test]
fn a_budget_is_kept_and_scores_are_per_cost() {
    let data = data();
    let costs: Vec<f64> = (0..100).map(|row| 1.0 + f64::from(row % 7)).collect();
    for rule in ["itl", "ctl", "k-means++", "cosine"] {
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(100).budget(20.0);
        let selection = run(&data.task().costs(&costs), &plan);
        let spent: f64 = selection.rows().iter().map(|&row| costs[row]).sum();
        assert!(spent <= 20.0 && spent > 13.0, "{rule} spends what it can: {spent}");
        assert_eq!(selection.end_reason, EndReason::Limits);
    }
    // The first pick has the most information per cost.
    let plan = Plan::default().count(1);
    let scores: Vec<f64> = (0..100)
        .map(|row| {
            let others: Vec<usize> = (0..100).filter(|&other| other != row).collect();
            run(&data.task().forbidden(&others), &plan).picks[0].score / costs[row]
        })
        .collect();
    let best = run(&data.task().costs(&costs), &plan).rows()[0];
    assert!(scores.iter().all(|&score| score <= scores[best]));
}

#[test]
fn the_least_gain_ends_the_selection_before_the_pick_that_misses_it() {
    let data = data();
    let all = run(&data.task(), &Plan::default().count(30));
    let least = 0.5 * (all.picks[7].score + all.picks[8].score);
    let stop = Stop { min_gain: Some(least), ..Stop::default() };
    let selection = run(&data.task(), &Plan::default().count(30).stop(stop));
    assert_eq!(selection.end_reason, EndReason::Gain);
    assert_eq!(selection.picks, all.picks[..8]);
}

#[test]
fn enough_of_the_reducible_variance() {
    // The pool has three dimensions and the targets four, so a part of their variance is out of reach.
    let mut rng = rng(6);
    let pool: Vec<f64> = uniform_rows(&mut rng, 50, 3).into_iter().flat_map(|r| [r[0], r[1], r[2], 0.0]).collect();
    let targets = view(&uniform_rows(&mut rng, 5, 4));
    let task = Task::new(points(&pool, 4), points(&targets, 4));
    let stop = Stop { reduced_share: Some(0.9), ..Stop::default() };
    let selection = run(&task, &Plan::default().count(50).noise(Noise::Std(0.01)).stop(stop));
    assert_eq!(selection.end_reason, EndReason::Variance);
    let total: f64 = targets.iter().map(|x| x * x).sum();
    let floor: f64 = irreducible_vars(task.pool, task.targets.unwrap(), task.kernel).unwrap().iter().sum();
    let left = |pick: usize| selection.picks[pick].variance_left.unwrap() * total;
    let last = selection.picks.len() - 1;
    assert!(floor > 0.1 && (total - left(last)) / (total - floor) >= 0.9);
    assert!((total - left(last - 1)) / (total - floor) < 0.9, "one pick fewer was not enough");
}

#[test]
fn invalid_counts_and_settings_are_refused() {
    let data = data();
    let refused = |task: Task<'_>, plan: Plan| select(&task, &plan).unwrap_err();
    for count in [0, 101] {
        let plan = Plan::default().count(count);
        assert_eq!(refused(data.task(), plan), Error::Count { count, available: 100 });
    }
    let forbidden: Vec<usize> = (0..95).collect();
    let plan = Plan::default().count(6);
    assert_eq!(refused(data.task().forbidden(&forbidden), plan), Error::Count { count: 6, available: 5 });
    for noise in [Noise::Std(-1.0), Noise::Std(f64::NAN), Noise::Std(0.0), Noise::Relative(-0.1)] {
        assert!(matches!(refused(data.task(), Plan::default().noise(noise)), Error::Setting { .. }));
    }
    let narrow = [1.0, 2.0];
    let error = refused(data.task().targets(Some(points(&narrow, 2))), Plan::default());
    assert_eq!(error, Error::Dimension { what: "targets", got: 2, pool: 5 });
    assert!(matches!(
        refused(data.task().observed_rows(&[100]), Plan::default()),
        Error::NoSuchRow { row: 100, rows: 100, .. }
    ));
    let mut bad = data.0.clone();
    bad[5 * 63] = f64::NAN;
    assert_eq!(refused(data.task().pool(points(&bad, 5)), Plan::default()), Error::NotFinite { what: "pool", row: 63 });
}

#[test]
fn rows_are_repeated_only_on_request() {
    let pool = [1.0, 0.0, 0.0, 1.0];
    let target = [1.0, 0.05];
    let task = Task::new(points(&pool, 2), points(&target, 2));
    let plan = Plan::default().count(5).repeat(true).noise(Noise::Std(3.0));
    assert_eq!(run(&task, &plan).rows(), [0, 0, 0, 0, 0], "under much noise, a row is worth repeating");
}
