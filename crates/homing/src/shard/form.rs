//! The closed forms of the rules' keys.

/// The closed form of a rule's key, in terms of a row's numbers. Carriers compute it in f32, and not in Rust only.
///
/// v is Var(f_x | D), u is Var(f_x | D, A), q is Σ_a Cov(f_x, f_a | D)², and c is Σ_a Cov(f_x, f_a | D) / σ_a.
///
/// ```
/// use homing::shard::KeyForm;
///
/// let (var, given_targets, noise_var) = (3.0, 1.0, 1.0);
/// assert_eq!(KeyForm::InformationRatio.key(var, given_targets, noise_var), 1.0);
/// assert!(KeyForm::InformationRatio.is_below(1.1, noise_var, (var, var), given_targets));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyForm {
    /// v.
    Variance,
    /// v / ρ².
    SignalRatio,
    /// (v − u) / (u + ρ²).
    InformationRatio,
    /// (v − u) / u.
    ValueRatio,
    /// q / (v + ρ²).
    SquaresRatio,
    /// c / √v.
    Correlation,
}

impl KeyForm {
    /// All forms, in the order of their numbers.
    const ALL: [Self; 6] = [
        KeyForm::Variance,
        KeyForm::SignalRatio,
        KeyForm::InformationRatio,
        KeyForm::ValueRatio,
        KeyForm::SquaresRatio,
        KeyForm::Correlation,
    ];

    /// Returns the number of the form, by which messages and programs for other processors name it.
    ///
    /// ```
    /// use homing::shard::KeyForm;
    ///
    /// assert_eq!(KeyForm::numbered(KeyForm::SquaresRatio.number()), Some(KeyForm::SquaresRatio));
    /// assert_eq!(KeyForm::numbered(6), None);
    /// ```
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Returns the form with a number.
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Returns whether the key is certainly below `bar`, given bounds on the numbers: the least and the largest variance,
    /// none of them negative, and the most favourable second number. The bounds must be wider than the errors of the
    /// numbers by the rounding of f32, and `bar` lower than the key of interest.
    #[allow(clippy::inline_always)] // part of loops that are compiled for the vectors of this machine
    #[inline(always)]
    pub fn is_below(self, bar: f32, noise_var: f32, (low, high): (f32, f32), second: f32) -> bool {
        match self {
            KeyForm::Variance => high < bar,
            KeyForm::SignalRatio => high < bar * noise_var,
            KeyForm::InformationRatio => high - second.max(0.0) < bar * (second.max(0.0) + noise_var),
            KeyForm::ValueRatio => high - second.max(0.0) < bar * second.max(0.0),
            KeyForm::SquaresRatio => second < bar * (low + noise_var),
            // c < bar·√v, squared, because roots take long. A negative covariance scores higher the larger the variance is.
            KeyForm::Correlation if bar < 0.0 => second < 0.0 && second * second > bar * bar * high,
            KeyForm::Correlation => second < 0.0 || second * second < bar * bar * low,
        }
    }

    /// Returns the key up to rounding, to rank rows. A row without variance has the least key.
    #[allow(clippy::inline_always)] // as for `is_below`
    #[inline(always)]
    pub fn key(self, var: f32, second: f32, noise_var: f32) -> f32 {
        let var = var.max(0.0);
        let given = second.max(0.0).min(var);
        match self {
            KeyForm::Variance => var,
            KeyForm::SignalRatio => var / noise_var,
            KeyForm::InformationRatio => (var - given) / (given + noise_var),
            KeyForm::ValueRatio if var > 0.0 => (var - given) / given.max(f32::EPSILON * f32::EPSILON * var),
            KeyForm::SquaresRatio => second.max(0.0) / (var + noise_var),
            KeyForm::Correlation if var > 0.0 => second / var.sqrt(),
            KeyForm::ValueRatio | KeyForm::Correlation => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_its_place_as_its_number() {
        for (at, form) in (0..).zip(KeyForm::ALL) {
            assert_eq!((form.number(), KeyForm::numbered(at)), (at, Some(form)));
        }
    }
}
