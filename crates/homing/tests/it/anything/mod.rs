//! Every task and plan gives a valid selection or an error in one sentence: random ones, sensible and absurd.

mod draw;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use homing::{Embeddings, Error, Kernel, Linear, Plan, Points, Precomputed, Selection, Task, select_with};
use proptest::prelude::*;

use crate::oracle::cases;
use draw::{CLASSES, Data, Draw};

/// Number of picks after which a selection that may be endless is stopped.
const ENOUGH: usize = 50;

impl Data {
    fn select(&self, plan: &Plan) -> homing::Result<Selection> {
        let matrix = match &self.matrix {
            Some(matrix) => {
                let side = matrix.len().isqrt();
                Some(Precomputed::new(Embeddings::new(&matrix[..], side)?)?)
            }
            None => None,
        };
        let kernel: &dyn Kernel = match (&matrix, &self.kernel) {
            (Some(matrix), _) => matrix,
            (None, Some(kernel)) => &**kernel,
            (None, None) => &Linear,
        };
        let mut task = Task::undirected(view(&self.pool, self.dim)?)
            .targets(self.targets.as_ref().map(|targets| view(targets, self.target_dim)).transpose()?)
            .kernel(kernel)
            .observed_rows(&self.observed_rows)
            .observed_points(self.observed_points.as_ref().map(|points| view(points, self.dim)).transpose()?)
            .probabilities(match &self.probabilities {
                Some(values) => Some(Embeddings::new(&values[..], CLASSES)?),
                None => None,
            })
            .forbidden(&self.forbidden);
        task.noise_vars = self.noise_vars.as_deref();
        task.costs = self.costs.as_deref();
        task.groups = self.groups.as_deref();
        let mut made = 0;
        let selection = select_with(&task, plan, |_| {
            made += 1;
            if made < ENOUGH { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        plan.greedy.guarantee(&task, plan);
        homing::explain(&task, &selection)?;
        Ok(selection)
    }

    /// Checks everything that holds of every selection.
    fn check(&self, plan: &Plan, selection: &Selection) {
        let picks = &selection.picks;
        assert!(picks.len() <= plan.count.min(ENOUGH));
        let distinct: BTreeSet<usize> = selection.rows().into_iter().collect();
        assert!(plan.repeat || distinct.len() == picks.len(), "a row was picked twice");
        assert!(distinct.iter().all(|&row| row < self.pool.len() / self.dim));
        assert!(distinct.iter().all(|row| !self.forbidden.contains(row)), "a forbidden row was picked");
        assert!(plan.repeat || distinct.iter().all(|row| !self.observed_rows.contains(row)));
        assert!(selection.noise_var.is_finite() && selection.noise_var > 0.0);
        for (i, pick) in picks.iter().enumerate() {
            assert_eq!(pick.rank, i + 1);
            assert!(pick.score.is_finite(), "{pick:?}");
            assert!(pick.information.is_finite() && pick.information >= 0.0, "{pick:?}");
            assert!(pick.variance_left.is_none_or(|left| (0.0..=1.0).contains(&left)), "{pick:?}");
        }
        if let (Some(costs), Some(budget)) = (&self.costs, plan.budget) {
            let spent: f64 = selection.rows().iter().map(|&row| costs[row]).sum();
            assert!(spent <= budget * (1.0 + 1e-9), "{spent} of {budget}");
        }
        if let Some(groups) = &self.groups {
            for (group, &quota) in plan.quotas.iter().enumerate() {
                let of = picks.iter().filter(|pick| groups[pick.row] == group).count();
                assert!(of <= quota, "group {group}");
            }
        }
    }
}

fn view(values: &[f64], dim: usize) -> homing::Result<Points<'_>> {
    Ok(Embeddings::new(values, dim)?.into())
}

fn one_sentence(error: &Error) {
    let message = error.to_string();
    assert!(!message.is_empty() && !message.contains('\n') && message.len() < 400, "{message}");
    assert!(!message.ends_with(['.', ' ']) && !message.contains(". "), "one sentence: {message}");
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn every_task_and_plan_is_answered_or_refused_in_one_sentence(seed: u64) {
        let mut draw = Draw::new(seed);
        let size = if draw.is_odd() { draw.number() } else { draw.one(&[1.0, 1.0, 1e-40, 1e40, 30.0]) };
        let size = if size.is_finite() { size.abs() } else { 1.0 };
        let data = match Data::draw(&mut draw, size.max(5e-324)) {
            Ok(data) => data,
            Err(error) => {
                one_sentence(&error);
                return Ok(());
            }
        };
        let plan = match draw.plan(&data, size) {
            Ok(plan) => plan,
            Err(error) => {
                one_sentence(&error);
                return Ok(());
            }
        };
        match catch_unwind(AssertUnwindSafe(|| data.select(&plan))) {
            Ok(Ok(selection)) => data.check(&plan, &selection),
            Ok(Err(error)) => one_sentence(&error),
            Err(_) => prop_assert!(false, "a panic under {plan:?}"),
        }
    }
}

/// The random cases would prove little if nearly all of them were refused.
#[test]
fn half_of_the_random_cases_are_answered() {
    let answered = (0..400).filter(|&seed| {
        let mut draw = Draw::new(seed);
        let Ok(data) = Data::draw(&mut draw, 1.0) else { return false };
        let plan = draw.plan(&data, 1.0);
        plan.is_ok_and(|plan| data.select(&plan).is_ok())
    });
    let answered = answered.count();
    assert!(answered > 200, "{answered} of 400");
}
