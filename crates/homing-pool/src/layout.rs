//! Which columns of a file are the embeddings, the ids and the rest.

use std::collections::HashMap;
use std::path::Path;

use crate::error::quoted;
use crate::{Error, ReadOptions, Result};

const EMBEDDING_NAMES: [&str; 5] = ["embedding", "embeddings", "vector", "features", "emb"];
pub(crate) const ID_NAMES: [&str; 4] = ["id", "ids", "_id", "uid"];

/// What can name or group a row.
const SCALAR: [Role; 3] = [Role::Number, Role::Text, Role::Readable];

const IDS: &str = "ids are texts or numbers";
const LABELS: &str = "labels are texts or numbers";

/// What columns of labels are usually called.
pub const LABEL_NAMES: [&str; 4] = ["label", "labels", "class", "target"];

/// What a column's values can serve as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A row of floats a row.
    Floats,
    /// A row of integers a row.
    Integers,
    /// A number a row.
    Number,
    /// A text a row.
    Text,
    /// Something a row that has a text where one is asked for: bytes, a date, a UUID.
    Readable,
    /// Anything else.
    Other,
}

/// A column as its file offers it.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// Its type, in words for a message.
    pub(crate) kind: String,
}

/// Where the embeddings are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Embedding {
    /// One column of rows.
    Column(usize),
    /// Several columns of numbers, side by side.
    Wide(Vec<usize>),
}

/// The columns to read, by position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) embedding: Embedding,
    pub(crate) probabilities: Option<usize>,
    pub(crate) id: Option<usize>,
    pub(crate) group: Option<usize>,
    pub(crate) label: Option<usize>,
    pub(crate) blank_labels: bool,
    pub(crate) cost: Option<usize>,
    /// The names of the embedding's columns, where it has several.
    pub(crate) side_by_side: Vec<String>,
}

impl Layout {
    /// Chooses among `columns`: by the names asked for, then by convention, then the only one possible.
    pub(crate) fn choose(path: &Path, columns: &[Column], options: &ReadOptions) -> Result<Self> {
        let chooser = Chooser::new(path, columns)?;
        let there = |name: &&String| !options.optional || chooser.position(name).is_some();
        let id = match chooser.asked(options.id.as_ref().filter(there), &SCALAR, IDS)? {
            Some(id) => Some(id),
            None => chooser.found_id()?,
        };
        let group = chooser.asked(options.group.as_ref().filter(there), &SCALAR, "groups are texts or numbers")?;
        let label = chooser.asked(options.label.as_ref().filter(there), &SCALAR, LABELS)?;
        let cost = chooser.asked(options.cost.as_ref(), &[Role::Number], "costs are numbers")?;
        let probabilities = chooser.asked(
            options.probabilities.as_ref(),
            &[Role::Floats],
            "probabilities are a row of floats a row",
        )?;
        let taken = [probabilities, id, group, label, cost];
        let embedding = match &options.embedding {
            Some(name) => Embedding::Column(chooser.asked_embedding(name)?),
            None => chooser.found_embedding(&taken, &options.side_by_side)?,
        };
        let side_by_side = match &embedding {
            Embedding::Column(_) => Vec::new(),
            Embedding::Wide(positions) => positions.iter().map(|&i| columns[i].name.clone()).collect(),
        };
        let blank_labels = options.blank_labels;
        Ok(Self { embedding, probabilities, id, group, label, blank_labels, cost, side_by_side })
    }

    /// The same layout of a table with the chosen columns only, and their positions in the whole one.
    pub(crate) fn projected(self) -> (Self, Vec<usize>) {
        let single = [self.probabilities, self.id, self.group, self.label, self.cost];
        let mut positions: Vec<usize> = single.into_iter().flatten().collect();
        match &self.embedding {
            Embedding::Column(position) => positions.push(*position),
            Embedding::Wide(wide) => positions.extend(wide),
        }
        positions.sort_unstable();
        positions.dedup();
        let new = |old: usize| positions.partition_point(|&position| position < old);
        let layout = Self {
            embedding: match self.embedding {
                Embedding::Column(position) => Embedding::Column(new(position)),
                Embedding::Wide(wide) => Embedding::Wide(wide.into_iter().map(new).collect()),
            },
            probabilities: self.probabilities.map(new),
            id: self.id.map(new),
            group: self.group.map(new),
            label: self.label.map(new),
            blank_labels: self.blank_labels,
            cost: self.cost.map(new),
            side_by_side: self.side_by_side,
        };
        (layout, positions)
    }
}

/// The column of texts or numbers called `name`, or as labels usually are, or the only one.
pub(crate) fn label_column(path: &Path, columns: &[Column], name: Option<&str>) -> Result<usize> {
    let chooser = Chooser::new(path, columns)?;
    if let Some(name) = name {
        let position = chooser.named(name)?;
        let scalar = SCALAR.contains(&columns[position].role);
        return if scalar { Ok(position) } else { Err(chooser.wrong(position, LABELS)) };
    }
    let scalar = |&position: &usize| matches!(columns[position].role, Role::Number | Role::Text);
    let usual = LABEL_NAMES.iter().filter_map(|name| chooser.position(name)).find(scalar);
    let scalars: Vec<usize> = (0..columns.len()).filter(scalar).collect();
    match (usual, &scalars[..]) {
        (Some(position), _) | (None, &[position]) => Ok(position),
        _ => chooser.named(LABEL_NAMES[0]),
    }
}

/// The refusal of a file without embeddings.
pub(crate) fn no_embedding(path: &Path, columns: &[Column]) -> Error {
    let names = columns.iter().map(|column| format!("{} ({})", column.name, column.kind)).collect();
    Error::NoEmbedding { path: path.to_owned(), names }
}

/// The position of each name; a name twice is refused. Columns without a name may be many, which then nothing tells apart.
pub(crate) fn positions<'a>(path: &Path, names: impl Iterator<Item = &'a str>) -> Result<HashMap<&'a str, usize>> {
    let mut positions = HashMap::with_capacity(names.size_hint().0);
    let mut unnamed = 0;
    for (second, name) in names.enumerate() {
        unnamed += usize::from(name.is_empty());
        match positions.insert(name, second) {
            Some(first) if !name.is_empty() => {
                return Err(Error::DuplicateColumn { path: path.to_owned(), name: quoted(name), first, second });
            }
            _ => {}
        }
    }
    if unnamed > 1 {
        positions.remove("");
    }
    Ok(positions)
}

/// Whether a column holds the row numbers that pandas writes: without a name in tables of text, or with the name that it
/// gives to such a column when it reads or writes one.
pub(crate) fn is_index(name: &str) -> bool {
    let level = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
    let again = name.strip_prefix("Unnamed: 0").map(|rest| rest.strip_prefix('.').unwrap_or(rest));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    name.is_empty() || level.is_some_and(digits) || again.is_some_and(digits)
}

struct Chooser<'a> {
    path: &'a Path,
    columns: &'a [Column],
    positions: HashMap<&'a str, usize>,
}

impl<'a> Chooser<'a> {
    fn new(path: &'a Path, columns: &'a [Column]) -> Result<Self> {
        let positions = positions(path, columns.iter().map(|column| column.name.as_str()))?;
        Ok(Self { path, columns, positions })
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// The column that is called as ids usually are. One that cannot be ids is refused, lest row numbers stand in for them
    /// without a word; only `ids` may be lists, since tokens are called so as well.
    fn found_id(&self) -> Result<Option<usize>> {
        let usual: Vec<usize> = ID_NAMES.iter().filter_map(|name| self.position(name)).collect();
        let role = |position: usize| self.columns[position].role;
        let lists = |i: usize| matches!(role(i), Role::Floats | Role::Integers) && self.columns[i].name == "ids";
        match usual.iter().find(|&&position| SCALAR.contains(&role(position))) {
            Some(&position) => Ok(Some(position)),
            None => match usual.into_iter().find(|&position| !lists(position)) {
                Some(position) => Err(self.wrong(position, IDS)),
                None => Ok(None),
            },
        }
    }

    fn named(&self, name: &str) -> Result<usize> {
        self.position(name).ok_or_else(|| Error::NoColumn {
            path: self.path.to_owned(),
            name: quoted(name),
            names: self.columns.iter().map(|column| column.name.clone()).collect(),
        })
    }

    fn asked(&self, name: Option<&String>, roles: &[Role], expected: &'static str) -> Result<Option<usize>> {
        let Some(name) = name else { return Ok(None) };
        let position = self.named(name)?;
        if roles.contains(&self.columns[position].role) {
            Ok(Some(position))
        } else {
            Err(self.wrong(position, expected))
        }
    }

    fn wrong(&self, position: usize, expected: &'static str) -> Error {
        let column = &self.columns[position];
        Error::WrongColumn {
            path: self.path.to_owned(),
            name: quoted(&column.name),
            // Their kind is that of the numbers in them.
            kind: if column.role == Role::Integers { format!("lists of {}", column.kind) } else { column.kind.clone() },
            expected,
        }
    }

    fn asked_embedding(&self, name: &str) -> Result<usize> {
        let position = self.named(name)?;
        match self.columns[position].role {
            Role::Floats => Ok(position),
            Role::Integers => Err(self.integers(position)),
            _ => Err(self.wrong(position, "embeddings are a row of floats a row")),
        }
    }

    fn integers(&self, position: usize) -> Error {
        Error::Dtype { path: self.path.to_owned(), dtype: self.columns[position].kind.clone() }
    }

    fn found_embedding(&self, taken: &[Option<usize>], side_by_side: &[String]) -> Result<Embedding> {
        let of_role = |role| {
            (0..self.columns.len())
                .filter(|&i| self.columns[i].role == role && !taken.contains(&Some(i)))
                .collect::<Vec<usize>>()
        };
        let floats = of_role(Role::Floats);
        if let Some(position) = self.conventional(&floats) {
            return Ok(Embedding::Column(position));
        }
        if floats.len() > 1 {
            let candidates = floats.iter().map(|&i| self.columns[i].name.clone()).collect();
            return Err(Error::AmbiguousEmbedding { path: self.path.to_owned(), candidates });
        }
        let integers = of_role(Role::Integers);
        if let Some(position) = self.conventional(&integers) {
            return Err(self.integers(position));
        }
        if !side_by_side.is_empty() {
            return self.named_numbers(side_by_side).map(Embedding::Wide);
        }
        let numbers: Vec<usize> =
            of_role(Role::Number).into_iter().filter(|&i| !is_index(&self.columns[i].name)).collect();
        let only_numbers = self.columns.iter().all(|column| column.role == Role::Number);
        if integers.is_empty() && (numbers.len() > 1 || (numbers.len() == 1 && only_numbers)) {
            return Ok(Embedding::Wide(numbers));
        }
        Err(no_embedding(self.path, self.columns))
    }

    /// The columns of numbers with these names.
    fn named_numbers(&self, names: &[String]) -> Result<Vec<usize>> {
        let lacking: Vec<String> = names.iter().filter(|name| self.position(name).is_none()).cloned().collect();
        if !lacking.is_empty() {
            return Err(Error::Lacking { path: self.path.to_owned(), names: lacking });
        }
        let number = |name: &String| match self.named(name)? {
            position if self.columns[position].role == Role::Number => Ok(position),
            position => Err(self.wrong(position, "the pool's embedding has numbers there")),
        };
        names.iter().map(number).collect()
    }

    /// The one of `candidates` with the most usual name, or the only one.
    fn conventional(&self, candidates: &[usize]) -> Option<usize> {
        EMBEDDING_NAMES
            .iter()
            .find_map(|name| candidates.iter().copied().find(|&i| self.columns[i].name == *name))
            .or(if let [only] = candidates { Some(*only) } else { None })
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
    fn probabilities_are_no_candidates() {
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
        assert_eq!((layout.id, layout.cost), (Some(1), Some(3)));
    }

    #[test]
    fn the_row_numbers_that_pandas_writes_are_no_part_of_the_embedding() {
        for name in ["", "__index_level_0__", "Unnamed: 0", "Unnamed: 0.1"] {
            let roles = [(name, Role::Number), ("a", Role::Number), ("b", Role::Number)];
            assert_eq!(choose(&roles, &ReadOptions::default()).unwrap().side_by_side, ["a", "b"], "{name}");
        }
        for name in ["__index_level_x__", "Unnamed: 1", "Unnamed: 0x", "index"] {
            assert!(!is_index(name), "{name}");
        }
    }

    #[test]
    fn columns_are_matched_by_name_and_those_that_lack_are_named() {
        let options = |names: &[&str]| ReadOptions {
            side_by_side: names.iter().map(|&name| name.to_owned()).collect(),
            label: Some("stars".to_owned()),
            optional: true,
            ..ReadOptions::default()
        };
        let roles = [("c", Role::Number), ("a", Role::Number), ("b", Role::Number)];
        let layout = choose(&roles, &options(&["a", "c"])).unwrap();
        assert_eq!((layout.embedding, layout.label), (Embedding::Wide(vec![1, 0]), None));
        assert_eq!(layout.side_by_side, ["a", "c"]);
        let message = choose(&roles, &options(&["a", "d", "e"])).unwrap_err().to_string();
        assert!(message.starts_with("pool.parquet lacks 'd', 'e'"), "{message}");
        // A column of lists needs no names.
        let layout = choose(&[("x", Role::Floats), ("a", Role::Number)], &options(&["a", "c"])).unwrap();
        assert_eq!((layout.embedding, layout.side_by_side), (Embedding::Column(0), Vec::new()));
    }

    #[test]
    fn a_name_that_two_columns_share_is_refused() {
        let roles = [("x", Role::Number), ("", Role::Number), ("y", Role::Number), ("", Role::Number)];
        assert_eq!(choose(&roles, &ReadOptions::default()).unwrap().embedding, Embedding::Wide(vec![0, 2]));
        let roles = [("x", Role::Number), ("y", Role::Number), ("x", Role::Number)];
        let message = choose(&roles, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("two columns called 'x' (the columns 1 and 3 of it)"), "{message}");
    }

    #[test]
    fn ids_that_cannot_be_read_are_refused_and_not_replaced_by_row_numbers() {
        let with = |name, role| choose(&[(name, role), ("x", Role::Floats)], &ReadOptions::default());
        assert_eq!(with("id", Role::Readable).unwrap().id, Some(0));
        for (name, role) in [("id", Role::Other), ("_id", Role::Integers), ("ids", Role::Other)] {
            let message = with(name, role).unwrap_err().to_string();
            let lists = if role == Role::Integers { "lists of " } else { "" };
            let told = format!("is {lists}a kind, but ids are texts or numbers; convert it");
            assert!(message.contains(&told), "{message}");
        }
        assert_eq!(with("ids", Role::Integers).unwrap().id, None);
        let both = choose(&[("id", Role::Other), ("uid", Role::Text), ("x", Role::Floats)], &ReadOptions::default());
        assert_eq!(both.unwrap().id, Some(1));
    }

    #[test]
    fn a_single_number_beside_text_is_no_embedding() {
        let message =
            choose(&[("text", Role::Text), ("stars", Role::Number)], &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("'text (a kind)', 'stars (a kind)'") && message.contains("--embedding"), "{message}");
    }

    #[test]
    fn several_candidates_are_listed() {
        let message =
            choose(&[("a", Role::Floats), ("b", Role::Floats)], &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("'a', 'b'") && message.contains("--embedding NAME"), "{message}");
    }
}
