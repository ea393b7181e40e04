//! Template filters that format numbers. A number that is not finite becomes "–".

/// Formats with this number of decimals.
pub fn fixed(value: f64, decimals: usize) -> String {
    finite(value, || format!("{:.decimals$}", value + 0.0))
}

/// Formats a share as a percentage.
pub fn percent(value: f64, decimals: Option<usize>) -> String {
    finite(value, || format!("{:.1$}%", 100.0 * value, decimals.unwrap_or(0)))
}

/// Formats a share as the width of a bar, between 0% and 100%.
pub fn width(value: f64) -> String {
    let share = if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 };
    format!("{:.1}%", 100.0 * share)
}

/// Formats with about four significant digits, whatever the magnitude.
pub fn compact(value: f64) -> String {
    finite(value, || match value.abs() {
        0.0 => "0".to_owned(),
        1e-3..1e6 => {
            let decimals = (3.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
            let text = format!("{value:.decimals$}");
            if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
        }
        _ => format!("{value:.2e}"),
    })
}

/// Formats with commas between groups of thousands.
pub fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a duration.
pub fn duration(seconds: f64) -> String {
    finite(seconds, || match seconds {
        ..0.0995 => format!("{:.0} ms", 1e3 * seconds),
        ..9.95 => format!("{seconds:.2} s"),
        ..99.5 => format!("{seconds:.1} s"),
        _ => format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), (seconds % 60.0).floor()),
    })
}

/// Shortens a text to this number of characters.
pub fn clip(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn finite(value: f64, text: impl FnOnce() -> String) -> String {
    if value.is_finite() { text() } else { "–".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 0.031_25, 1.0, 12.345_6, 123_456.0].map(compact), ["0", "0.03125", "1", "12.35", "123456"]);
        assert_eq!(compact(1.5e-9), "1.50e-9");
        assert_eq!([7, 1234, 200_000].map(thousands), ["7", "1,234", "200,000"]);
        assert_eq!([0.012, 1.234, 61.0, 125.0].map(duration), ["12 ms", "1.23 s", "61.0 s", "2 min 05 s"]);
        assert_eq!(clip("añb", 2), "añ…");
    }

    #[test]
    fn numbers_that_are_not_finite_become_a_dash() {
        assert_eq!(
            (fixed(f64::NAN, 2), percent(f64::INFINITY, None), compact(f64::NAN)),
            ("–".into(), "–".into(), "–".into())
        );
        assert_eq!(width(f64::NAN), "0.0%");
    }
}
