//! Numbers in sentences.

/// 1234567 as "1,234,567".
pub fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).expect("digits")).collect();
    groups.join(",")
}

/// Four digits, with an exponent where those would all be zeros or a long row of digits.
pub fn short(x: f64) -> String {
    if x == 0.0 || (1e-3..1e6).contains(&x.abs()) { format!("{x:.4}") } else { format!("{x:.3e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([grouped(7), grouped(1000), grouped(1_234_567)], ["7", "1,000", "1,234,567"]);
    }
}
