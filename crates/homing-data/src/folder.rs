//! Reads images in folders: `class/name.png`, or `train/class/name.png` and `test/class/name.png`.

use std::path::PathBuf;

use rayon::prelude::*;

use crate::dataset::{Data, NamedExamples};
use crate::error::ImageSize;
use crate::files::{ListedFile, Listing};
use crate::picture::{self, ImageHeader};
use crate::{Error, Inputs, Result};

const TRAIN: &str = "train";
const TEST: [&str; 4] = ["test", "val", "valid", "validation"];

/// An image, and its name relative to the folder that all images share.
struct Image<'a> {
    entry: &'a ListedFile,
    name: &'a str,
}

impl<'a> Image<'a> {
    /// Splits the name into its outermost folder and the rest.
    fn split(&self) -> Option<(&'a str, &'a str)> {
        self.name.split_once('/')
    }
}

/// Opens the images of the listing, if there are any; `size` is the size to which they will be resized.
pub(crate) fn open(listing: &Listing, size: Option<usize>) -> Result<Option<Data>> {
    let named = listing.entries.iter().filter(|entry| picture::is_named(&entry.name));
    let mut images: Vec<Image<'_>> = named.map(|entry| Image { entry, name: &entry.name }).collect();
    if images.is_empty() {
        return Ok(None);
    }
    while let Some(prefix) = shared(&images) {
        images.iter_mut().for_each(|image| image.name = &image.name[prefix..]);
    }
    let headers = images
        .par_iter()
        .map(|image| picture::header(&image.entry.path, &image.entry.bytes()?))
        .collect::<Result<Vec<ImageHeader>>>()?;
    let shape = shape(&images, &headers, size)?;

    let top = |names: &[&str]| names.iter().any(|name| images.iter().any(|image| in_folder(image, name)));
    let split = top(&[TRAIN]) && images.iter().all(|image| in_folder(image, TRAIN) || in_any(image, &TEST));
    if !split {
        return Data::with_named_classes(
            &listing.root,
            set(shape, images.iter().map(|image| (image.entry, image.name))),
            None,
        )
        .map(Some);
    }
    let part = |train: bool| {
        let within = images.iter().filter(move |image| in_folder(image, TRAIN) == train);
        set(shape, within.filter_map(|image| Some((image.entry, image.split()?.1))))
    };
    let test = Some(part(false)).filter(|test| !test.inputs.is_empty());
    Data::with_named_classes(&listing.root, part(true), test).map(Some)
}

fn in_folder(image: &Image<'_>, folder: &str) -> bool {
    image.split().is_some_and(|(first, _)| first == folder)
}

fn in_any(image: &Image<'_>, folders: &[&str]) -> bool {
    folders.iter().any(|folder| in_folder(image, folder))
}

/// Returns the length of the outermost folder's name if every image is in a subfolder of it.
fn shared(images: &[Image<'_>]) -> Option<usize> {
    let (first, _) = images[0].split()?;
    let within = |image: &Image<'_>| image.split().is_some_and(|(folder, rest)| folder == first && rest.contains('/'));
    let split = [&[TRAIN][..], &TEST].concat().contains(&first);
    (!split && images.iter().all(within)).then_some(first.len() + 1)
}

/// Returns the shape of all images: one channel if all are grey. Unless they will be resized, they must have the same size.
fn shape(images: &[Image<'_>], headers: &[ImageHeader], size: Option<usize>) -> Result<[usize; 3]> {
    let channels = if headers.iter().all(|header| header.gray) { 1 } else { 3 };
    if let Some(size) = size {
        return Ok([channels, size, size]);
    }
    let extent = |header: &ImageHeader| ImageSize(header.width, header.height);
    let path = |at: usize| -> PathBuf { images[at].entry.path.clone() };
    match headers.iter().position(|header| extent(header) != extent(&headers[0])) {
        None => Ok([channels, headers[0].height, headers[0].width]),
        Some(other) => Err(Error::Sizes {
            path: path(other),
            found: extent(&headers[other]),
            first: path(0),
            expected: extent(&headers[0]),
        }),
    }
}

/// Labels images by their names, which are `class/name`; an image outside a class folder has no label.
fn set<'a>(shape: [usize; 3], images: impl Iterator<Item = (&'a ListedFile, &'a str)>) -> NamedExamples {
    let (mut files, mut labels, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for (entry, name) in images {
        files.push(entry.clone());
        labels.push(name.split_once('/').map_or_else(String::new, |(class, _)| class.to_owned()));
        ids.push(name.to_owned());
    }
    NamedExamples { inputs: Inputs::files(shape, files), labels, ids, texts: Vec::new() }
}
