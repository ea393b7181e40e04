//! Kernel values that are computed in blocks equal those computed one by one.

use homing::{Embeddings, Gaussian, Kernel, Laplace, Linear, Matern, Precomputed, Product, Scaled};
use rand::RngExt;

use crate::oracle::{rng, uniform_rows, view};

/// Returns the largest difference of the block's values from those of `eval`, relative to the largest value possible,
/// √(k(x, x) k(y, y)).
fn worst(
    kernel: &dyn Kernel,
    rows: &[f64],
    points: &[f64],
    dim: usize,
    relative: impl Fn(f64, &[f64], &[f64]) -> f64,
) -> f64 {
    let count = rows.len() / dim;
    let mut out = vec![f64::NAN; count * (points.len() / dim)];
    kernel.block(rows, points, dim, &mut out);
    let mut worst = 0.0f64;
    for (j, y) in points.chunks_exact(dim).enumerate() {
        for (i, x) in rows.chunks_exact(dim).enumerate() {
            let (got, want) = (out[j * count + i], kernel.eval(x, y));
            let error = (got - want).abs() / relative(want, x, y);
            assert!(!error.is_nan(), "{got} {want}");
            worst = worst.max(error);
        }
    }
    worst
}

/// Returns random rows, and points that are random, equal to rows, or near rows, at a distance of 10⁻¹⁵ to 10⁻¹ of their
/// norm.
fn rows_and_points(seed: u64, dim: usize, size: f64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let rows: Vec<f64> = view(&uniform_rows(&mut rng, 37, dim)).into_iter().map(|x| x * size).collect();
    let mut points: Vec<f64> = view(&uniform_rows(&mut rng, 3, dim)).into_iter().map(|x| x * size).collect();
    for i in 0..16 {
        let away = size * if i == 0 { 0.0 } else { 10f64.powi(-i) };
        points.extend(
            rows[i as usize * dim..(i as usize + 1) * dim].iter().map(|x| x + away * rng.random_range(-1.0..1.0)),
        );
    }
    (rows, points)
}

const DIMS: [usize; 9] = [1, 2, 3, 7, 8, 33, 64, 129, 300];

#[test]
fn kernels_of_distance_keep_their_digits_near_and_far() {
    for dim in DIMS {
        for size in [1e-3, 1.0, 1e4, 1e9] {
            let (rows, points) = rows_and_points(dim as u64, dim, size);
            // The typical distance of two rows, and length scales at which all of them are near or far.
            let typical = size * (dim as f64 / 1.5).sqrt();
            for length in [0.1 * typical, typical, 30.0 * typical] {
                let nus = [0.3, 0.5, 0.8, 1.1, 1.5, 2.5, 7.0];
                let matern: Vec<Matern> = nus.iter().map(|&nu| Matern::new(nu, length).unwrap()).collect();
                let mut kernels: Vec<&dyn Kernel> = matern.iter().map(|kernel| kernel as &dyn Kernel).collect();
                let (gaussian, laplace) = (Gaussian::new(length).unwrap(), Laplace::new(length).unwrap());
                kernels.extend([&gaussian as &dyn Kernel, &laplace]);
                for (at, kernel) in kernels.into_iter().enumerate() {
                    // ln k of a tiny value is itself ill-conditioned.
                    let relative = |want: f64, _: &[f64], _: &[f64]| want * (1.0 - want.max(f64::MIN_POSITIVE).ln());
                    let off = worst(kernel, &rows, &points, dim, |want, x, y| relative(want, x, y).max(1e-300));
                    assert!(off < 2e-13, "kernel {at}, {dim} dimensions, size {size}, length {length}: {off}");
                }
            }
        }
    }
}

#[test]
fn kernels_of_inner_products_are_off_only_by_rounding() {
    for dim in DIMS {
        for size in [1e-3, 1.0, 1e9] {
            let (rows, points) = rows_and_points(100 + dim as u64, dim, size);
            for split in [0, 1, dim / 2, dim] {
                let (with, without) = (Product::new(split, true), Product::new(split, false));
                for kernel in [&Linear as &dyn Kernel, &with, &without] {
                    let most = |_: f64, x: &[f64], y: &[f64]| {
                        let part =
                            |at: std::ops::Range<usize>, z: &[f64]| z[at].iter().map(|z| z * z).sum::<f64>().sqrt();
                        let all = part(0..dim, x) * part(0..dim, y);
                        let product =
                            part(0..split, x) * part(0..split, y) * (part(split..dim, x) * part(split..dim, y) + 1.0);
                        if kernel.is_linear() { all } else { product.max(f64::MIN_POSITIVE) }
                    };
                    let off = worst(kernel, &rows, &points, dim, most);
                    assert!(off < 1e-14, "{dim} dimensions, split {split}, size {size}: {off}");
                }
            }
        }
    }
}

#[test]
fn scaled_products_are_their_sum_term_by_term() {
    for (classes, width) in [(1, 1), (3, 2), (2, 30), (40, 60), (90, 40)] {
        let dim = classes + width;
        let (rows, points) = rows_and_points(200 + dim as u64, dim, 1.0);
        // A table that decreases along both axes with a constant tail needs few terms; a random one needs one per row.
        let decreasing = |c: usize, j: usize| {
            (if j < 25 { 9.0 / ((c + 1) * (c + j + 1)) as f64 } else { 0.0 } + 1e-3 * (1 + j / 25) as f64).recip()
        };
        let random = |c: usize, j: usize| 1.1 + (7.3 * ((c + 1) * (j + 2) * (j + 2)) as f64).sin();
        for scale in [&decreasing as &dyn Fn(usize, usize) -> f64, &random] {
            let cells = (0..classes).flat_map(|c| (0..width).map(move |j| (c, j)));
            let table: Vec<f64> = cells.clone().map(|(c, j)| scale(c, j)).collect();
            let kernel = Scaled::new(classes, &table).unwrap();
            let sum = |x: &[f64], y: &[f64]| -> f64 {
                let term = |(c, j): (usize, usize)| scale(c, j) * x[c] * y[c] * x[classes + j] * y[classes + j];
                cells.clone().map(term).sum()
            };
            let most = |x: &[f64], y: &[f64]| (sum(x, x) * sum(y, y)).sqrt();
            let off = worst(&kernel, &rows, &points, dim, |_, x, y| most(x, y));
            assert!(off < 1e-13, "{classes} × {width}: {off}");
            for (var, x) in kernel.vars(&rows, dim).iter().zip(rows.chunks_exact(dim)) {
                assert!((var - sum(x, x)).abs() < 2e-12 * sum(x, x), "{classes} × {width}: {var}");
            }
            for (x, y) in rows.chunks_exact(dim).zip(points.chunks_exact(dim)) {
                let (got, want) = (kernel.eval(x, y), sum(x, y));
                assert!((got - want).abs() < 2e-12 * most(x, y), "{classes} × {width}: {got} {want}");
                assert_eq!(got, kernel.eval(y, x));
            }
        }
    }
    let terms = |scale: fn(usize, usize) -> f64| {
        let table: Vec<f64> = (0..50 * 80).map(|i| scale(i / 80, i % 80)).collect();
        Scaled::new(50, &table).unwrap().terms()
    };
    assert_eq!(terms(|_, j| 1.0 + j as f64), 1);
    assert_eq!(terms(|c, j| if j < 7 { 1.0 + (c * (j + 1)) as f64 } else { 3.0 }), 3);
    assert!(terms(|c, j| (1.0 + c as f64 * j as f64).recip()) < 25);
    assert!(Scaled::new(3, &[1.0; 4]).is_err());
    assert!(Scaled::new(2, &[1.0, 0.0]).unwrap_err().to_string().contains("row 1"));
}

#[test]
fn a_copy_of_a_point_has_the_value_at_distance_zero() {
    let (rows, _) = rows_and_points(7, 20, 1e3);
    for kernel in
        [&Gaussian::new(1.0).unwrap() as &dyn Kernel, &Matern::new(0.5, 1.0).unwrap(), &Laplace::new(1.0).unwrap()]
    {
        let mut out = vec![0.0; 37 * 37];
        kernel.block(&rows, &rows, 20, &mut out);
        assert!((0..37).all(|i| out[i * 37 + i] == 1.0));
    }
}

#[test]
fn a_precomputed_matrix_is_read_the_same_way() {
    let matrix: Vec<f64> = (0..36).map(|i| f64::from(i / 6 + i % 6)).collect();
    let kernel = Precomputed::new(Embeddings::new(&matrix[..], 6).unwrap()).unwrap();
    let (rows, points) = (Precomputed::points(0..4), Precomputed::points(3..6));
    assert_eq!(worst(&kernel, &rows, &points, 1, |_, _, _| 1.0), 0.0);
}
