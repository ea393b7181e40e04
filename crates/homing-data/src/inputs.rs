//! Inputs of a network: images or rows of numbers.

use std::path::PathBuf;
use std::sync::Arc;

use blake3::Hasher;
use bytes::Bytes;
use half::f16;
use homing_pool::Pool;
use rayon::prelude::*;

use crate::files::{ListedFile, StoredImage};
use crate::picture::{self, Picture};
use crate::resize::{self, fit};
use crate::{Error, Result};

/// Longest side of a thumbnail, in pixels.
const THUMBNAIL: usize = 96;

/// Numbered examples of one shape: images of `[channels, height, width]`, or rows of `[width]`.
///
/// A clone shares the data of the original.
#[derive(Clone, Debug)]
pub struct Inputs {
    shape: Vec<usize>,
    values: InputStore,
}

#[derive(Clone, Debug)]
enum InputStore {
    /// Pixels from 0 to 255 of images with the shape `stored`.
    Pixels {
        pixels: Bytes,
        stored: [usize; 3],
    },
    Numbers(Arc<Vec<f32>>),
    /// Half-precision numbers of two little-endian bytes each.
    Halves(Bytes),
    Pool(Arc<Pool>),
    /// Images that are decoded when they are read.
    Files(Arc<Vec<ListedFile>>),
}

/// An image with its pixels row by row, each with red, green and blue from 0 to 255.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RgbPixels {
    /// Number of pixels per row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// 3 × width × height numbers.
    pub pixels: Vec<u8>,
}

impl Inputs {
    /// Creates inputs from consecutive images with pixels in the order channel, row, column.
    ///
    /// # Panics
    /// If the pixels do not form whole images.
    pub fn pixels(shape: [usize; 3], pixels: impl Into<Bytes>) -> Self {
        let pixels = pixels.into();
        assert_eq!(pixels.len() % shape.iter().product::<usize>().max(1), 0, "the pixels must form whole images");
        Self { shape: shape.to_vec(), values: InputStore::Pixels { pixels, stored: shape } }
    }

    /// Creates inputs from consecutive rows of `width` numbers.
    ///
    /// # Panics
    /// If the numbers do not form whole rows.
    pub fn rows(width: usize, numbers: Vec<f32>) -> Self {
        assert_eq!(numbers.len() % width.max(1), 0, "the numbers must form whole rows");
        Self { shape: vec![width], values: InputStore::Numbers(Arc::new(numbers)) }
    }

    /// Creates inputs from consecutive examples of any shape in little-endian half precision, such as the bytes of a mapped file.
    ///
    /// # Panics
    /// If the bytes do not form whole examples.
    pub fn halves(shape: Vec<usize>, bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        let bytes = Bytes::from_owner(bytes);
        assert_eq!(bytes.len() % (2 * shape.iter().product::<usize>()).max(1), 0, "the bytes must form whole examples");
        Self { shape, values: InputStore::Halves(bytes) }
    }

    /// Creates inputs from the embeddings of a pool, without copying them.
    pub fn pool(pool: Pool) -> Self {
        Self { shape: vec![pool.dim()], values: InputStore::Pool(Arc::new(pool)) }
    }

    /// Returns the means and the standard deviations of the columns of a table, if the deviations differ so much that a few columns
    /// would decide alone.
    pub fn unlike_spread(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let InputStore::Pool(pool) = &self.values else { return None };
        Some((pool.embeddings().mean(), pool.unlike_spread()?))
    }

    /// Returns rows of numbers whose columns have these means subtracted and are then divided by these numbers.
    pub fn standardized(&self, means: &[f64], divisors: &[f64]) -> Result<Self> {
        let mut numbers = self.read(&(0..self.len()).collect::<Vec<_>>())?;
        for row in numbers.chunks_exact_mut(divisors.len()) {
            for ((value, mean), divisor) in row.iter_mut().zip(means).zip(divisors) {
                *value = ((f64::from(*value) - mean) / divisor) as f32;
            }
        }
        Ok(Self::rows(divisors.len(), numbers))
    }

    /// Creates inputs from image files. They have the given shape, or will be resized to it if it is square.
    pub(crate) fn files(shape: [usize; 3], files: Vec<ListedFile>) -> Self {
        Self { shape: shape.to_vec(), values: InputStore::Files(Arc::new(files)) }
    }

    /// Creates inputs from the image files at `paths`, with three channels, resized to `size` × `size` pixels when they are read.
    pub fn image_files(paths: impl IntoIterator<Item = PathBuf>, size: usize) -> Result<Self> {
        check_size(size)?;
        let files = paths.into_iter().map(ListedFile::at).collect();
        Ok(Self::files([3, size, size], files))
    }

    /// Resizes the images to `size` × `size` pixels when they are read.
    pub fn with_size(mut self, size: usize) -> Result<Self> {
        let [channels, ..] = self.image()?;
        check_size(size)?;
        self.shape = vec![channels, size, size];
        Ok(self)
    }

    /// Returns the examples of `rows`, in that order.
    pub fn subset(&self, rows: &[usize]) -> Result<Self> {
        self.check(rows)?;
        let size = self.size();
        let values = match &self.values {
            InputStore::Pixels { pixels, stored } => {
                InputStore::Pixels { pixels: gathered(pixels, rows, stored.iter().product()).into(), stored: *stored }
            }
            InputStore::Halves(bytes) => InputStore::Halves(gathered(bytes, rows, 2 * size).into()),
            InputStore::Numbers(numbers) => InputStore::Numbers(Arc::new(gathered(numbers, rows, size))),
            InputStore::Pool(pool) => InputStore::Numbers(Arc::new(read_pool(pool, rows)?)),
            InputStore::Files(files) => {
                InputStore::Files(Arc::new(rows.iter().map(|&row| files[row].clone()).collect()))
            }
        };
        Ok(Self { shape: self.shape.clone(), values })
    }

    /// Whether the other is a clone of this one and shares its data.
    pub fn is_same(&self, other: &Self) -> bool {
        let bytes = |one: &Bytes, two: &Bytes| one.as_ptr() == two.as_ptr() && one.len() == two.len();
        self.shape == other.shape
            && match (&self.values, &other.values) {
                (InputStore::Pixels { pixels: one, stored }, InputStore::Pixels { pixels: two, stored: other }) => {
                    bytes(one, two) && stored == other
                }
                (InputStore::Numbers(one), InputStore::Numbers(two)) => Arc::ptr_eq(one, two),
                (InputStore::Halves(one), InputStore::Halves(two)) => bytes(one, two),
                (InputStore::Pool(one), InputStore::Pool(two)) => Arc::ptr_eq(one, two),
                (InputStore::Files(one), InputStore::Files(two)) => Arc::ptr_eq(one, two),
                _ => false,
            }
    }

    /// Returns the shape of one example.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns how many numbers one example has.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the number of examples.
    pub fn len(&self) -> usize {
        match &self.values {
            InputStore::Pixels { pixels, stored } => pixels.len() / stored.iter().product::<usize>().max(1),
            InputStore::Numbers(numbers) => numbers.len() / self.size().max(1),
            InputStore::Halves(bytes) => bytes.len() / (2 * self.size()).max(1),
            InputStore::Pool(pool) => pool.rows(),
            InputStore::Files(files) => files.len(),
        }
    }

    /// Whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the examples are images.
    pub fn are_images(&self) -> bool {
        matches!(self.values, InputStore::Pixels { .. } | InputStore::Files(_))
    }

    /// Whether the examples are image files, which are decoded each time they are read.
    pub fn are_files(&self) -> bool {
        matches!(self.values, InputStore::Files(_))
    }

    /// Returns the numbers of the examples in `rows`, one example after the other. Pixels are from 0 to 255.
    pub fn read(&self, rows: &[usize]) -> Result<Vec<f32>> {
        self.check(rows)?;
        let size = self.size();
        let at = |row: usize| row * size..(row + 1) * size;
        match &self.values {
            InputStore::Pixels { pixels, stored } if self.shape == stored => {
                Ok(rows.iter().flat_map(|&row| &pixels[at(row)]).map(|&pixel| f32::from(pixel)).collect())
            }
            InputStore::Numbers(numbers) => Ok(rows.iter().flat_map(|&row| &numbers[at(row)]).copied().collect()),
            InputStore::Halves(bytes) => {
                let row = |&row: &usize| &bytes[2 * row * size..2 * (row + 1) * size];
                let halves = rows.iter().flat_map(|at| row(at).as_chunks().0);
                Ok(halves.map(|&half| f16::from_le_bytes(half).to_f32()).collect())
            }
            InputStore::Pool(pool) => read_pool(pool, rows),
            InputStore::Pixels { .. } | InputStore::Files(_) => match self.image()? {
                [_, height, width] if height == width => self.resized(rows, height),
                _ => self.concatenated(rows, |picture| picture.pixels.iter().map(|&pixel| f32::from(pixel)).collect()),
            },
        }
    }

    /// Returns the images of `rows`, resized to `size` × `size` pixels, channel by channel, with values from 0 to 255.
    ///
    /// Images that are not square are cropped to the middle. Resizing is bilinear: enlarging equals PyTorch's
    /// `F.interpolate(mode="bilinear", align_corners=False)`, and shrinking equals the same with `antialias=True`.
    pub fn resized(&self, rows: &[usize], size: usize) -> Result<Vec<f32>> {
        self.check(rows)?;
        self.image()?;
        check_size(size)?;
        self.concatenated(rows, |picture| fit(&picture.pixels, picture.shape, size))
    }

    /// Like [`Inputs::resized`], but always with three channels; a grey channel is repeated.
    pub fn resized_rgb(&self, rows: &[usize], size: usize) -> Result<Vec<f32>> {
        match self.image()? {
            [3, ..] => self.resized(rows, size),
            [1, ..] => {
                let gray = self.resized(rows, size)?;
                Ok(gray.chunks_exact(size * size).flat_map(|plane| [plane; 3]).flatten().copied().collect())
            }
            _ => Err(Error::NotImages { shape: self.shape.clone() }),
        }
    }

    /// Returns a hexadecimal hash of the shape and the contents of `rows`, which is equal for equal examples only.
    pub fn fingerprint(&self, rows: &[usize]) -> Result<String> {
        self.check(rows)?;
        let mut hash = Hasher::new();
        let (tag, stored) = match &self.values {
            InputStore::Pixels { stored, .. } => (b"pixels  ", &stored[..]),
            InputStore::Numbers(_) | InputStore::Pool(_) => (b"numbers ", &self.shape[..]),
            InputStore::Halves(_) => (b"halves  ", &self.shape[..]),
            InputStore::Files(_) => (b"files   ", &self.shape[..]),
        };
        hash.update(tag);
        for shape in [&self.shape[..], stored] {
            hash.update(&(shape.len() as u64).to_le_bytes());
            for &extent in shape {
                hash.update(&(extent as u64).to_le_bytes());
            }
        }
        let size = stored.iter().product::<usize>();
        for block in rows.chunks(256) {
            match &self.values {
                InputStore::Pixels { pixels, .. } => {
                    for &row in block {
                        hash.update(&pixels[row * size..(row + 1) * size]);
                    }
                }
                InputStore::Halves(bytes) => {
                    for &row in block {
                        hash.update(&bytes[2 * row * size..2 * (row + 1) * size]);
                    }
                }
                InputStore::Numbers(_) | InputStore::Pool(_) => {
                    let bytes: Vec<u8> = self.read(block)?.iter().flat_map(|number| number.to_le_bytes()).collect();
                    hash.update(&bytes);
                }
                InputStore::Files(files) => {
                    for &row in block {
                        let bytes = files[row].bytes()?;
                        hash.update(&(bytes.len() as u64).to_le_bytes());
                        hash.update(&bytes);
                    }
                }
            }
        }
        Ok(hash.finalize().to_hex().to_string())
    }

    /// Returns the image of `row` as it is stored, in colours.
    pub fn rgb(&self, row: usize) -> Result<RgbPixels> {
        self.check(&[row])?;
        self.image()?;
        let picture = match &self.values {
            InputStore::Files(files) => picture::decode(&files[row].path, &files[row].bytes()?, 3)?,
            _ => self.picture(row)?,
        };
        let [channels, height, width] = picture.shape;
        if !matches!(channels, 1 | 3) {
            return Err(Error::NotImages { shape: picture.shape.to_vec() });
        }
        let plane = |channel: usize| &picture.pixels[channel % channels * height * width..][..height * width];
        let planes = [plane(0), plane(1), plane(2)];
        let pixels = (0..height * width).flat_map(|at| planes.map(|plane| plane[at])).collect();
        Ok(RgbPixels { width, height, pixels })
    }

    /// Returns a hash of the image of `row` as it is stored, which is equal for equal images only.
    pub fn content(&self, row: usize) -> Result<[u8; 32]> {
        self.check(&[row])?;
        match &self.values {
            InputStore::Files(files) => Ok(*blake3::hash(&files[row].bytes()?).as_bytes()),
            InputStore::Pixels { pixels, stored } => {
                let size = stored.iter().product::<usize>();
                let mut hash = Hasher::new();
                stored.iter().for_each(|&extent| _ = hash.update(&(extent as u64).to_le_bytes()));
                Ok(*hash.update(&pixels[row * size..(row + 1) * size]).finalize().as_bytes())
            }
            _ => Err(Error::NotImages { shape: self.shape.clone() }),
        }
    }

    /// Returns the image of `row` as a PNG with sides of at most 96 pixels, for display.
    pub fn thumbnail(&self, row: usize) -> Result<Vec<u8>> {
        self.check(&[row])?;
        self.image()?;
        let mut picture = self.picture(row)?;
        let [channels, height, width] = picture.shape;
        if height.max(width) > THUMBNAIL {
            let pixels = fit(&picture.pixels, picture.shape, THUMBNAIL);
            picture = Picture {
                shape: [channels, THUMBNAIL, THUMBNAIL],
                pixels: pixels.iter().map(|pixel| pixel.round() as u8).collect(),
            };
        }
        picture.png()
    }

    /// Returns the image of `row` in its full size: the path of its file, the bytes of a file in an archive, or pixels as a PNG.
    pub fn stored_image(&self, row: usize) -> Result<StoredImage> {
        self.check(&[row])?;
        self.image()?;
        match &self.values {
            InputStore::Files(files) => Ok(files[row].stored()),
            _ => Ok(StoredImage::Bytes(self.picture(row)?.png()?.into())),
        }
    }

    fn check(&self, rows: &[usize]) -> Result<()> {
        let count = self.len();
        match rows.iter().find(|&&row| row >= count) {
            Some(&row) => Err(Error::NoRow { row, rows: count }),
            None => Ok(()),
        }
    }

    fn image(&self) -> Result<[usize; 3]> {
        match self.shape[..] {
            [channels, height, width] if self.are_images() => Ok([channels, height, width]),
            _ => Err(Error::NotImages { shape: self.shape.clone() }),
        }
    }

    /// Returns the image of `row` in its stored size.
    fn picture(&self, row: usize) -> Result<Picture> {
        match &self.values {
            InputStore::Pixels { pixels, stored } => {
                let size = stored.iter().product::<usize>();
                Ok(Picture { shape: *stored, pixels: pixels[row * size..(row + 1) * size].to_vec() })
            }
            InputStore::Files(files) => {
                let file = &files[row];
                let picture = picture::decode(&file.path, &file.bytes()?, self.shape[0])?;
                let square = self.shape[1] == self.shape[2];
                if !square && self.shape != picture.shape {
                    return Err(Error::image(&file.path, "its size has changed since the data set was opened"));
                }
                Ok(picture)
            }
            _ => Err(Error::NotImages { shape: self.shape.clone() }),
        }
    }

    /// Applies `show` to the images of `rows` and concatenates the results.
    fn concatenated(&self, rows: &[usize], show: impl Fn(&Picture) -> Vec<f32> + Sync) -> Result<Vec<f32>> {
        let images = rows.par_iter().map(|&row| Ok(show(&self.picture(row)?))).collect::<Result<Vec<_>>>()?;
        Ok(images.concat())
    }
}

fn check_size(size: usize) -> Result<()> {
    let most = resize::MOST;
    if (1..=most).contains(&size) { Ok(()) } else { Err(Error::BadSize { size, most }) }
}

/// Concatenates the pieces of `size` values at `rows`.
fn gathered<T: Copy>(all: &[T], rows: &[usize], size: usize) -> Vec<T> {
    rows.iter().flat_map(|&row| &all[row * size..(row + 1) * size]).copied().collect()
}

fn read_pool(pool: &Pool, rows: &[usize]) -> Result<Vec<f32>> {
    let embeddings = pool.embeddings();
    let dim = pool.dim();
    let mut out = vec![0.0; rows.len() * dim];
    for (&row, out) in rows.iter().zip(out.chunks_exact_mut(dim)) {
        embeddings.values().write_f32(row * dim..(row + 1) * dim, out);
    }
    embeddings.check_read().map_err(|source| Error::NotFinite { path: pool.path().to_owned(), source })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_kind_are_read_in_the_order_asked_for() {
        let numbers: Vec<f32> = (0..6u8).map(f32::from).collect();
        let halves: Vec<u8> = numbers.iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect();
        let kinds = [
            Inputs::pixels([1, 1, 2], vec![0u8, 1, 2, 3, 4, 5]),
            Inputs::rows(2, numbers),
            Inputs::halves(vec![2], halves),
        ];
        for inputs in kinds {
            assert_eq!((inputs.len(), inputs.size()), (3, 2));
            assert!(inputs.is_same(&inputs.clone()) && !inputs.is_same(&inputs.subset(&[0, 1, 2]).unwrap()));
            assert_eq!(inputs.read(&[2, 0, 2]).unwrap(), [4.0, 5.0, 0.0, 1.0, 4.0, 5.0]);
            let message = inputs.read(&[0, 3]).unwrap_err().to_string();
            assert!(message.starts_with("there is no row 3 among 3 examples"), "{message}");
        }
    }

    #[test]
    fn grey_is_repeated_and_rows_of_numbers_are_not_images() {
        let inputs = Inputs::pixels([1, 2, 2], vec![0u8, 100, 0, 100]);
        let one = inputs.resized(&[0], 4).unwrap();
        assert_eq!(one[..4], [0.0, 25.0, 75.0, 100.0]);
        assert_eq!(inputs.resized_rgb(&[0], 4).unwrap(), one.repeat(3));
        assert_eq!(inputs.clone().with_size(4).unwrap().read(&[0]).unwrap(), one);
        assert!(inputs.resized(&[0], 0).unwrap_err().to_string().contains("give a size from 1"));
        let rows = Inputs::rows(4, vec![0.0; 4]);
        for error in [rows.resized(&[0], 4).unwrap_err(), rows.thumbnail(0).unwrap_err()] {
            assert!(error.to_string().contains("are not images"), "{error}");
        }
    }

    #[test]
    fn a_fingerprint_depends_on_contents_order_and_shape() {
        let inputs = Inputs::pixels([1, 1, 2], vec![0u8, 1, 2, 3, 0, 1]);
        let print = |rows: &[usize]| inputs.fingerprint(rows).unwrap();
        assert_eq!(print(&[0, 1]), print(&[2, 1]));
        assert_ne!(print(&[0, 1]), print(&[1, 0]));
        assert_ne!(print(&[0]), print(&[0, 0]));
        let upright = Inputs::pixels([1, 2, 1], vec![0u8, 1]);
        assert_ne!(print(&[0]), upright.fingerprint(&[0]).unwrap());
        let larger = inputs.clone().with_size(2).unwrap();
        assert_ne!(print(&[0]), larger.fingerprint(&[0]).unwrap());
        assert_eq!(print(&[0]).len(), 64);
    }

    #[test]
    fn a_thumbnail_is_the_image_as_a_png() {
        let colours: Vec<u8> = (0..12).map(|i| i * 20).collect();
        let inputs = Inputs::pixels([3, 2, 2], colours.clone());
        let png = inputs.thumbnail(0).unwrap();
        let back = picture::decode("a.png".as_ref(), &png, 3).unwrap();
        assert_eq!((back.shape, back.pixels), ([3, 2, 2], colours));
        let large = Inputs::pixels([1, 300, 200], vec![7u8; 60_000]);
        let png = large.thumbnail(0).unwrap();
        let back = picture::decode("a.png".as_ref(), &png, 1).unwrap();
        assert_eq!((back.shape, back.pixels), ([1, 96, 96], vec![7; 96 * 96]));
    }
}
