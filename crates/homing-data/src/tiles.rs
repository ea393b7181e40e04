//! Reads CIFAR-100 as tiles: `class_XX.webp` is a grid of 30 × 20 tiles of 32 × 32 pixels, row by row. The first 500 tiles are for
//! training and the last 100 for testing.

use rayon::prelude::*;

use crate::dataset::{Data, Dataset, unnamed};
use crate::files::{ListedFile, Listing};
use crate::picture;
use crate::{Error, Inputs, Result};

const SIDE: usize = 32;
const COLUMNS: usize = 30;
const ROWS: usize = 20;
const TRAIN: usize = 500;
const SHAPE: [usize; 3] = [3, SIDE, SIDE];
const PIXELS: usize = 3 * SIDE * SIDE;

/// Returns the class of a file of tiles.
fn class(file_name: &str) -> Option<usize> {
    let digits = file_name.strip_prefix("class_")?.strip_suffix(".webp")?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Reads the tiles of the file, one after the other.
fn read(entry: &ListedFile) -> Result<Vec<u8>> {
    let sheet = picture::decode(&entry.path, &entry.bytes()?, 3)?;
    let (height, width) = (ROWS * SIDE, COLUMNS * SIDE);
    if sheet.shape != [3, height, width] {
        let [_, found_height, found_width] = sheet.shape;
        let detail = format!("it has {found_width} × {found_height} pixels but a file of tiles has {width} × {height}");
        return Err(Error::image(&entry.path, &detail));
    }
    let mut tiles = Vec::with_capacity(sheet.pixels.len());
    for tile in 0..ROWS * COLUMNS {
        let (top, left) = (tile / COLUMNS * SIDE, tile % COLUMNS * SIDE);
        for channel in 0..3 {
            for row in 0..SIDE {
                let start = channel * height * width + (top + row) * width + left;
                tiles.extend_from_slice(&sheet.pixels[start..start + SIDE]);
            }
        }
    }
    Ok(tiles)
}

/// Opens the data set of tiles, if there is one.
pub(crate) fn open(listing: &Listing) -> Result<Option<Data>> {
    let mut sheets: Vec<(usize, &ListedFile)> =
        listing.entries.iter().filter_map(|entry| Some((class(entry.file_name())?, entry))).collect();
    if sheets.is_empty() {
        return Ok(None);
    }
    sheets.sort_by_key(|&(class, _)| class);
    if let Some(pair) = sheets.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(listing.several(pair[0].1, pair[1].1));
    }
    let last = sheets[sheets.len() - 1];
    let classes = listing.lines("fine_label_names.txt")?.unwrap_or_else(|| unnamed(last.0 + 1));
    if last.0 >= classes.len() {
        let (label, classes) = (last.0 as u32, classes.len());
        return Err(Error::LabelBeyond { path: last.1.path.clone(), row: 0, label, classes });
    }
    let tiles = sheets.par_iter().map(|(_, entry)| read(entry)).collect::<Result<Vec<Vec<u8>>>>()?;
    let split = |range: std::ops::Range<usize>| {
        let pixels = tiles.iter().flat_map(|tiles| &tiles[range.start * PIXELS..range.end * PIXELS]).copied();
        let rows = || sheets.iter().flat_map(|&(class, _)| range.clone().map(move |tile| (class, tile)));
        Dataset {
            inputs: Inputs::pixels(SHAPE, pixels.collect::<Vec<u8>>()),
            labels: rows().map(|(class, _)| Some(class as u32)).collect(),
            ids: rows().map(|(class, tile)| format!("{class:02}/{tile}")).collect(),
            classes: classes.clone(),
            texts: Vec::new(),
            pictures: None,
        }
    };
    Ok(Some(Data { train: split(0..TRAIN), test: Some(split(TRAIN..ROWS * COLUMNS)) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_name_determines_the_class() {
        assert_eq!((class("class_07.webp"), class("class_100.webp")), (Some(7), Some(100)));
        assert_eq!((class("class_.webp"), class("class_x.webp"), class("cat.webp")), (None, None, None));
    }
}
