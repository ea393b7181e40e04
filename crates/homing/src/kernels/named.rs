//! Kernels by name.

use crate::{Error, Gaussian, Kernel, Laplace, Linear, Matern, Product, Result};

const CHOICES: &str = "linear, gaussian:LENGTH, laplace:LENGTH, matern:SMOOTHNESS:LENGTH or loss-gradient";

/// Parses `linear`, `gaussian:LENGTH`, `laplace:LENGTH`, `matern:SMOOTHNESS:LENGTH`, or `loss-gradient` for the given
/// number of classes.
///
/// ```
/// use homing::kernel_named;
///
/// assert_eq!(kernel_named("gaussian:0.5", 0)?.var(&[3.0]), 1.0);
/// assert!(kernel_named("cubic", 0).is_err());
/// # Ok::<(), homing::Error>(())
/// ```
pub fn kernel_named(text: &str, classes: usize) -> Result<Box<dyn Kernel>> {
    let unknown = || Error::UnknownName { what: "kernel", name: text.into(), choices: CHOICES };
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let numbers = parameters.split(':').filter(|text| !text.is_empty()).map(str::parse);
    let numbers: Vec<f64> = numbers.collect::<Result<_, _>>().map_err(|_| unknown())?;
    Ok(match (name, &numbers[..]) {
        ("linear", []) => Box::new(Linear),
        ("gaussian", &[length]) => Box::new(Gaussian::new(length)?),
        ("laplace", &[length]) => Box::new(Laplace::new(length)?),
        ("matern", &[smoothness, length]) => Box::new(Matern::new(smoothness, length)?),
        ("loss-gradient", []) => Box::new(Product::new(classes, true)),
        _ => return Err(unknown()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_belong_to_the_name() {
        let x = [1.0, 2.0];
        assert_eq!(kernel_named("linear", 0).unwrap().var(&x), 5.0);
        assert_eq!(kernel_named("matern:1.5:2", 0).unwrap().var(&x), 1.0);
        for wrong in ["cubic", "gaussian", "gaussian:wide", "linear:1", "matern:1.5"] {
            let Err(error) = kernel_named(wrong, 0) else { panic!("{wrong} is not a kernel") };
            assert!(error.to_string().contains("gaussian:LENGTH") && error.to_string().contains(wrong), "{error}");
        }
    }
}
