//! Layout of a file: which columns are the embeddings, the ids and so on.

use std::collections::HashSet;
use std::path::Path;

use crate::chooser::{ColumnChooser, IDS, LABELS, SCALAR, TEXTS, is_index};
use crate::{ReadOptions, Result};

/// What the values of a column can be used as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A list of floats per row.
    Floats,
    /// A list of integers per row.
    Integers,
    /// A number per row.
    Number,
    /// A text per row.
    Text,
    /// A value per row that can be converted to text: bytes, a date, a UUID.
    Readable,
    /// Anything else.
    Other,
}

/// A column of a file.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// Type of the column in words, for a message.
    pub(crate) kind: String,
}

/// Kind of a column of text without values.
pub(crate) const BLANK: &str = "blank";

/// Columns that hold the embeddings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Embedding {
    /// One column of lists.
    Column(usize),
    /// Several columns of numbers, side by side.
    Wide(Vec<usize>),
    /// None: the embeddings will be computed from other columns.
    Computed,
}

/// Positions of the columns to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) embedding: Embedding,
    pub(crate) probabilities: Option<usize>,
    pub(crate) id: Option<usize>,
    pub(crate) group: Option<usize>,
    pub(crate) label: Option<usize>,
    pub(crate) blank_labels: bool,
    /// Column of texts that show people what a row is. It is not read with the others.
    pub(crate) text: Option<usize>,
    /// Columns of costs and further numbers, with their names.
    pub(crate) numbers: Vec<(String, usize)>,
    /// Names of the columns of the embedding, if it has several.
    pub(crate) side_by_side: Vec<String>,
    /// Names of the columns of numbers that [`ReadOptions::side_by_side`] leaves out.
    pub(crate) ignored_numbers: Vec<String>,
}

impl Layout {
    /// Chooses among `columns`: by the requested names, then by convention, then the only possible one.
    pub(crate) fn choose(path: &Path, columns: &[Column], options: &ReadOptions) -> Result<Self> {
        let chooser = ColumnChooser::new(path, columns)?;
        let exists = |name: &&String| !options.optional || chooser.position(name).is_some();
        let id = match chooser.requested(options.id.as_ref().filter(exists), &SCALAR, IDS)? {
            Some(id) => Some(id),
            None => chooser.found_id()?,
        };
        let group = chooser.requested(options.group.as_ref().filter(exists), &SCALAR, "groups are texts or numbers")?;
        let label = chooser.requested(options.label.as_ref().filter(exists), &SCALAR, LABELS)?;
        let requested_text = chooser.requested(options.text.as_ref().filter(exists), &SCALAR, TEXTS)?;
        let text = requested_text.or_else(|| chooser.found_text());
        let text = text.or_else(|| chooser.only_text(&[id, group, label]).filter(|_| options.computed));
        let mut numbers = Vec::new();
        let cost = options.cost.iter().map(|name| (name, "costs are numbers"));
        for (name, expected) in cost.chain(options.numbers.iter().map(|name| (name, "a column of numbers is needed"))) {
            numbers.extend(chooser.requested(Some(name), &[Role::Number], expected)?.map(|i| (name.clone(), i)));
        }
        let probabilities = chooser.requested(
            options.probabilities.as_ref(),
            &[Role::Floats],
            "probabilities are lists of floats, one per row",
        )?;
        let mut taken: Vec<usize> = [probabilities, id, group, label, requested_text].into_iter().flatten().collect();
        taken.extend(numbers.iter().map(|&(_, position)| position));
        let embedding = match &options.embedding {
            _ if options.computed => Embedding::Computed,
            Some(name) => Embedding::Column(chooser.asked_embedding(name)?),
            None => chooser.found_embedding(&taken, &options.side_by_side)?,
        };
        let wide: &[usize] = match &embedding {
            Embedding::Column(_) | Embedding::Computed => &[],
            Embedding::Wide(positions) => positions,
        };
        let side_by_side: Vec<String> = wide.iter().map(|&i| columns[i].name.clone()).collect();
        let mut ignored_numbers = Vec::new();
        if !options.side_by_side.is_empty() && !wide.is_empty() {
            let used: HashSet<usize> = wide.iter().chain(&taken).copied().collect();
            let ignored = |(i, column): &(usize, &Column)| {
                column.role == Role::Number && !used.contains(i) && !is_index(&column.name)
            };
            let ignored = columns.iter().enumerate().filter(ignored);
            ignored_numbers.extend(ignored.map(|(_, column)| column.name.clone()));
        }
        let blank_labels = options.blank_labels;
        Ok(Self {
            embedding,
            probabilities,
            id,
            group,
            label,
            blank_labels,
            text,
            numbers,
            side_by_side,
            ignored_numbers,
        })
    }

    /// Returns the layout for a table with only the chosen columns, and the positions of those columns in the whole table.
    pub(crate) fn projected(self) -> (Self, Vec<usize>) {
        let single = [self.probabilities, self.id, self.group, self.label];
        let mut positions: Vec<usize> = single.into_iter().flatten().collect();
        positions.extend(self.numbers.iter().map(|&(_, position)| position));
        match &self.embedding {
            Embedding::Column(position) => positions.push(*position),
            Embedding::Wide(wide) => positions.extend(wide),
            // A batch without columns would not say how many rows it has.
            Embedding::Computed => positions.push(self.text.unwrap_or(0)),
        }
        positions.sort_unstable();
        positions.dedup();
        let new = |old: usize| positions.partition_point(|&position| position < old);
        let layout = Self {
            embedding: match self.embedding {
                Embedding::Column(position) => Embedding::Column(new(position)),
                Embedding::Wide(wide) => Embedding::Wide(wide.into_iter().map(new).collect()),
                Embedding::Computed => Embedding::Computed,
            },
            probabilities: self.probabilities.map(new),
            id: self.id.map(new),
            group: self.group.map(new),
            label: self.label.map(new),
            blank_labels: self.blank_labels,
            text: None,
            numbers: self.numbers.into_iter().map(|(name, position)| (name, new(position))).collect(),
            side_by_side: self.side_by_side,
            ignored_numbers: self.ignored_numbers,
        };
        (layout, positions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(roles: &[(&str, Role)]) -> Vec<Column> {
        roles.iter().map(|&(name, role)| Column { name: name.to_owned(), role, kind: "a kind".to_owned() }).collect()
    }

    fn choose(roles: &[(&str, Role)], options: &ReadOptions) -> Result<Layout> {
        Layout::choose(Path::new("pool.parquet"), &columns(roles), options)
    }

    #[test]
    fn the_usual_name_wins_over_the_order() {
        let layout = choose(&[("other", Role::Floats), ("vector", Role::Floats)], &ReadOptions::default()).unwrap();
        assert_eq!(layout.embedding, Embedding::Column(1));
    }

    #[test]
    fn usual_names_are_found_in_upper_and_lower_case() {
        let roles = [("ID", Role::Number), ("a", Role::Number), ("b", Role::Number)];
        let layout = choose(&roles, &ReadOptions::default()).unwrap();
        assert_eq!((layout.id, layout.embedding), (Some(0), Embedding::Wide(vec![1, 2])));
        let layout = choose(&[("x", Role::Floats), ("Embedding", Role::Floats)], &ReadOptions::default()).unwrap();
        assert_eq!(layout.embedding, Embedding::Column(1));
        // The exact name counts first.
        let roles = [("Id", Role::Text), ("id", Role::Text), ("x", Role::Floats)];
        assert_eq!(choose(&roles, &ReadOptions::default()).unwrap().id, Some(1));
    }

    #[test]
    fn probabilities_are_not_candidates_for_the_embedding() {
        let options = ReadOptions { probabilities: Some("p".to_owned()), ..ReadOptions::default() };
        let layout = choose(&[("p", Role::Floats), ("x", Role::Floats)], &options).unwrap();
        assert_eq!((layout.embedding, layout.probabilities), (Embedding::Column(1), Some(0)));
    }

    #[test]
    fn numbers_side_by_side_leave_out_what_has_another_use() {
        let options = ReadOptions { cost: Some("price".to_owned()), ..ReadOptions::default() };
        let roles = [
            ("", Role::Number),
            ("id", Role::Number),
            ("a", Role::Number),
            ("price", Role::Number),
            ("b", Role::Number),
        ];
        let layout = choose(&roles, &options).unwrap();
        assert_eq!(layout.embedding, Embedding::Wide(vec![2, 4]));
        assert_eq!((layout.id, layout.numbers), (Some(1), vec![("price".to_owned(), 3)]));
    }

    #[test]
    fn the_row_numbers_that_pandas_writes_are_not_part_of_the_embedding() {
        for name in ["", "__index_level_0__", "Unnamed: 0", "Unnamed: 0.1"] {
            let roles = [(name, Role::Number), ("a", Role::Number), ("b", Role::Number)];
            assert_eq!(choose(&roles, &ReadOptions::default()).unwrap().side_by_side, ["a", "b"], "{name}");
        }
        for name in ["__index_level_x__", "Unnamed: 1", "Unnamed: 0x", "index"] {
            assert!(!is_index(name), "{name}");
        }
    }

    #[test]
    fn columns_are_matched_by_name_and_missing_ones_are_named() {
        let options = |names: &[&str]| ReadOptions {
            side_by_side: names.iter().map(|&name| name.to_owned()).collect(),
            label: Some("stars".to_owned()),
            optional: true,
            ..ReadOptions::default()
        };
        let roles = [("c", Role::Number), ("a", Role::Number), ("b", Role::Number)];
        let layout = choose(&roles, &options(&["a", "c"])).unwrap();
        assert_eq!((layout.embedding, layout.label), (Embedding::Wide(vec![1, 0]), None));
        assert_eq!((layout.side_by_side, layout.ignored_numbers), (vec!["a".into(), "c".into()], vec!["b".to_owned()]));
        let message = choose(&roles, &options(&["a", "d", "e"])).unwrap_err().to_string();
        assert!(message.starts_with("pool.parquet lacks 'd', 'e'"), "{message}");
        // If a column of lists exists, the names do not matter.
        let layout = choose(&[("x", Role::Floats), ("a", Role::Number)], &options(&["a", "c"])).unwrap();
        assert_eq!((layout.embedding, layout.side_by_side), (Embedding::Column(0), Vec::new()));
    }

    #[test]
    fn a_name_that_two_columns_share_is_refused() {
        let roles = [("x", Role::Number), ("", Role::Number), ("y", Role::Number), ("", Role::Number)];
        assert_eq!(choose(&roles, &ReadOptions::default()).unwrap().embedding, Embedding::Wide(vec![0, 2]));
        let roles = [("x", Role::Number), ("y", Role::Number), ("x", Role::Number)];
        let message = choose(&roles, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("two columns called 'x' (columns 1 and 3)"), "{message}");
    }

    #[test]
    fn ids_that_cannot_be_read_are_refused_and_not_replaced_by_row_numbers() {
        let with = |name, role| choose(&[(name, role), ("x", Role::Floats)], &ReadOptions::default());
        assert_eq!(with("id", Role::Readable).unwrap().id, Some(0));
        for (name, role) in [("id", Role::Other), ("_id", Role::Integers), ("ids", Role::Other)] {
            let message = with(name, role).unwrap_err().to_string();
            let lists = if role == Role::Integers { "lists of " } else { "" };
            let expected = format!("is {lists}a kind, but ids are texts or numbers; convert it");
            assert!(message.contains(&expected), "{message}");
        }
        assert_eq!(with("ids", Role::Integers).unwrap().id, None);
        let both = choose(&[("id", Role::Other), ("uid", Role::Text), ("x", Role::Floats)], &ReadOptions::default());
        assert_eq!(both.unwrap().id, Some(1));
    }

    #[test]
    fn a_single_number_next_to_text_is_not_an_embedding() {
        let message =
            choose(&[("text", Role::Text), ("stars", Role::Number)], &ReadOptions::default()).unwrap_err().to_string();
        assert!(
            message.contains("'text (a kind)', 'stars (a kind)'") && message.contains("ReadOptions::embedding"),
            "{message}"
        );
    }

    #[test]
    fn several_candidates_are_listed() {
        let message =
            choose(&[("a", Role::Floats), ("b", Role::Floats)], &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("'a', 'b'") && message.contains("ReadOptions::embedding"), "{message}");
    }
}
