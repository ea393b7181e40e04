//! Explanations of picks.

use homing::{Noise, Plan, TargetStory, Task, closest_pick, explain};

use crate::oracle::{points, rng, run, uniform_rows, view};

#[test]
fn shares_and_stories_add_up() {
    let mut rng = rng(21);
    let (pool, targets) = (view(&uniform_rows(&mut rng, 300, 6)), view(&uniform_rows(&mut rng, 3, 6)));
    let task = Task::new(points(&pool, 6), points(&targets, 6));
    let selection = run(&task, &Plan::default().count(10).noise(Noise::Std(0.3)));
    let explanation = explain(&task, &selection).unwrap();
    for reason in &explanation.picks {
        let shares: f64 = reason.serves.iter().map(|(_, share)| share).sum();
        assert!((shares - 1.0).abs() < 1e-9, "three targets, three shares: {reason:?}");
        assert!(reason.serves.is_sorted_by(|a, b| a.1 >= b.1));
        assert!(reason.nearest.iter().all(|(_, cosine)| cosine.abs() <= 1.0 + 1e-12));
    }
    let removed: f64 = explanation.picks.iter().map(|reason| reason.variance_removed).sum();
    let lost: f64 = explanation.targets.iter().map(|story| story.start_var - story.var).sum();
    assert!((removed - lost).abs() < 1e-9);
    let total = |var: fn(&TargetStory) -> f64| explanation.targets.iter().map(var).sum::<f64>();
    let left = total(|story| story.var) / total(|story| story.start_var);
    assert!((left - selection.picks[9].variance_left.unwrap()).abs() < 1e-9);
}

#[test]
fn a_near_duplicate_is_credited_to_its_pick() {
    let mut rng = rng(22);
    let mut s = uniform_rows(&mut rng, 100, 8);
    let a = uniform_rows(&mut rng, 2, 8);
    let (pool, targets) = (view(&s), view(&a));
    let task = Task::new(points(&pool, 8), points(&targets, 8));
    let plan = Plan::default().count(3).noise(Noise::Std(0.1));
    let first = run(&task, &plan).rows()[0];
    let twin = (first + 50) % 100;
    s[twin] = s[first].iter().map(|x| x * 1.01).collect();
    let pool = view(&s);
    let task = task.pool(points(&pool, 8));
    let selection = run(&task, &plan);
    let (taken, left) = if selection.rows()[0] == twin { (twin, first) } else { (first, twin) };
    assert_eq!(selection.rows()[0], taken);
    assert!(!selection.rows().contains(&left), "the twin adds nothing");
    let explanation = explain(&task, &selection).unwrap();
    assert_eq!(explanation.picks[0].redundant, 1);
    let (row, cosine) = explanation.picks[0].redundant_example.unwrap();
    assert!(row == left && (cosine - 1.0).abs() < 1e-12);
    assert_eq!(closest_pick(&task, &selection, left).unwrap().0, 1);
}
