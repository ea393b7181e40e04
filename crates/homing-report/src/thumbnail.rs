//! Small pictures as data URIs.

use serde::{Serialize, Serializer};

const SIDE: usize = 8;
const INK: [u8; 3] = [0x22, 0x1c, 0x1a];
const PAPER: [u8; 3] = [0xff, 0xff, 0xff];

/// A small picture.
#[derive(Debug, Clone)]
pub enum Thumbnail {
    /// A digit of 8 × 8 pixels, row by row from the top left, with values from 0 (paper) to 16 (ink).
    Digit([u8; SIDE * SIDE]),
    /// A photo, as the contents of a JPEG file.
    Jpeg(Vec<u8>),
}

impl Thumbnail {
    /// Whether the picture is a photo, which is shown larger and keeps its colours on dark pages.
    pub(crate) fn is_photo(&self) -> bool {
        matches!(self, Thumbnail::Jpeg(_))
    }

    /// Returns the picture as the address of an image. A digit becomes a BMP file with 4 bits per pixel and the old 12-byte header,
    /// which has 106 bytes and needs no checksum, and which every browser reads.
    fn data_uri(&self) -> String {
        let pixels = match self {
            Thumbnail::Jpeg(file) => return format!("data:image/jpeg;base64,{}", base64(file)),
            Thumbnail::Digit(pixels) => pixels,
        };
        let mut file = b"BM".to_vec();
        // File length, a reserved field, offset of the pixels, length of the header that follows.
        file.extend([106_u32, 0, 74, 12].into_iter().flat_map(u32::to_le_bytes));
        // Width, height, planes, bits per pixel.
        file.extend([8_u16, 8, 1, 4].into_iter().flat_map(u16::to_le_bytes));
        let blend =
            |level: u16, paper: u8, ink: u8| ((u16::from(paper) * (15 - level) + u16::from(ink) * level) / 15) as u8;
        file.extend((0..16).flat_map(|level| [0, 1, 2].map(|channel| blend(level, PAPER[channel], INK[channel]))));
        let level = |pixel: u8| pixel.min(16) * 15 / 16;
        let rows_from_below = pixels.chunks(SIDE).rev();
        file.extend(rows_from_below.flat_map(|row| row.chunks(2).map(|two| level(two[0]) << 4 | level(two[1]))));
        format!("data:image/bmp;base64,{}", base64(&file))
    }
}

/// Serializes the picture as its data URI, which the template inserts.
impl Serialize for Thumbnail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.data_uri())
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, n| bits << 8 | usize::from(*chunk.get(n).unwrap_or(&0)));
        for n in 0..4 {
            let digit = char::from(DIGITS[bits >> (18 - 6 * n) & 63]);
            text.push(if n <= chunk.len() { digit } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }

    #[test]
    fn a_picture_is_short_and_no_pixel_is_out_of_range() {
        assert!(Thumbnail::Digit([16; 64]).data_uri().len() < 170);
        assert_eq!(Thumbnail::Digit([16; 64]).data_uri(), Thumbnail::Digit([255; 64]).data_uri());
    }
}
