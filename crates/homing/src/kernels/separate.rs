//! Writing a table of positive numbers as a sum of a few products of a column and a row.

use faer::MatRef;

use crate::base::algebra::zeros;

/// Largest error of the sum, as a share of each entry.
const SHARE: f64 = 1e-12;

/// Largest cancellation between terms. More would lose digits that the table has.
const CANCELS: f64 = 1e3;

/// A column and a row whose product is part of the table.
#[derive(Debug, Clone)]
pub(super) struct Term {
    pub outer: Vec<f64>,
    pub inner: Vec<f64>,
}

/// Writes s_cj as Σ_r u_rc v_rj. Returns `None` if that takes more than half as many terms as the table has rows.
///
/// This is elimination in which the pivot is the entry with the largest relative remainder, until all remainders are small.
///
/// A relative error ε in every s_cj > 0 changes Σ s_cj a_c a′_c b_j b′_j by at most ε√(k(x, x) k(x′, x′)).
pub(super) fn separate(table: MatRef<'_, f64>) -> Option<Vec<Term>> {
    let (rows, columns) = (table.nrows(), table.ncols());
    let cells = || (0..columns).flat_map(|j| (0..rows).map(move |c| (c, j)));
    let largest = |of: &dyn Fn((usize, usize)) -> f64| {
        cells().map(|at| (of(at), at)).fold((0.0, (0, 0)), |best, one| if one.0 > best.0 { one } else { best })
    };
    // The largest entry in the column of the smallest: if the table decreases along both axes, its term never exceeds the
    // table.
    let (_, (_, column)) = largest(&|at| table[at].recip());
    let mut pivot =
        (0..rows).fold((0, column), |best, c| if table[(c, column)] > table[best] { (c, column) } else { best });
    let mut remainder = table.to_owned();
    let mut sizes = zeros::<f64>(rows, columns);
    let mut terms = Vec::new();
    loop {
        let outer: Vec<f64> = (0..rows).map(|c| remainder[(c, pivot.1)]).collect();
        let inner: Vec<f64> = (0..columns).map(|j| remainder[(pivot.0, j)] / remainder[pivot]).collect();
        for (c, j) in cells() {
            let part = outer[c] * inner[j];
            remainder[(c, j)] -= part;
            sizes[(c, j)] += part.abs();
        }
        terms.push(Term { outer, inner });
        let (worst, at) = largest(&|at| remainder[at].abs() / table[at]);
        if worst <= SHARE {
            let cancels = largest(&|at| sizes[at] / table[at]).0;
            return (cancels <= CANCELS).then_some(terms);
        }
        if 2 * (terms.len() + 1) > rows {
            return None;
        }
        pivot = at;
    }
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;

    fn sum(terms: &[Term], c: usize, j: usize) -> f64 {
        terms.iter().map(|term| term.outer[c] * term.inner[j]).sum()
    }

    fn assert_close(table: &Mat<f64>, terms: &[Term]) {
        for (c, j) in (0..table.nrows()).flat_map(|c| (0..table.ncols()).map(move |j| (c, j))) {
            assert!((sum(terms, c, j) - table[(c, j)]).abs() <= 2e-12 * table[(c, j)], "{c} {j}");
        }
    }

    #[test]
    fn shifted_products_take_few_terms() {
        for tau in [1e-9, 1e-4, 1.0, 1e5] {
            let value =
                |i: usize, most: f64, fall: f64| most * (1.0 + i as f64).powf(-fall) - if i == 59 { 0.0 } else { 1e-9 };
            let table = Mat::from_fn(60, 200, |c, j| (value(c, 10.0, 2.0) * value(j, 5.0, 1.5) + tau).recip());
            let terms = separate(table.as_ref()).unwrap();
            assert!(terms.len() < 30, "{} terms for {tau}", terms.len());
            assert_close(&table, &terms);
        }
    }

    #[test]
    fn a_product_is_one_term_and_a_random_table_is_no_sum_of_few() {
        let product = Mat::from_fn(4, 7, |c, j| (1.0 + c as f64) * (0.3 + j as f64));
        assert_eq!(separate(product.as_ref()).unwrap().len(), 1);
        let random = Mat::from_fn(6, 9, |c, j| 1.5 + (7.7 * ((c + 1) * (j + 2) * (j + 2)) as f64).sin());
        assert!(separate(random.as_ref()).is_none());
    }
}
