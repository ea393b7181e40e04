//! Columns of a table, what they are used for, and which of them are copied to the picks.

use std::collections::BTreeSet;
use std::path::Path;

use crate::chooser::{TEXT_NAMES, is_index, is_usual_column};
use crate::layout::{Column, Embedding, Layout, Role};
use crate::message::{listed, quoted};
use crate::{Error, Result};

const COPIED_SHAPE: &str = "picks can carry only arrays with one text or number per row";

/// Which columns of a pool are copied to its picks.
///
/// ```
/// use homing_pool::{ColumnChoice, Pool, ReadOptions};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("pool.csv");
/// std::fs::write(&path, "id,text,source,x,y\na,good,web,0.5,1\nb,bad,books,2,3\n")?;
///
/// let pool = Pool::open(&path, &ReadOptions::default())?;
/// assert_eq!(pool.choose_columns(&ColumnChoice::Usual)?, ["text"]);
/// assert_eq!(pool.choose_columns(&ColumnChoice::All)?, ["text", "source"]);
/// let values = pool.values(&["text".to_owned()], &[1])?;
/// assert_eq!(values.text(0, 1).as_deref(), Some("bad"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ColumnChoice {
    /// Columns of single values that usually tell people what a row is: texts, labels and paths of files, by their names. The
    /// columns that were named for labels and texts are among them.
    #[default]
    Usual,
    /// All columns except the embeddings and the class probabilities.
    All,
    /// The columns of these names; none if the list is empty.
    Named(Vec<String>),
}

/// Columns of a table, and positions of those that have a use.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableColumns {
    /// All columns; empty if the file is one array.
    columns: Vec<Column>,
    /// Columns of the embedding and of the class probabilities, which are copied only if they are named.
    numbers: Vec<usize>,
    /// Arrays that do not hold one text or number per row, which cannot be copied.
    other_shapes: Vec<usize>,
    id: Option<usize>,
    label: Option<usize>,
    text: Option<usize>,
}

impl TableColumns {
    pub(crate) fn new(columns: Vec<Column>, layout: &Layout) -> Self {
        let mut numbers = match &layout.embedding {
            Embedding::Column(position) => vec![*position],
            Embedding::Wide(positions) => positions.clone(),
            Embedding::Computed => Vec::new(),
        };
        numbers.extend(layout.probabilities);
        numbers.sort_unstable();
        let (id, label, text) = (layout.id, layout.label, layout.text);
        Self { columns, numbers, other_shapes: Vec::new(), id, label, text }
    }

    /// Says which columns cannot be copied, because they do not hold one text or number per row.
    pub(crate) fn without(self, other_shapes: Vec<usize>) -> Self {
        let text = self.text.filter(|text| !other_shapes.contains(text));
        Self { other_shapes, text, ..self }
    }

    /// Returns the columns of a table of texts in memory.
    pub(crate) fn in_memory(names: &[String], text: Option<usize>) -> Self {
        let column = |name: &String| Column { name: name.clone(), role: Role::Text, kind: "text".to_owned() };
        Self { columns: names.iter().map(column).collect(), text, ..Self::default() }
    }

    /// Returns the name of the column of texts.
    pub(crate) fn text(&self) -> Option<&str> {
        self.text.map(|position| self.columns[position].name.as_str())
    }

    /// Adds a column that the first row lacks, or learns the role of one that is null there.
    pub(crate) fn learn(&mut self, name: &str, column: impl FnOnce() -> Column) {
        match self.columns.iter().position(|known| known.name == name) {
            None => self.columns.push(column()),
            Some(position) if self.columns[position].kind == "null" => {
                self.columns[position] = column();
                let is_text = TEXT_NAMES.contains(&name) && self.columns[position].role == Role::Text;
                self.text = self.text.or(Some(position).filter(|_| is_text));
            }
            Some(_) => {}
        }
    }

    /// Adds the columns of another file of the same pool, whose rows follow. Unless its rows may have columns of their own, it must
    /// have the same columns; otherwise the error says how they differ.
    pub(crate) fn join(&mut self, next: Self, may_vary: bool) -> Result<(), String> {
        let numbers = |table: &Self| table.numbers.iter().map(|&at| table.columns[at].name.clone()).collect::<Vec<_>>();
        let (ours, theirs) = (numbers(self), numbers(&next));
        if ours != theirs {
            return Err(format!(
                "its embeddings are in {} but theirs in {}",
                listed("", &theirs, ""),
                listed("", &ours, "")
            ));
        }
        if may_vary {
            next.columns.into_iter().for_each(|column| self.learn(&column.name.clone(), || column));
            return Ok(());
        }
        let names = |table: &Self| table.columns.iter().map(|column| column.name.clone()).collect::<BTreeSet<String>>();
        let (ours, theirs) = (names(self), names(&next));
        if let Some(name) = ours.difference(&theirs).next() {
            return Err(format!("it has no column {}", quoted(name)));
        }
        if let Some(name) = theirs.difference(&ours).next() {
            return Err(format!("it has the column {}, which they lack", quoted(name)));
        }
        let is_other = |name: &String| next.other_shapes.iter().any(|&at| next.columns[at].name == *name);
        let others = (0..self.columns.len()).filter(|&at| is_other(&self.columns[at].name));
        let others: BTreeSet<usize> = others.chain(self.other_shapes.iter().copied()).collect();
        self.other_shapes = others.into_iter().collect();
        self.text = self.text.filter(|text| !self.other_shapes.contains(text));
        Ok(())
    }

    /// Returns the names of the chosen columns, in the order of the table unless they are named.
    pub(crate) fn choose(&self, path: &Path, choice: &ColumnChoice) -> Result<Vec<String>> {
        let is_free =
            |position: &usize| self.numbers.binary_search(position).is_err() && !self.other_shapes.contains(position);
        let is_id = |position: usize| Some(position) == self.id && self.columns[position].name == "id";
        let is_usual = |position: usize| {
            let Column { name, role, .. } = &self.columns[position];
            let is_named = Some(position) == self.label || Some(position) == self.text;
            is_named || (is_usual_column(name) && matches!(role, Role::Text | Role::Number))
        };
        let names = |is_chosen: &dyn Fn(usize) -> bool| {
            let free = (0..self.columns.len()).filter(is_free).filter(|&position| !is_id(position));
            free.filter(|&position| is_chosen(position)).map(|position| self.columns[position].name.clone()).collect()
        };
        match choice {
            ColumnChoice::Usual => Ok(names(&is_usual)),
            ColumnChoice::Named(wanted) if wanted.is_empty() => Ok(Vec::new()),
            ColumnChoice::All | ColumnChoice::Named(_) if self.columns.is_empty() => {
                Err(Error::NothingToCopy { path: path.to_owned() })
            }
            ColumnChoice::All => Ok(names(&|position| !is_index(&self.columns[position].name))),
            ColumnChoice::Named(wanted) => {
                let mut chosen: Vec<String> = Vec::new();
                for name in wanted {
                    let position = self.position(path, name)?;
                    if self.other_shapes.contains(&position) {
                        let (path, name) = (path.to_owned(), quoted(name));
                        let kind = self.columns[position].kind.clone();
                        return Err(Error::WrongColumn { path, name, kind, expected: COPIED_SHAPE });
                    }
                    // The picks have the ids already.
                    if !is_id(position) && !chosen.contains(name) {
                        chosen.push(name.clone());
                    }
                }
                Ok(chosen)
            }
        }
    }

    /// Returns the position of the column called `name`.
    pub(crate) fn position(&self, path: &Path, name: &str) -> Result<usize> {
        let position = self.columns.iter().position(|column| column.name == name);
        position.ok_or_else(|| self.no_column(path, name))
    }

    pub(crate) fn no_column(&self, path: &Path, name: &str) -> Error {
        let names = self.columns.iter().map(|column| column.name.clone()).collect();
        Error::NoColumn { path: path.to_owned(), name: quoted(name), names }
    }
}
