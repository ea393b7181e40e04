//! Tables whose embeddings are still to be computed from their texts or images.

use std::path::Path;

use crate::chooser::positions;
use crate::matrix::{Matrix, Numbers};
use crate::pool::{Contents, RowColumns};
use crate::table_columns::TableColumns;
use crate::{Error, Format, Pool, ReadOptions, Result, RowValues};

/// A table without embeddings. [`RawTable::with_embeddings`] turns it into a [`Pool`] once they are computed.
///
/// ```
/// use homing_pool::{RawTable, ReadOptions};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("tickets.csv");
/// std::fs::write(&path, "id,text,stars\na,the parcel is lost,1\nb,it works,5\n")?;
///
/// let table = RawTable::open(&path, &ReadOptions::default())?;
/// assert_eq!(table.text_column(), Some("text"));
/// let texts = table.column("text")?;
/// let lengths: Vec<f32> = texts.iter().map(|text| text.len() as f32).collect();
/// let pool = table.with_embeddings(lengths, 1)?;
/// assert_eq!(pool.embeddings().row(1), [8.0]);
/// assert_eq!(pool.ids().unwrap(), ["a", "b"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RawTable(Pool);

impl RawTable {
    /// Reads the table at `path`, or the dataset of shards if it is a folder. Its embeddings are not read, if it has any.
    ///
    /// The column of texts is the one that is named, one with a usual name of texts or paths, or the only column of texts.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        let mut options = options.clone().side_by_side([]).embedding(None);
        options.computed = true;
        match Format::of(path) {
            Ok(format) if !format.is_table() => {
                let name = options.text.as_deref().map_or_else(|| "column of texts".to_owned(), crate::message::quoted);
                Err(Error::NoColumns { path: path.to_owned(), name })
            }
            _ => Pool::open(path, &options).map(Self),
        }
    }

    /// Returns a table in memory, with these columns of texts, each with its name and one value per row. `text` is the number of the
    /// column that shows people what a row is. `path` is where the texts came from, for messages.
    pub fn in_memory(
        path: &Path,
        columns: Vec<(String, Vec<String>)>,
        text: Option<usize>,
        ids: Option<Vec<String>>,
        labels: Option<Vec<String>>,
    ) -> Result<Self> {
        positions(path, columns.iter().map(|(name, _)| name.as_str()))?;
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        if rows == 0 {
            return Err(Error::NoRows { path: path.to_owned() });
        }
        let others = columns.iter().map(|(name, values)| (name.as_str(), values.len()));
        let others = others.chain(ids.iter().map(|ids| ("id", ids.len())));
        for (name, found) in others.chain(labels.iter().map(|labels| ("label", labels.len()))) {
            if found != rows {
                return Err(Error::ColumnLength { path: path.to_owned(), name: name.to_owned(), found, rows });
            }
        }
        let (names, values): (Vec<String>, Vec<Vec<String>>) = columns.into_iter().unzip();
        let contents = Contents {
            embeddings: placeholder(rows),
            columns: RowColumns { ids, labels, ..RowColumns::default() },
            side_by_side: Vec::new(),
            ignored_numbers: Vec::new(),
            table: TableColumns::in_memory(&names, text),
            in_memory: Some(values),
        };
        Ok(Self(Pool {
            path: path.to_owned(),
            files: None,
            format: Format::Csv,
            cost: None,
            contents: Box::new(contents),
        }))
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.0.rows()
    }

    /// Returns the path from which the table was read.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the file that holds a row.
    pub fn file(&self, row: usize) -> &Path {
        self.0.files().map_or(self.path(), |files| files.place(row).0)
    }

    /// Returns the name of the column of texts, if there is one.
    pub fn text_column(&self) -> Option<&str> {
        self.0.text_column()
    }

    /// Whether the rows have ids.
    pub fn has_ids(&self) -> bool {
        self.0.ids().is_some()
    }

    /// Returns the names of all columns that may hold texts or numbers, except that of the ids.
    pub fn columns(&self) -> Vec<String> {
        self.0.choose_columns(&crate::ColumnChoice::All).unwrap_or_default()
    }

    /// Reads all texts of a column. A row without a value has an empty text.
    pub fn column(&self, name: &str) -> Result<Vec<String>> {
        let rows: Vec<usize> = (0..self.rows()).collect();
        let values: RowValues = self.0.values(&[name.to_owned()], &rows)?;
        Ok(rows.into_iter().map(|row| values.text(0, row).unwrap_or_default()).collect())
    }

    /// Returns the table as a pool with these embeddings, row by row, with `dim` numbers each.
    pub fn with_embeddings(self, values: Vec<f32>, dim: usize) -> Result<Pool> {
        let (rows, found) = (self.rows(), values.len() / dim.max(1));
        let mut pool = self.0;
        let matrix = Matrix::new(Numbers::F32(values), dim).filter(|matrix| matrix.rows() == rows);
        pool.contents.embeddings = matrix.ok_or_else(|| Error::ColumnLength {
            path: pool.path.clone(),
            name: "embedding".to_owned(),
            found,
            rows,
        })?;
        Ok(pool)
    }
}

/// Stands for the embeddings that are not computed yet.
fn placeholder(rows: usize) -> Matrix {
    Matrix::new(Numbers::F32(vec![0.0; rows]), 1).expect("there is at least one row")
}
