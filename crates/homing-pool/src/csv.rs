//! Tables of text, comma- or tab-separated.

use std::path::Path;

use ::csv::{ErrorKind, Reader, ReaderBuilder, StringRecord, Trim};
use bytes::Bytes;

use crate::error::{one_line, quoted};
use crate::layout::{Column, Embedding, Layout, Role};
use crate::pool::Contents;
use crate::table::{Gathered, Growing};
use crate::{Error, ReadOptions, Result};

/// Rows that are looked at to tell columns of numbers from columns of text.
const SAMPLE: usize = 100;

pub(crate) fn read(path: &Path, bytes: &Bytes, delimiter: u8, options: &ReadOptions) -> Result<Contents> {
    let mut records = Records::new(path, bytes, delimiter);
    let first = records.next()?.ok_or_else(|| Error::NoRows { path: path.to_owned() })?;
    let headed = is_header(&first);
    let names: Vec<String> = if headed {
        records.row = 0;
        first.iter().map(str::to_owned).collect()
    } else {
        (0..first.len()).map(|position| position.to_string()).collect()
    };
    let mut sample: Vec<StringRecord> = if headed { Vec::new() } else { vec![first] };
    while sample.len() < SAMPLE
        && let Some(record) = records.next()?
    {
        sample.push(record);
    }
    let columns: Vec<Column> =
        names.iter().enumerate().map(|(position, name)| column(name, position, &sample)).collect();
    if sample.is_empty() {
        return Err(Error::NoRows { path: path.to_owned() });
    }
    // Numbers in place of names tell nothing.
    let unnamed = ReadOptions { side_by_side: Vec::new(), ..options.clone() };
    let mut layout = Layout::choose(path, &columns, if headed { options } else { &unnamed })?;
    if !headed {
        layout.side_by_side.clear();
    }
    let mut table = TextTable { path, columns: &columns, gathered: Gathered::default(), row: 0 };
    for record in &sample {
        table.push(&layout, record)?;
    }
    while let Some(record) = records.next()? {
        table.push(&layout, &record)?;
    }
    table.gathered.finish(path, &layout)
}

/// The records of a file, each told by its row number when it cannot be read.
pub(crate) struct Records<'a> {
    path: &'a Path,
    reader: Reader<&'a [u8]>,
    pub(crate) row: usize,
}

impl<'a> Records<'a> {
    pub(crate) fn new(path: &'a Path, bytes: &'a [u8], delimiter: u8) -> Self {
        let reader = ReaderBuilder::new().has_headers(false).delimiter(delimiter).trim(Trim::All).from_reader(bytes);
        Self { path, reader, row: 0 }
    }

    pub(crate) fn next(&mut self) -> Result<Option<StringRecord>> {
        let mut record = StringRecord::new();
        let row = self.row;
        self.row += 1;
        match self.reader.read_record(&mut record) {
            Ok(true) => Ok(Some(record)),
            Ok(false) => Ok(None),
            Err(error) => Err(match *error.kind() {
                ErrorKind::UnequalLengths { expected_len, len, .. } => Error::Ragged {
                    path: self.path.to_owned(),
                    row,
                    found: len as usize,
                    expected: expected_len as usize,
                },
                ErrorKind::Utf8 { .. } => {
                    Error::BadRow { path: self.path.to_owned(), row, detail: "it is not UTF-8 text".to_owned() }
                }
                _ => Error::BadRow { path: self.path.to_owned(), row, detail: one_line(&error.to_string()) },
            }),
        }
    }
}

/// Whether a first line names columns: some field is no number, or they count up from 0 as pandas' do.
pub(crate) fn is_header(first: &StringRecord) -> bool {
    let counts_up = first.iter().enumerate().all(|(position, field)| field == position.to_string());
    first.iter().any(|field| number(field).is_none()) || (first.len() > 1 && counts_up)
}

pub(crate) fn number(field: &str) -> Option<f64> {
    field.parse().ok()
}

pub(crate) fn column(name: &str, position: usize, sample: &[StringRecord]) -> Column {
    let mut cells = sample.iter().filter_map(|record| record.get(position)).filter(|cell| !cell.is_empty());
    let (role, kind) = match cells.next() {
        Some(first) if first.starts_with('[') => (Role::Floats, "lists"),
        Some(first) if number(first).is_some() && cells.all(|cell| number(cell).is_some()) => (Role::Number, "numbers"),
        _ => (Role::Text, "text"),
    };
    Column { name: name.to_owned(), role, kind: kind.to_owned() }
}

struct TextTable<'a> {
    path: &'a Path,
    columns: &'a [Column],
    gathered: Gathered,
    row: usize,
}

impl TextTable<'_> {
    fn push(&mut self, layout: &Layout, record: &StringRecord) -> Result<()> {
        let cells = Cells { path: self.path, columns: self.columns, row: self.row, record };
        match &layout.embedding {
            Embedding::Column(position) => cells.list(*position, &mut self.gathered.embeddings)?,
            Embedding::Wide(positions) => {
                let values = positions.iter().map(|&i| cells.number(i)).collect::<Result<Vec<f64>>>()?;
                self.gathered.embeddings.push(self.path, self.row, &values)?;
            }
        }
        if let Some(position) = layout.probabilities {
            cells.list(position, &mut self.gathered.probabilities)?;
        }
        self.gathered.ids.extend(layout.id.map(|i| cells.text(i)).transpose()?);
        self.gathered.groups.extend(layout.group.map(|i| cells.text(i)).transpose()?);
        self.gathered.labels.extend(layout.label.map(|i| cells.label(i, layout.blank_labels)).transpose()?);
        self.gathered.costs.extend(layout.cost.map(|i| cells.number(i)).transpose()?);
        self.row += 1;
        Ok(())
    }
}

struct Cells<'a> {
    path: &'a Path,
    columns: &'a [Column],
    row: usize,
    record: &'a StringRecord,
}

impl Cells<'_> {
    fn cell(&self, position: usize) -> Result<&str> {
        let column = || quoted(&self.columns[position].name);
        self.record.get(position).filter(|cell| !cell.is_empty()).ok_or_else(|| Error::Null {
            path: self.path.to_owned(),
            row: self.row,
            column: column(),
        })
    }

    fn not_a_number(&self, position: usize, cell: &str) -> Error {
        let column = quoted(&self.columns[position].name);
        Error::NotANumber { path: self.path.to_owned(), row: self.row, column, value: quoted(cell) }
    }

    fn text(&self, position: usize) -> Result<String> {
        Ok(self.cell(position)?.to_owned())
    }

    fn label(&self, position: usize, blank: bool) -> Result<String> {
        match self.text(position) {
            Err(Error::Null { .. }) if blank => Ok(String::new()),
            text => text,
        }
    }

    fn number(&self, position: usize) -> Result<f64> {
        let cell = self.cell(position)?;
        number(cell).ok_or_else(|| self.not_a_number(position, cell))
    }

    fn list(&self, position: usize, growing: &mut Growing) -> Result<()> {
        let cell = self.cell(position)?;
        let values: Vec<f64> = serde_json::from_str(cell).map_err(|_| Error::BadRow {
            path: self.path.to_owned(),
            row: self.row,
            detail: format!("{} is not a JSON list of numbers", quoted(cell)),
        })?;
        growing.push(self.path, self.row, &values)
    }
}
