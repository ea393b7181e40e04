//! Trains the classifier on the labels so far and follows its accuracy.

use serde::Serialize;

use crate::data::LabelData;
use crate::head::{self, Head};
use crate::{Error, Result};

/// Cross-validated accuracy after some labels: each row is predicted without its own label.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Number of labels.
    pub labels: usize,
    /// Share of these rows whose class is predicted correctly without their own label.
    pub accuracy: f64,
}

/// The labels that were trained on, and the accuracy curve over them.
#[derive(Default)]
pub(crate) struct Trainer {
    basis: Vec<(usize, u32)>,
    curve: Vec<CurvePoint>,
}

impl Trainer {
    /// Trains on the labels, and adds the missing points of the curve.
    pub fn train(&mut self, data: &LabelData, labels: &[(usize, u32)], classes: usize) -> Result<Option<Head>> {
        let shared = self.basis.iter().zip(labels).take_while(|(a, b)| a == b).count();
        self.basis = labels.to_vec();
        self.curve.retain(|point| point.labels <= shared && is_marked(point.labels));
        let from = self.curve.last().map_or(0, |point| point.labels);
        for count in (from + 1..labels.len()).filter(|&count| is_marked(count)) {
            self.add(fit(data, &labels[..count], classes)?.as_ref(), count);
        }
        let head = fit(data, labels, classes)?;
        if self.curve.last().is_none_or(|point| point.labels < labels.len()) {
            self.add(head.as_ref(), labels.len());
        }
        Ok(head)
    }

    fn add(&mut self, head: Option<&Head>, labels: usize) {
        self.curve.extend(head.map(|head| CurvePoint { labels, accuracy: head.accuracy }));
    }

    /// Returns the accuracy after numbers of labels.
    pub fn curve(&self) -> &[CurvePoint] {
        &self.curve
    }
}

/// Whether the curve has a point after this number of labels.
fn is_marked(labels: usize) -> bool {
    match labels {
        0..=100 => labels.is_multiple_of(5),
        101..=500 => labels.is_multiple_of(50),
        _ => labels.is_multiple_of(500),
    }
}

fn fit(data: &LabelData, labels: &[(usize, u32)], classes: usize) -> Result<Option<Head>> {
    let latest = &labels[labels.len().saturating_sub(head::MOST)..];
    let (rows, classes_of): (Vec<usize>, Vec<u32>) = latest.iter().copied().unzip();
    if !head::suffices(&classes_of) {
        return Ok(None);
    }
    let embeddings = data.embeddings()?;
    let points = homing::Points::from(embeddings).gather(&rows);
    embeddings.check_read().map_err(Error::from)?;
    Ok(Head::train(&*data.kernel, points, embeddings.dim(), &classes_of, classes))
}
