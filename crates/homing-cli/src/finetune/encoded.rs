//! Data sets of texts and images whose embeddings are the inputs of the network.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use homing_data::{Data, Dataset, Inputs, NamedExamples, OpenOptions};
use homing_encode::{Cache, EncoderChoice, Items, Session, holds_items};
use homing_pool::{ColumnChoice, Format, LABEL_NAMES, ReadOptions, read_column};
use homing_train::{DataSpec, RunSpec};

use crate::files::encoding_progress;

/// Standard deviation of the noise that suits rows of length 1, as in `homing select`.
pub const NOISE_STD: f64 = 1.0;

/// Whether the data must be embedded: an encoder was named, or the data are texts.
pub fn needs_encoder(spec: &DataSpec) -> bool {
    let path = &*spec.path;
    let are_lines = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("txt"));
    let has_no_numbers = || {
        let columns = ReadOptions::default().embedding(spec.embedding_column.clone()).blank_labels(true);
        let columns = columns.label(spec.label_column.clone());
        path.is_file() && Format::of(path).is_ok() && holds_items(path, &columns)
    };
    match EncoderChoice::named(spec.encoder.as_deref()) {
        EncoderChoice::None => false,
        EncoderChoice::Automatic => are_lines || has_no_numbers(),
        EncoderChoice::BuiltIn | EncoderChoice::Model(_) => true,
    }
}

/// Opens the data and the targets of a run, and embeds both.
pub fn open(spec: &RunSpec, options: &OpenOptions, quiet: bool) -> Result<(Data, Option<Dataset>)> {
    if options.size.is_some() || options.embedding.is_some() {
        bail!("--size and --embedding-column are for data that are used as they are; leave them out with an encoder");
    }
    let session = Session::new(EncoderChoice::named(spec.data.encoder.as_deref()))?.with_cache(Cache::usual());
    let mut reader = EncodedReader { session, spec: &spec.data, quiet, mean: Vec::new() };
    let data = reader.data(&spec.data.path, options)?;
    let bare = OpenOptions { labels: None, ..options.clone() };
    let targets = spec.task.targets.as_deref().map(|path| reader.data(path, &bare)).transpose()?;
    Ok((data, targets.map(|targets| targets.train)))
}

struct EncodedReader<'a> {
    session: Session,
    spec: &'a DataSpec,
    quiet: bool,
    /// Mean of the pool's embeddings, once they are known.
    mean: Vec<f64>,
}

impl EncodedReader<'_> {
    fn data(&mut self, path: &Path, options: &OpenOptions) -> Result<Data> {
        if let Some(data) = images(path, options) {
            let train = self.pictures(data.train, path)?;
            return Ok(Data { train, test: data.test.map(|test| self.pictures(test, path)).transpose()? });
        }
        let (train, test) = match parts(path) {
            Some((train, test)) => (train, Some(test)),
            None => (path.to_owned(), None),
        };
        let examples = self.examples(&train, options)?;
        let tests =
            test.map(|test| self.examples(&test, &OpenOptions { labels: None, ..options.clone() })).transpose()?;
        Ok(Data::with_named_classes(path, examples, tests)?)
    }

    /// Replaces images by their embeddings.
    fn pictures(&mut self, data: Dataset, path: &Path) -> Result<Dataset> {
        let items = Items::Images(data.inputs.clone());
        let values = self.session.embed(&items, path, &mut encoding_progress(self.quiet))?;
        let dim = values.len() / data.len().max(1);
        let inputs = self
            .prepared(values.chunks_exact(dim.max(1)).map(|row| row.iter().map(|&value| f64::from(value)).collect()));
        Ok(Dataset { pictures: Some(data.inputs), inputs, ..data })
    }

    /// Embeds the texts, or the images that a table lists.
    fn examples(&mut self, path: &Path, options: &OpenOptions) -> Result<NamedExamples> {
        let columns = ReadOptions::default().text(self.spec.text_column.clone()).blank_labels(true);
        let opened = self.session.open(path, &columns, &mut encoding_progress(self.quiet))?;
        let pool = opened.pool;
        let rows: Vec<usize> = (0..pool.rows()).collect();
        let column = |name: &str| -> Result<Vec<String>> {
            let values = pool.values(&[name.to_owned()], &rows)?;
            Ok(rows.iter().map(|&row| values.text(0, row).unwrap_or_default()).collect())
        };
        let names = pool.choose_columns(&ColumnChoice::All)?;
        let usual =
            || LABEL_NAMES.iter().find(|usual| names.iter().any(|name| name == *usual)).map(|&name| name.to_owned());
        let labels = match (&options.labels, options.label_column.clone().or_else(usual)) {
            (Some(file), _) => read_column(file, options.label_column.as_deref())?,
            (None, Some(name)) => column(&name)?,
            (None, None) => vec![String::new(); rows.len()],
        };
        if labels.len() != rows.len() {
            let path = options.labels.clone().unwrap_or_default();
            return Err(homing_data::Error::LabelCount { path, labels: labels.len(), examples: rows.len() }.into());
        }
        let labels = labels.into_iter().map(|label| label.trim().to_owned()).collect();
        let texts = pool.text_column().map(column).transpose()?.unwrap_or_default();
        let ids = pool.ids().map_or_else(|| rows.iter().map(ToString::to_string).collect(), <[String]>::to_vec);
        let inputs = self.prepared(rows.iter().map(|&row| pool.embeddings().row(row)));
        Ok(NamedExamples { inputs, labels, ids, texts })
    }

    /// Subtracts the mean of the pool from embeddings and scales them to length 1, as `homing select` does.
    fn prepared(&mut self, rows: impl ExactSizeIterator<Item = Vec<f64>>) -> Inputs {
        let count = rows.len();
        let rows: Vec<Vec<f64>> = rows.collect();
        let dim = rows.first().map_or(1, Vec::len);
        if self.mean.is_empty() {
            self.mean = vec![0.0; dim];
            for row in &rows {
                self.mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / count as f64);
            }
        }
        let mut values = Vec::with_capacity(count * dim);
        for row in rows {
            let centred: Vec<f64> = row.iter().zip(&self.mean).map(|(value, mean)| value - mean).collect();
            let length = centred.iter().map(|value| value * value).sum::<f64>().sqrt();
            values.extend(centred.iter().map(|value| if length > 0.0 { (value / length) as f32 } else { 0.0 }));
        }
        Inputs::rows(dim, values)
    }
}

/// Opens a data set of images, unless the path holds something else.
fn images(path: &Path, options: &OpenOptions) -> Option<Data> {
    let own = OpenOptions { labels: None, label_column: None, size: Some(SIZE), ..options.clone() };
    if path.is_file() && Format::of(path).is_ok() {
        return None;
    }
    homing_data::open(path, &own).ok().filter(|data| data.train.inputs.are_images())
}

/// Side to which images are resized for the reports only: encoders read them as they are stored.
const SIZE: usize = 224;

/// Returns the tables `train` and `test` of a folder.
fn parts(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let entries: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    let find = |stem: &str| {
        let is_it = |path: &&PathBuf| path.file_stem().is_some_and(|name| name == stem) && path.is_file();
        entries.iter().find(is_it).cloned()
    };
    Some((find("train")?, find("test")?))
}
