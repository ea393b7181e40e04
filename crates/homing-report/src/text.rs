//! Formats numbers for sentences.

/// Groups digits by thousands: 1234567 becomes "1,234,567".
pub fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).expect("digits are ASCII")).collect();
    groups.join(",")
}

/// Formats with four decimals, or with an exponent if the number is below 0.001 or at least a million.
pub fn short(x: f64) -> String {
    if x == 0.0 || (1e-3..1e6).contains(&x.abs()) { format!("{x:.4}") } else { format!("{x:.3e}") }
}

/// Formats an amount of memory in MiB or GiB.
pub fn memory(bytes: u64) -> String {
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    if mebibytes < 1000.0 { format!("{mebibytes:.0} MiB") } else { format!("{:.1} GiB", mebibytes / 1024.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_and_grouped_thousands() {
        assert_eq!([300 << 20, 3 << 30].map(memory), ["300 MiB", "3.0 GiB"]);
        assert_eq!([grouped(7), grouped(1000), grouped(1_234_567)], ["7", "1,000", "1,234,567"]);
    }
}
