//! Whether an image file is all there. Decoders make up what a file lacks, so the file itself is looked at: every format
//! says where it ends.

use image::ImageFormat;

/// Why the bytes of an image are no whole file; none where they are.
pub(crate) fn lack(format: ImageFormat, bytes: &[u8]) -> Option<String> {
    let whole = match format {
        ImageFormat::Jpeg => jpeg(bytes),
        ImageFormat::Png => png(bytes),
        ImageFormat::WebP => webp(bytes),
        _ => None,
    };
    match whole {
        Some(()) => None,
        None => Some(format!("it is cut short or damaged: its {} bytes do not reach the image's end", bytes.len())),
    }
}

/// Segments up to the mark that ends the image; of the scans between them only marks are looked at.
fn jpeg(bytes: &[u8]) -> Option<()> {
    const START: u8 = 0xd8;
    const END: u8 = 0xd9;
    let mut rest = bytes.strip_prefix(&[0xff, START])?;
    loop {
        let mark;
        (mark, rest) = next_mark(rest)?;
        match mark {
            END => return Some(()),
            // Marks without a segment: a byte of data that looks like a mark, and places to take up the decoding again.
            0x00 | 0x01 | 0xd0..=0xd7 => {}
            _ => {
                let length = usize::from(u16::from_be_bytes(*rest.first_chunk()?));
                rest = rest.get(length.max(2)..)?;
            }
        }
    }
}

/// The mark behind the next byte of ones, and what follows it.
fn next_mark(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let ones = bytes.iter().position(|&byte| byte == 0xff)?;
    // Any number of ones may stand before a mark.
    let mark = ones + bytes[ones..].iter().position(|&byte| byte != 0xff)?;
    Some((bytes[mark], &bytes[mark + 1..]))
}

/// Chunks up to the one that ends the image.
fn png(bytes: &[u8]) -> Option<()> {
    let mut rest = bytes.get(8..)?;
    loop {
        let (length, after) = rest.split_first_chunk()?;
        let (name, _) = after.split_first_chunk::<4>()?;
        // Length, name, data, checksum.
        rest = rest.get(usize::try_from(u32::from_be_bytes(*length)).ok()?.checked_add(12)?..)?;
        if name == b"IEND" {
            return Some(());
        }
    }
}

/// As many bytes as the front says.
fn webp(bytes: &[u8]) -> Option<()> {
    let length = u32::from_le_bytes(*bytes.strip_prefix(b"RIFF")?.first_chunk()?);
    bytes.get(8..)?.get(..usize::try_from(length).ok()?).map(drop)
}
