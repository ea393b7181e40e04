//! Checks that an image file is complete.
//!
//! Decoders make up data that a file lacks, so this checks the file itself: in every format, the file says where it ends.

use image::ImageFormat;

/// Returns why the bytes of an image are not a complete file, or `None` if they are.
pub(crate) fn incompleteness(format: ImageFormat, bytes: &[u8]) -> Option<String> {
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

/// Follows the segments up to the marker that ends the image; within scans, it checks markers only.
fn jpeg(bytes: &[u8]) -> Option<()> {
    const START: u8 = 0xd8;
    const END: u8 = 0xd9;
    let mut rest = bytes.strip_prefix(&[0xff, START])?;
    loop {
        let mark;
        (mark, rest) = next_mark(rest)?;
        match mark {
            END => return Some(()),
            // These markers have no segment: data bytes that look like a marker, and restart markers.
            0x00 | 0x01 | 0xd0..=0xd7 => {}
            _ => {
                let length = usize::from(u16::from_be_bytes(*rest.first_chunk()?));
                rest = rest.get(length.max(2)..)?;
            }
        }
    }
}

/// Returns the next marker, which follows a byte of ones, and the bytes after it.
fn next_mark(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let ones = bytes.iter().position(|&byte| byte == 0xff)?;
    // Any number of bytes of ones may precede a marker.
    let mark = ones + bytes[ones..].iter().position(|&byte| byte != 0xff)?;
    Some((bytes[mark], &bytes[mark + 1..]))
}

/// Follows the chunks up to the one that ends the image.
fn png(bytes: &[u8]) -> Option<()> {
    let mut rest = bytes.get(8..)?;
    loop {
        let (length, after) = rest.split_first_chunk()?;
        let (name, _) = after.split_first_chunk::<4>()?;
        // A chunk consists of a length, a name, data and a checksum.
        rest = rest.get(usize::try_from(u32::from_be_bytes(*length)).ok()?.checked_add(12)?..)?;
        if name == b"IEND" {
            return Some(());
        }
    }
}

/// Checks that there are as many bytes as the header states.
fn webp(bytes: &[u8]) -> Option<()> {
    let length = u32::from_le_bytes(*bytes.strip_prefix(b"RIFF")?.first_chunk()?);
    bytes.get(8..)?.get(..usize::try_from(length).ok()?).map(drop)
}
