//! Reads text tables: CSV and TSV.

use std::collections::HashSet;
use std::path::Path;

use ::csv::StringRecord;
use bytes::Bytes;

use crate::chooser::is_index;
use crate::format::{Beginning, FormatReader};
use crate::layout::{BLANK, Column, Embedding, Layout, Role};
use crate::memory_budget::MemoryBudget;
use crate::message::quoted;
use crate::pool::Contents;
use crate::records::{FirstLine, Records, filled, has_decimal_comma, number};
use crate::row_values::ValueReader;
use crate::table::{MatrixBuilder, TableBuilder};
use crate::table_columns::TableColumns;
use crate::{Error, ReadOptions, Result, column, many, row_files};

/// Number of rows that are read to distinguish columns of numbers from columns of text.
pub(crate) const SAMPLE: usize = 100;

const DECIMAL_COMMA: &str = "numbers with a decimal comma";

pub(crate) const CSV_READER: FormatReader = FormatReader {
    extensions: &["csv"],
    description: "a table of text",
    beginning: Beginning::Text,
    in_place: false,
    pool: |path, store, options| read(path, &store.bytes()?, None, options),
    column: |path, bytes, name| column::text_column(path, bytes, None, name),
    rows: |path, bytes| row_files::text_table(path, bytes, None),
    values: |path, bytes, reader| values(path, bytes, None, reader),
    count: many::count_by_reading,
    shard: None,
};

const TAB: Option<u8> = Some(b'\t');

pub(crate) const TSV_READER: FormatReader = FormatReader {
    extensions: &["tsv"],
    pool: |path, store, options| read(path, &store.bytes()?, TAB, options),
    column: |path, bytes, name| column::text_column(path, bytes, TAB, name),
    rows: |path, bytes| row_files::text_table(path, bytes, TAB),
    values: |path, bytes, reader| values(path, bytes, TAB, reader),
    ..CSV_READER
};

/// Reads a table whose fields are separated by `separator`, or by the separator that its first lines suggest.
fn read(path: &Path, bytes: &Bytes, separator: Option<u8>, options: &ReadOptions) -> Result<Contents> {
    let mut records = Records::new(path, bytes, separator);
    let first = records.next()?.ok_or_else(|| Error::NoRows { path: path.to_owned() })?;
    let line = FirstLine::of(&first);
    records.row = usize::from(matches!(line, FirstLine::Row | FirstLine::Whole));
    let mut sample: Vec<StringRecord> = Vec::new();
    while sample.len() < SAMPLE
        && let Some(record) = records.next()?
    {
        sample.push(record);
    }
    // Names of the pool's columns are also names in the file of the targets.
    let known = || {
        let fields: HashSet<&str> = first.iter().map(str::trim).collect();
        !options.side_by_side.is_empty() && options.side_by_side.iter().all(|name| fields.contains(name.as_str()))
    };
    let numbered = matches!(line, FirstLine::Counting | FirstLine::Whole | FirstLine::Padded);
    let headed = (numbered && known()) || line.is_header(path, &first, &sample)?;
    let names: Vec<String> = if headed {
        first.iter().map(|name| name.trim().to_owned()).collect()
    } else {
        (0..first.len()).map(|position| position.to_string()).collect()
    };
    records.row = sample.len() + usize::from(!headed);
    if !headed {
        sample.insert(0, first);
    }
    let columns: Vec<Column> =
        names.iter().enumerate().map(|(position, name)| sampled_column(name, position, &sample)).collect();
    if sample.is_empty() {
        return Err(Error::NoRows { path: path.to_owned() });
    }
    // A table without a header has no names that could match those of another file.
    let unnamed = options.clone().side_by_side([]);
    let layout = Layout::choose(path, &columns, if headed { options } else { &unnamed });
    let mut unclear = UnclearColumns::new(path, &columns, &layout, options);
    // In a table separated by commas, a decimal comma stands in quotes. Texts may contain such cells, and they matter only if
    // number columns are the embedding.
    if (records.separator != b',' && !options.computed) || unclear.wide {
        refuse_decimal_commas(path, &columns, &layout)?;
    }
    unclear.refuse_mixed(&sample)?;
    let mut layout = layout?;
    if !headed {
        layout.side_by_side.clear();
        layout.ignored_numbers.clear();
    }
    let mut table = TextTable { path, columns: &columns, builder: TableBuilder::new(&layout), row: 0 };
    for record in &sample {
        table.push(&layout, record)?;
    }
    while let Some(record) = records.next()? {
        unclear.refuse_late(table.row, &record)?;
        table.push(&layout, &record)?;
    }
    let TextTable { builder, .. } = table;
    let columns = if headed { TableColumns::new(columns, &layout) } else { TableColumns::default() };
    builder.finish(path, &layout, columns)
}

/// Reads fields of a table with a header.
fn values(path: &Path, bytes: &Bytes, separator: Option<u8>, reader: &mut ValueReader) -> Result<()> {
    let mut records = Records::new(path, bytes, separator);
    let header = records.next()?.unwrap_or_default();
    let positions = reader.positions(path, header.iter().map(str::trim))?;
    records.row = 0;
    while let Some(wanted) = reader.next_row() {
        let row = records.row;
        let Some(record) = records.next()? else { break };
        if row == wanted {
            reader.push_texts(path, positions.iter().map(|&position| record.get(position).unwrap_or_default()))?;
        }
    }
    Ok(())
}

pub(crate) fn sampled_column(name: &str, position: usize, sample: &[StringRecord]) -> Column {
    let cells = || sample.iter().filter_map(|record| record.get(position)).filter_map(filled);
    let all = |is: fn(&str) -> bool| cells().all(is);
    let (role, kind) = match () {
        () if cells().next().is_none() => (Role::Text, BLANK),
        () if cells().next().is_some_and(is_list) => (Role::Floats, "lists"),
        () if all(|cell| number(cell).is_some()) => (Role::Number, "numbers"),
        () if all(|cell| number(cell).is_some() || has_decimal_comma(cell)) => (Role::Text, DECIMAL_COMMA),
        () => (Role::Text, "text"),
    };
    Column { name: name.to_owned(), role, kind: kind.to_owned() }
}

fn is_list(cell: &str) -> bool {
    cell.trim_start().starts_with('[') && serde_json::from_str::<Vec<f64>>(cell).is_ok()
}

/// Returns the columns that are used as texts.
fn used(layout: &Result<Layout>) -> [Option<usize>; 4] {
    layout.as_ref().map_or([None; 4], |layout| [layout.id, layout.group, layout.label, layout.text])
}

/// Refuses a table with decimal commas, whose numbers would be left out as texts, unless those columns are used as texts.
fn refuse_decimal_commas(path: &Path, columns: &[Column], layout: &Result<Layout>) -> Result<()> {
    let used = used(layout);
    let comma =
        |&(position, column): &(usize, &Column)| column.kind == DECIMAL_COMMA && !used.contains(&Some(position));
    match columns.iter().enumerate().find(comma) {
        Some((_, column)) => Err(Error::DecimalComma { path: path.to_owned(), column: quoted(&column.name) }),
        None => Ok(()),
    }
}

/// Unused columns of texts that may be meant as numbers, in a table whose number columns are the embedding.
struct UnclearColumns<'a> {
    path: &'a Path,
    columns: &'a [Column],
    /// Whether number columns are the embedding, or no embedding was found.
    wide: bool,
    /// Positions of the columns.
    positions: Vec<usize>,
}

impl<'a> UnclearColumns<'a> {
    fn new(path: &'a Path, columns: &'a [Column], layout: &Result<Layout>, options: &ReadOptions) -> Self {
        let wide = match layout {
            Ok(layout) => matches!(layout.embedding, Embedding::Wide(_)),
            Err(error) => matches!(error, Error::NoEmbedding { .. }),
        };
        let used = used(layout);
        // If another file names the columns, the remaining columns are left out on purpose.
        let named = !options.side_by_side.is_empty();
        let unclear = |&position: &usize| {
            let Column { name, role, .. } = &columns[position];
            *role == Role::Text && !used.contains(&Some(position)) && !is_index(name) && !options.names(name)
        };
        let positions = if wide && !named { (0..columns.len()).filter(unclear).collect() } else { Vec::new() };
        Self { path, columns, wide, positions }
    }

    /// Refuses the first cell that is not a number in a column where most cells of the sample are numbers. Columns that are
    /// blank in the sample stay under observation.
    fn refuse_mixed(&mut self, sample: &[StringRecord]) -> Result<()> {
        let mut blank = Vec::new();
        for &position in &self.positions {
            let cells =
                || sample.iter().enumerate().filter_map(|(row, record)| Some((row, filled(&record[position])?)));
            let numbers = cells().filter(|(_, cell)| number(cell).is_some()).count();
            let other = cells().find(|(_, cell)| number(cell).is_none());
            match other {
                Some((row, cell)) if 2 * numbers > cells().count() => {
                    return Err(self.refusal(row, position, cell, "in which most cells are numbers"));
                }
                Some(_) => {}
                None => blank.push(position),
            }
        }
        self.positions = blank;
        Ok(())
    }

    /// Refuses a number in a column that was blank in the sample.
    fn refuse_late(&self, row: usize, record: &StringRecord) -> Result<()> {
        let late = |&&position: &&usize| record.get(position).is_some_and(|cell| number(cell).is_some());
        match self.positions.iter().find(late) {
            Some(&position) => Err(self.refusal(row, position, &record[position], "which is blank in the first rows")),
            None => Ok(()),
        }
    }

    fn refusal(&self, row: usize, position: usize, cell: &str, detail: &'static str) -> Error {
        let column = quoted(&self.columns[position].name);
        Error::MixedColumn { path: self.path.to_owned(), row, column, value: quoted(cell), detail }
    }
}

struct TextTable<'a> {
    path: &'a Path,
    columns: &'a [Column],
    builder: TableBuilder,
    row: usize,
}

impl TextTable<'_> {
    fn push(&mut self, layout: &Layout, record: &StringRecord) -> Result<()> {
        let path = self.path;
        let cells = Cells { path, columns: self.columns, row: self.row, record };
        let TableBuilder { embeddings, probabilities, ids, groups, labels, numbers, budget } = &mut self.builder;
        match &layout.embedding {
            Embedding::Column(position) => cells.list(*position, embeddings, budget)?,
            Embedding::Wide(positions) => {
                let values = positions.iter().map(|&i| cells.number(i)).collect::<Result<Vec<f64>>>()?;
                embeddings.push(path, self.row, &values, budget)?;
            }
            Embedding::Computed => embeddings.push(path, self.row, &[0.0], budget)?,
        }
        if let Some(position) = layout.probabilities {
            cells.list(position, probabilities, budget)?;
        }
        for (position, blank, texts) in
            [(layout.id, false, ids), (layout.group, false, groups), (layout.label, layout.blank_labels, labels)]
        {
            if let Some(position) = position {
                budget.keep(path, cells.text(position, blank)?, texts)?;
            }
        }
        for ((_, position), column) in layout.numbers.iter().zip(numbers) {
            column.push(cells.number(*position)?);
        }
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
        self.record.get(position).and_then(filled).ok_or_else(|| Error::Null {
            path: self.path.to_owned(),
            row: self.row,
            column: column(),
        })
    }

    fn not_a_number(&self, position: usize, cell: &str) -> Error {
        let column = quoted(&self.columns[position].name);
        Error::NotANumber { path: self.path.to_owned(), row: self.row, column, value: quoted(cell) }
    }

    /// Returns the text of a cell, which may be empty only if `blank` is set.
    fn text(&self, position: usize, blank: bool) -> Result<&str> {
        match self.cell(position) {
            Err(Error::Null { .. }) if blank => Ok(""),
            text => text,
        }
    }

    fn number(&self, position: usize) -> Result<f64> {
        let cell = self.cell(position)?;
        number(cell).ok_or_else(|| self.not_a_number(position, cell))
    }

    fn list(&self, position: usize, matrix: &mut MatrixBuilder, budget: &mut MemoryBudget) -> Result<()> {
        let cell = self.cell(position)?;
        let values: Vec<f64> = serde_json::from_str(cell).map_err(|_| Error::BadRow {
            path: self.path.to_owned(),
            row: self.row,
            detail: format!("{} is not a JSON list of numbers", quoted(cell)),
        })?;
        matrix.push(self.path, self.row, &values, budget)
    }
}
