//! 1,797 handwritten digits that are part of the program, for the demo.
//!
//! UCI Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, 1998, CC BY 4.0;
//! `data/README.md` describes the source and the format.

const PACKED: &[u8] = include_bytes!("../data/digits.bin");
const PIXELS: usize = 64;
const BITS: usize = 5;

/// The digits, one after another.
pub struct Digits {
    /// Pixels, 1,797 × 64: row by row from the top left, 0 (paper) to 16 (ink).
    pub pixels: Vec<f32>,
    /// Labels 0 to 9, one per digit.
    pub labels: Vec<u8>,
}

/// Unpacks the digits.
pub fn load() -> Digits {
    let values: Vec<u8> = (0..PACKED.len() * 8 / BITS).map(value).collect();
    let rows = values.chunks_exact(PIXELS + 1);
    Digits {
        pixels: rows.clone().flat_map(|row| row[..PIXELS].iter().map(|&v| f32::from(v))).collect(),
        labels: rows.map(|row| row[PIXELS]).collect(),
    }
}

/// Returns the digits as a data set in which every third digit is a test example.
#[cfg(feature = "train")]
pub fn data() -> homing_data::Data {
    let digits = load();
    let part = |test: bool| {
        let rows: Vec<usize> = (0..digits.labels.len()).filter(|row| (row % 3 == 0) == test).collect();
        let pixels = |&row: &usize| {
            digits.pixels[PIXELS * row..PIXELS * (row + 1)].iter().map(|pixel| (pixel * 255.0 / 16.0) as u8)
        };
        homing_data::Dataset {
            inputs: homing_data::Inputs::pixels([1, 8, 8], rows.iter().flat_map(pixels).collect::<Vec<_>>()),
            labels: rows.iter().map(|&row| Some(u32::from(digits.labels[row]))).collect(),
            classes: (0..10).map(|digit| digit.to_string()).collect(),
            ids: rows.iter().map(|row| format!("digit {row}")).collect(),
            texts: Vec::new(),
            pictures: None,
        }
    };
    homing_data::Data { train: part(false), test: Some(part(true)) }
}

/// Returns number `n` of the stream, whose numbers have their highest bit first.
fn value(n: usize) -> u8 {
    (n * BITS..(n + 1) * BITS).fold(0, |value, bit| value << 1 | PACKED[bit / 8] >> (7 - bit % 8) & 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_is_there() {
        let Digits { pixels, labels } = load();
        assert_eq!(labels.len(), 1797);
        assert_eq!(pixels.len(), 1797 * PIXELS);
        assert!(pixels.iter().all(|pixel| (0.0..=16.0).contains(pixel)));
        let mut counts = [0; 10];
        for label in labels {
            counts[usize::from(label)] += 1;
        }
        assert_eq!(counts, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
    }

    #[test]
    fn first_and_last_digit_are_those_of_the_source() {
        let Digits { pixels, labels } = load();
        let zero = [0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0].map(|v| v as f32);
        let eight = [0, 8, 16, 10, 8, 16, 8, 0, 0, 1, 8, 12, 14, 12, 1, 0].map(|v| v as f32);
        assert_eq!((&pixels[..16], labels[0]), (&zero[..], 0));
        assert_eq!((&pixels[1797 * 64 - 16..], labels[1796]), (&eight[..], 8));
    }
}
