//! Options for reading a file.

use homing::setters;

use crate::Access;
use crate::chooser::ID_NAMES;

/// Options for reading a file: the columns to read, and how to access the file.
///
/// If no column of embeddings or ids is named, the one with a usual name is used. Other columns are read only if they are named.
///
/// ```
/// use homing_pool::{Pool, ReadOptions};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("pool.csv");
/// std::fs::write(&path, "id,x,y,price,kind\na,0.5,1.5,3,cat\nb,2.5,3.5,4,dog\n")?;
///
/// let options = ReadOptions::default().cost("price".to_owned()).label("kind".to_owned());
/// let pool = Pool::open(&path, &options)?;
/// assert_eq!(pool.side_by_side(), ["x", "y"]);
/// assert_eq!(pool.costs().unwrap(), [3.0, 4.0]);
/// assert_eq!(pool.labels().unwrap(), ["cat", "dog"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Column with one list of floats per row. By default the column called `embedding`, `embeddings`, `vector`, `features` or
    /// `emb`, or the only column of lists.
    pub embedding: Option<String>,
    /// Columns of numbers that together are the embeddings, in a table with a header and without a column of lists. By default
    /// all columns of numbers that have no other use.
    pub side_by_side: Vec<String>,
    /// Whether the columns of ids, groups, labels and texts may be missing although they are named.
    pub optional: bool,
    /// Column of texts or numbers that identify the rows. By default the column called `id`, `ids`, `_id` or `uid`, in upper or
    /// lower case.
    pub id: Option<String>,
    /// Column of texts or numbers that are equal for rows of the same group.
    pub group: Option<String>,
    /// Column of labels, which are texts or numbers.
    pub label: Option<String>,
    /// Column of texts that show people what a row is. By default the first column of texts that has a usual name
    /// ([`TEXT_NAMES`](crate::TEXT_NAMES)). Only [`Pool::values`](crate::Pool::values) reads its texts.
    pub text: Option<String>,
    /// Whether rows of a table may lack a label; the label is then an empty text.
    pub blank_labels: bool,
    /// Column of numbers that are the costs of the rows.
    pub cost: Option<String>,
    /// Further columns of numbers, which [`Pool::numbers`](crate::Pool::numbers) returns.
    pub numbers: Vec<String>,
    /// Column with one list of class probabilities per row.
    pub probabilities: Option<String>,
    /// Whether the embeddings are computed from other columns, so that the file needs none ([`Table`](crate::Table) sets this).
    pub(crate) computed: bool,
    /// How the numbers of a `.npy` or `.safetensors` file are accessed.
    pub access: Access,
}

impl ReadOptions {
    setters! {
        /// Sets [`ReadOptions::embedding`].
        embedding: impl Into<Option<String>>;
        /// Sets [`ReadOptions::side_by_side`].
        side_by_side: impl Into<Vec<String>>;
        /// Sets [`ReadOptions::optional`].
        optional: bool;
        /// Sets [`ReadOptions::id`].
        id: impl Into<Option<String>>;
        /// Sets [`ReadOptions::group`].
        group: impl Into<Option<String>>;
        /// Sets [`ReadOptions::label`].
        label: impl Into<Option<String>>;
        /// Sets [`ReadOptions::text`].
        text: impl Into<Option<String>>;
        /// Sets [`ReadOptions::blank_labels`].
        blank_labels: bool;
        /// Sets [`ReadOptions::cost`].
        cost: impl Into<Option<String>>;
        /// Sets [`ReadOptions::numbers`].
        numbers: impl Into<Vec<String>>;
        /// Sets [`ReadOptions::probabilities`].
        probabilities: impl Into<Option<String>>;
        /// Sets [`ReadOptions::access`].
        access: Access;
    }

    /// Returns the columns that a file must have.
    fn required(&self) -> impl Iterator<Item = &String> {
        [&self.embedding, &self.cost, &self.probabilities].into_iter().flatten().chain(&self.numbers)
    }

    /// Returns the columns that a file may lack if [`ReadOptions::optional`] is set.
    fn dispensable(&self) -> impl Iterator<Item = &String> {
        [&self.id, &self.group, &self.label, &self.text].into_iter().flatten()
    }

    /// Returns one of the columns that a file must have.
    pub(crate) fn first_name(&self) -> Option<&str> {
        let dispensable = self.dispensable().filter(|_| !self.optional);
        self.required().chain(dispensable).next().map(String::as_str)
    }

    /// Whether a column of this name is requested or has a usual name of ids.
    pub(crate) fn names(&self, column: &str) -> bool {
        ID_NAMES.iter().any(|name| name.eq_ignore_ascii_case(column))
            || self.required().chain(self.dispensable()).any(|name| name == column)
    }
}
