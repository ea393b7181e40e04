//! Pages of plots with legends, tables and pictures.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use crate::{Result, render_page};

pub use crate::plot::{Plot, Size};

/// A page of plots.
#[derive(Debug, Clone, Serialize)]
pub struct Page {
    pub title: String,
    pub version: &'static str,
    pub summary: String,
    pub sections: Vec<Section>,
}

impl Page {
    pub fn new(title: &str, summary: &str, sections: Vec<Section>) -> Self {
        Self { title: title.into(), version: env!("CARGO_PKG_VERSION"), summary: summary.into(), sections }
    }

    /// Renders the page as one HTML file.
    pub fn render(&self) -> Result<String> {
        render_page("experiment.html", self)
    }
}

/// Plots that belong together, with their legend and their table.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Section {
    pub title: String,
    pub note: String,
    pub columns: usize,
    pub plots: Vec<Plot>,
    pub keys: Vec<Key>,
    /// Rows of the table; the first row is the header.
    pub table: Vec<Vec<String>>,
    /// Rows of pictures.
    pub strips: Vec<Strip>,
}

/// Entry of a legend.
#[derive(Debug, Clone, Serialize)]
pub struct Key {
    pub class: String,
    pub d: &'static str,
    pub text: String,
    pub shade: bool,
}

/// Returns a legend entry with the line, dot or bar that the class is drawn with.
pub fn key(class: &str, text: &str) -> Key {
    let d = if class.starts_with("between") || class.starts_with("wider") {
        "M0 1H26V11H0Z"
    } else if class.contains("dots") || class == "obs" {
        "M13 6h0"
    } else if class.starts_with("diamonds") {
        "M13 1l5 5-5 5-5-5z"
    } else {
        "M0 6H26"
    };
    Key { class: class.into(), d, text: text.into(), shade: false }
}

/// Pictures side by side, with the text that describes them.
#[derive(Debug, Clone, Serialize)]
pub struct Strip {
    pub text: String,
    pub pictures: Vec<Picture>,
}

/// A picture and its description.
#[derive(Debug, Clone, Serialize)]
pub struct Picture {
    /// Data URI of the picture.
    pub source: String,
    pub text: String,
    /// Whether the picture belongs to the task, if that is known.
    pub in_task: Option<bool>,
}

impl Picture {
    /// Creates a picture from the bytes of a PNG file.
    pub fn png(file: &[u8], text: String, in_task: Option<bool>) -> Self {
        Self { source: format!("data:image/png;base64,{}", BASE64_STANDARD.encode(file)), text, in_task }
    }
}
