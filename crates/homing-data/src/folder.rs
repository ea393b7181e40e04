//! Images in folders: `class/name.png`, or `train/class/name.png` and `test/class/name.png`.

use std::path::PathBuf;

use rayon::prelude::*;

use crate::dataset::{Data, Named};
use crate::error::Extent;
use crate::files::{Entry, Listing};
use crate::picture::{self, Front};
use crate::{Error, Inputs, Result};

const TRAIN: &str = "train";
const TEST: [&str; 4] = ["test", "val", "valid", "validation"];

/// An image, and its name below the folders that all share.
struct Image<'a> {
    entry: &'a Entry,
    name: &'a str,
}

impl<'a> Image<'a> {
    /// The outermost folder of the name, and what follows it.
    fn split(&self) -> Option<(&'a str, &'a str)> {
        self.name.split_once('/')
    }
}

/// The images of the listing, if there are any; `size` is what they will be resized to.
pub(crate) fn open(listing: &Listing, size: Option<usize>) -> Result<Option<Data>> {
    let named = listing.entries.iter().filter(|entry| picture::is_named(&entry.name));
    let mut images: Vec<Image<'_>> = named.map(|entry| Image { entry, name: &entry.name }).collect();
    if images.is_empty() {
        return Ok(None);
    }
    while let Some(prefix) = shared(&images) {
        images.iter_mut().for_each(|image| image.name = &image.name[prefix..]);
    }
    let fronts = images
        .par_iter()
        .map(|image| picture::front(&image.entry.path, &image.entry.bytes()?))
        .collect::<Result<Vec<Front>>>()?;
    let shape = shape(&images, &fronts, size)?;

    let top = |names: &[&str]| names.iter().any(|name| images.iter().any(|image| in_folder(image, name)));
    let split = top(&[TRAIN]) && images.iter().all(|image| in_folder(image, TRAIN) || in_any(image, &TEST));
    if !split {
        return Data::named(&listing.root, set(shape, images.iter().map(|image| (image.entry, image.name))), None)
            .map(Some);
    }
    let part = |train: bool| {
        let within = images.iter().filter(move |image| in_folder(image, TRAIN) == train);
        set(shape, within.filter_map(|image| Some((image.entry, image.split()?.1))))
    };
    let test = Some(part(false)).filter(|test| !test.inputs.is_empty());
    Data::named(&listing.root, part(true), test).map(Some)
}

fn in_folder(image: &Image<'_>, folder: &str) -> bool {
    image.split().is_some_and(|(first, _)| first == folder)
}

fn in_any(image: &Image<'_>, folders: &[&str]) -> bool {
    folders.iter().any(|folder| in_folder(image, folder))
}

/// Bytes of the outermost folder, where it holds every image and folders of them.
fn shared(images: &[Image<'_>]) -> Option<usize> {
    let (first, _) = images[0].split()?;
    let within = |image: &Image<'_>| image.split().is_some_and(|(folder, rest)| folder == first && rest.contains('/'));
    let split = [&[TRAIN][..], &TEST].concat().contains(&first);
    (!split && images.iter().all(within)).then_some(first.len() + 1)
}

/// The shape of all images: grey if all are, and of one size unless they will be resized.
fn shape(images: &[Image<'_>], fronts: &[Front], size: Option<usize>) -> Result<[usize; 3]> {
    let channels = if fronts.iter().all(|front| front.gray) { 1 } else { 3 };
    if let Some(size) = size {
        return Ok([channels, size, size]);
    }
    let extent = |front: &Front| Extent(front.width, front.height);
    let path = |at: usize| -> PathBuf { images[at].entry.path.clone() };
    match fronts.iter().position(|front| extent(front) != extent(&fronts[0])) {
        None => Ok([channels, fronts[0].height, fronts[0].width]),
        Some(other) => Err(Error::Sizes {
            path: path(other),
            found: extent(&fronts[other]),
            first: path(0),
            expected: extent(&fronts[0]),
        }),
    }
}

/// Images under names of `class/name`; one without a class has no label.
fn set<'a>(shape: [usize; 3], images: impl Iterator<Item = (&'a Entry, &'a str)>) -> Named {
    let (mut files, mut labels, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for (entry, name) in images {
        files.push(entry.clone());
        labels.push(name.split_once('/').map_or_else(String::new, |(class, _)| class.to_owned()));
        ids.push(name.to_owned());
    }
    Named { inputs: Inputs::files(shape, files), labels, ids }
}
