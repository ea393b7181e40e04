//! The table of networks, one row per name. Parsing, help texts, errors and default learning rates come from it.

use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::efficientnet::Design;
use super::extent::Extent;
use super::{Cnn, Mlp, UNSCALED};
use crate::draw::Draw;
use crate::learner::Learner;
use crate::network::Network;
use crate::remedy::NameSet;
use crate::text::written_as_text;
use crate::{Error, Result};

/// One row of the table.
pub struct NetworkEntry {
    /// Name of the network; `WIDTHS` stands for numbers separated by commas.
    pub pattern: &'static str,
    /// A name with this pattern.
    pub example: &'static str,
    /// Whether the network is for images instead of rows of numbers.
    pub for_images: bool,
    /// Default learning rate of Adam; a single layer can take longer steps.
    pub learning_rate: f64,
    source: NetworkSource,
}

/// Origin of a network's weights.
enum NetworkSource {
    /// They are drawn at random.
    Random(fn(&Blueprint<'_>) -> Result<Box<dyn Learner>>),
    /// They are read from a file; the frozen part of the network runs once per image.
    Pretrained(Design),
}

/// Arguments for drawing a network.
struct Blueprint<'a> {
    name: &'a NetworkName,
    shape: &'a [usize],
    classes: usize,
    device: &'a Device,
}

const WIDTHS: &str = "WIDTHS";

macro_rules! networks {
    ($($pattern:literal $example:literal $inputs:ident $rate:literal $source:ident($make:expr);)*) => {
        /// All networks that have a name.
        pub static NETWORKS: &[NetworkEntry] = &[$(NetworkEntry {
            pattern: $pattern,
            example: $example,
            for_images: networks!($inputs),
            learning_rate: $rate,
            source: NetworkSource::$source($make),
        }),*];
    };
    (Images) => { true };
    (Rows) => { false };
}

// The first network for images and the first for rows are the defaults.
networks! {
    "cnn" "cnn" Images 1e-3 Random(cnn);
    "efficientnet-b0" "efficientnet-b0" Images 1e-3 Pretrained(Design::B0);
    "efficientnet-b0-half" "efficientnet-b0-half" Images 1e-3 Pretrained(Design::B0_HALF);
    "efficientnet-lite0" "efficientnet-lite0" Images 1e-3 Pretrained(Design::LITE0);
    "linear" "linear" Rows 0.03 Random(mlp);
    "mlp:WIDTHS" "mlp:256,128" Rows 0.01 Random(mlp);
}

/// Name of a network, which refers to a row of [`NETWORKS`].
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetworkName {
    entry: &'static NetworkEntry,
    widths: Vec<usize>,
}

impl NetworkName {
    /// Returns the default network for examples of `shape`.
    pub fn default_for(shape: &[usize]) -> Self {
        let fits = |entry: &&NetworkEntry| entry.for_images == (shape.len() == 3);
        Self {
            entry: NETWORKS.iter().find(fits).expect("the table has networks for images and for rows"),
            widths: Vec::new(),
        }
    }

    /// Returns the row of the table.
    pub fn entry(&self) -> &'static NetworkEntry {
        self.entry
    }

    /// Returns the design of a network that starts from the weights of a file, or none for one that is drawn at random.
    pub fn design(&self) -> Option<&'static Design> {
        match &self.entry.source {
            NetworkSource::Pretrained(design) => Some(design),
            NetworkSource::Random(_) => None,
        }
    }

    pub(super) fn draw(&self, shape: &[usize], classes: usize, device: &Device) -> Result<Box<dyn Learner>> {
        match &self.entry.source {
            NetworkSource::Random(make) => make(&Blueprint { name: self, shape, classes, device }),
            NetworkSource::Pretrained(_) => Err(Error::NoWeights { network: self.to_string() }),
        }
    }
}

impl FromStr for NetworkName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let parsed = |entry: &'static NetworkEntry| {
            let widths = match entry.pattern.strip_suffix(WIDTHS) {
                Some(prefix) => name.strip_prefix(prefix).and_then(widths)?,
                None => (name == entry.pattern).then(Vec::new)?,
            };
            Some(Self { entry, widths })
        };
        NETWORKS.iter().find_map(parsed).ok_or_else(|| Error::Name { of: NameSet::Network, name: name.into() })
    }
}

impl fmt::Display for NetworkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<String> = self.widths.iter().map(usize::to_string).collect();
        f.write_str(&self.entry.pattern.replace(WIDTHS, &widths.join(",")))
    }
}

impl fmt::Debug for NetworkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for NetworkName {
    fn eq(&self, other: &Self) -> bool {
        self.entry.pattern == other.entry.pattern && self.widths == other.widths
    }
}

written_as_text!(NetworkName);

/// Parses numbers above 0 that are separated by commas.
fn widths(list: &str) -> Option<Vec<usize>> {
    list.split(',').map(|width| width.trim().parse().ok().filter(|&width| width > 0)).collect()
}

/// Scale that maps pixels from 0 to 255 to −1 to 1.
const PIXELS: (f32, f32) = (127.5, 127.5);

fn scale(shape: &[usize]) -> (f32, f32) {
    if shape.len() == 3 { PIXELS } else { UNSCALED }
}

/// Side length in pixels of the smallest image that a cnn can halve three times.
const SMALLEST: usize = 8;

fn cnn(&Blueprint { name, shape, classes, device }: &Blueprint<'_>) -> Result<Box<dyn Learner>> {
    let &[channels, height, width] = shape else {
        return Err(Error::ImageShape { network: "cnn", least: SMALLEST, shape: shape.into() });
    };
    if height < SMALLEST || width < SMALLEST {
        return Err(Error::ImageShape { network: "cnn", least: SMALLEST, shape: shape.into() });
    }
    let shape = [channels, height, width];
    Extent::cnn(shape, classes).check(&name.to_string(), &shape)?;
    let net = Cnn::new(shape, classes, &mut Draw::new(0, 0, device));
    Ok(Box::new(Network::new(net, device, scale(&shape))))
}

fn mlp(&Blueprint { name, shape, classes, device }: &Blueprint<'_>) -> Result<Box<dyn Learner>> {
    let size = shape.iter().product();
    Extent::mlp(size, &name.widths, classes).check(&name.to_string(), shape)?;
    let net = Mlp::new(size, &name.widths, classes, &mut Draw::new(0, 0, device));
    Ok(Box::new(Network::new(net, device, scale(shape))))
}

/// Joins names as `a, b or c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Returns the names, for a message.
pub(crate) fn network_names() -> String {
    let names = |for_images: bool| {
        let of = |entry: &&NetworkEntry| entry.for_images == for_images;
        listed(&NETWORKS.iter().filter(of).map(|entry| entry.example).collect::<Vec<_>>())
    };
    format!("{} for images, {} for rows of numbers", names(true), names(false))
}

/// Returns the names, for the help of an option that takes a network.
pub fn network_help() -> String {
    let all: Vec<&str> = NETWORKS.iter().map(|entry| entry.pattern).collect();
    let pretrained: Vec<&str> = NETWORKS
        .iter()
        .filter(|entry| matches!(entry.source, NetworkSource::Pretrained(_)))
        .map(|entry| entry.pattern)
        .collect();
    format!(
        "{} ({} start from the weights of a file; their frozen part runs once per image, and its outputs are kept in the cache)",
        listed(&all),
        pretrained.join(", "),
    )
}

/// Returns the default learning rates, for the help of an option that sets one.
pub fn learning_rate_help() -> String {
    let usual = NETWORKS[0].learning_rate;
    let own = NETWORKS.iter().filter(|entry| entry.learning_rate != usual);
    let own: Vec<String> = own.map(|entry| format!("{} for {}", entry.learning_rate, entry.pattern)).collect();
    format!("Adam's learning rate; by default {}, {usual} for others", own.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_is_named_by_its_row() {
        for entry in NETWORKS {
            let name: NetworkName = entry.example.parse().unwrap();
            assert_eq!((name.to_string().as_str(), name.entry().pattern), (entry.example, entry.pattern));
        }
        for name in ["mlp", "mlp:", "mlp:0", "mlp:1,,2", "cnn:3", "resnet", ""] {
            let message = name.parse::<NetworkName>().unwrap_err().to_string();
            assert!(
                message.contains(
                    "use cnn, efficientnet-b0, efficientnet-b0-half or efficientnet-lite0 for images, linear or mlp:256,128"
                ),
                "{message}"
            );
        }
    }
}
