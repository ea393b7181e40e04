//! Decodes image files: PNG, JPEG and WebP.

use std::io::Cursor;
use std::path::Path;

use homing_pool::catch_panic;
use image::{ColorType, DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader};

use crate::ending::incompleteness;
use crate::memory::fits_memory;
use crate::{Error, Result};

/// Memory that decoding an image takes, as a multiple of its pixels: decoded, in the requested colours, channel by channel, and
/// as numbers.
const COPIES: u64 = 7;

/// Maximum number of pixels of an image that is decoded (16,384 × 16,384). A file of a few bytes can claim more pixels
/// than anybody has time to decode.
const MOST_PIXELS: u64 = 1 << 28;

/// File extensions of images.
pub(crate) const EXTENSIONS: [&str; 4] = ["png", "jpg", "jpeg", "webp"];

/// Whether a file of this name counts as an image.
pub fn is_named(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}

/// Header of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageHeader {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) gray: bool,
}

/// Pixels of `[channels, height, width]`, channel by channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) shape: [usize; 3],
    pub(crate) pixels: Vec<u8>,
}

fn decoder<'a>(path: &Path, bytes: &'a [u8]) -> Result<impl ImageDecoder + 'a> {
    let reader =
        ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|error| Error::image(path, &error))?;
    let Some(format @ (ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP)) = reader.format() else {
        return Err(Error::image(path, "it is neither PNG, JPEG nor WebP"));
    };
    let decoder = reader.into_decoder().map_err(|error| Error::image(path, &error))?;
    if let Some(reason) = incompleteness(format, bytes) {
        return Err(Error::image(path, &reason));
    }
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        let detail = format!("it has {width} × {height} pixels, but at most {MOST_PIXELS} in total are decoded");
        return Err(Error::image(path, &detail));
    }
    let needed = decoder.total_bytes().saturating_mul(COPIES);
    if !fits_memory(Some(needed)) {
        let detail = format!("its {width} × {height} pixels do not fit into the memory that may be used");
        return Err(Error::image(path, &detail));
    }
    Ok(decoder)
}

/// Runs `decode` for the image at `path`; if it panics, the image is broken.
fn guarded<T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_panic(decode).unwrap_or_else(|| Err(Error::image(path, "its contents contradict each other")))
}

/// Reads the header of the image in `bytes`, with width and height after its orientation is applied.
pub(crate) fn header(path: &Path, bytes: &[u8]) -> Result<ImageHeader> {
    guarded(path, || read_header(path, bytes))
}

/// Decodes the image in `bytes` with one or three channels, applies its orientation, and ignores transparency.
pub(crate) fn decode(path: &Path, bytes: &[u8], channels: usize) -> Result<Picture> {
    guarded(path, || read_picture(path, bytes, channels))
}

fn read_header(path: &Path, bytes: &[u8]) -> Result<ImageHeader> {
    let mut decoder = decoder(path, bytes)?;
    let (width, height) = decoder.dimensions();
    if width == 0 || height == 0 {
        return Err(Error::image(path, "it has no pixels"));
    }
    let gray = matches!(decoder.color_type(), ColorType::L8 | ColorType::La8 | ColorType::L16 | ColorType::La16);
    // Orientations from 5 on swap width and height.
    let swapped = decoder.orientation().is_ok_and(|orientation| orientation.to_exif() >= 5);
    let (width, height) = if swapped { (height, width) } else { (width, height) };
    Ok(ImageHeader { height: height as usize, width: width as usize, gray })
}

fn read_picture(path: &Path, bytes: &[u8], channels: usize) -> Result<Picture> {
    let failed = |error: ImageError| Error::image(path, &error);
    let mut decoder = decoder(path, bytes)?;
    let orientation = decoder.orientation().ok();
    let mut image = DynamicImage::from_decoder(decoder).map_err(failed)?;
    if let Some(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    let shape = [channels, image.height() as usize, image.width() as usize];
    let pixels = if channels == 1 { image.into_luma8().into_raw() } else { planes(&image.into_rgb8()) };
    Ok(Picture { shape, pixels })
}

/// Reorders interleaved colours channel by channel.
pub(crate) fn planes(colours: &[u8]) -> Vec<u8> {
    (0..3).flat_map(|channel| colours.iter().skip(channel).step_by(3).copied()).collect()
}

impl Picture {
    /// Encodes the image as a PNG, in grey or in colour.
    pub(crate) fn png(&self) -> Result<Vec<u8>> {
        let [channels, height, width] = self.shape;
        let plane = height * width;
        let (colour, pixels) = match channels {
            1 => (ColorType::L8, self.pixels.clone()),
            3 => {
                let pixel = |at: usize| (0..3).map(move |channel| self.pixels[channel * plane + at]);
                (ColorType::Rgb8, (0..plane).flat_map(pixel).collect())
            }
            _ => return Err(Error::NotImages { shape: self.shape.to_vec() }),
        };
        let mut out = Cursor::new(Vec::new());
        image::write_buffer_with_format(&mut out, &pixels, width as u32, height as u32, colour, ImageFormat::Png)
            .map_err(|error| Error::image(Path::new("a thumbnail"), &error))?;
        Ok(out.into_inner())
    }
}
