//! Chooses among the columns of a file: by the requested names, then by convention, then the only possible one.

use std::collections::HashMap;
use std::path::Path;

use crate::layout::{BLANK, Column, Embedding, Role};
use crate::message::quoted;
use crate::{Error, Result};

const EMBEDDING_NAMES: [&str; 5] = ["embedding", "embeddings", "vector", "features", "emb"];
pub(crate) const ID_NAMES: [&str; 4] = ["id", "ids", "_id", "uid"];

/// Roles of columns that can identify or group rows.
pub(crate) const SCALAR: [Role; 3] = [Role::Number, Role::Text, Role::Readable];

pub(crate) const IDS: &str = "ids are texts or numbers";
pub(crate) const TEXTS: &str = "texts are texts or numbers";
pub(crate) const LABELS: &str = "labels are texts or numbers";

/// Usual names of columns of labels. Upper and lower case do not matter.
pub const LABEL_NAMES: [&str; 4] = ["label", "labels", "class", "target"];

/// Usual names of columns of texts, the most telling first. Upper and lower case do not matter.
pub const TEXT_NAMES: [&str; 25] = [
    "text",
    "sentence",
    "utterance",
    "content",
    "document",
    "passage",
    "body",
    "prompt",
    "question",
    "query",
    "instruction",
    "message",
    "comment",
    "review",
    "description",
    "headline",
    "title",
    "caption",
    "abstract",
    "tweet",
    "input",
    "answer",
    "response",
    "output",
    "completion",
];

/// Usual names of columns that say where an image or another file is. Upper and lower case do not matter.
pub const PATH_NAMES: [&str; 9] =
    ["path", "file", "filename", "file_name", "filepath", "file_path", "image", "image_path", "url"];

/// Usual names of columns of labels that are only copied, unlike [`LABEL_NAMES`].
const COPIED_LABEL_NAMES: [&str; 6] = ["category", "intent", "topic", "sentiment", "label_text", "label_name"];

/// Whether a column of this name usually tells people what a row is: a text, a label or the path of a file.
pub fn is_usual_column(name: &str) -> bool {
    let name = name.to_lowercase();
    let usual = TEXT_NAMES.iter().chain(&PATH_NAMES).chain(&LABEL_NAMES).chain(&COPIED_LABEL_NAMES);
    usual.into_iter().any(|usual| *usual == name)
}

/// Returns the column of texts or numbers called `name`; without a name, the one with a usual name of labels or the only one.
pub(crate) fn label_column(path: &Path, columns: &[Column], name: Option<&str>) -> Result<usize> {
    let chooser = ColumnChooser::new(path, columns)?;
    if let Some(name) = name {
        let position = chooser.named(name)?;
        let scalar = SCALAR.contains(&columns[position].role);
        return if scalar { Ok(position) } else { Err(chooser.wrong(position, LABELS)) };
    }
    let scalar = |&position: &usize| matches!(columns[position].role, Role::Number | Role::Text);
    let usual = LABEL_NAMES.iter().filter_map(|name| chooser.usual(name)).find(scalar);
    let scalars: Vec<usize> = (0..columns.len()).filter(scalar).collect();
    match (usual, &scalars[..]) {
        (Some(position), _) | (None, &[position]) => Ok(position),
        _ => chooser.named(LABEL_NAMES[0]),
    }
}

/// Returns the error about a file without embeddings.
pub(crate) fn no_embedding(path: &Path, columns: &[Column]) -> Error {
    let names = columns.iter().map(|column| format!("{} ({})", column.name, column.kind)).collect();
    Error::NoEmbedding { path: path.to_owned(), names }
}

/// Returns the position of each name, and refuses a name that occurs twice. Several columns may be without a name.
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

/// Whether a column holds the row numbers that pandas writes. Such a column has no name in a text table, or one of the names
/// that pandas gives it when it reads or writes a table.
pub(crate) fn is_index(name: &str) -> bool {
    let level = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
    let renamed = name.strip_prefix("Unnamed: 0").map(|rest| rest.strip_prefix('.').unwrap_or(rest));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    name.is_empty() || level.is_some_and(digits) || renamed.is_some_and(digits)
}

/// Chooses columns of a file for each use.
pub(crate) struct ColumnChooser<'a> {
    path: &'a Path,
    columns: &'a [Column],
    positions: HashMap<&'a str, usize>,
}

impl<'a> ColumnChooser<'a> {
    pub(crate) fn new(path: &'a Path, columns: &'a [Column]) -> Result<Self> {
        let positions = positions(path, columns.iter().map(|column| column.name.as_str()))?;
        Ok(Self { path, columns, positions })
    }

    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// Returns the column with a usual name, or else the first whose name differs from it only in upper and lower case.
    fn usual(&self, name: &str) -> Option<usize> {
        let is_named = |column: &Column| column.name.eq_ignore_ascii_case(name);
        self.position(name).or_else(|| self.columns.iter().position(is_named))
    }

    /// Returns the column with a usual name of ids.
    ///
    /// If its values cannot be ids, it is refused, because otherwise row numbers would silently replace the ids. An exception is
    /// a column of lists called `ids`, because tokens are often called that.
    pub(crate) fn found_id(&self) -> Result<Option<usize>> {
        let usual: Vec<usize> = ID_NAMES.iter().filter_map(|name| self.usual(name)).collect();
        let role = |position: usize| self.columns[position].role;
        let are_tokens = |i: usize| self.columns[i].name.eq_ignore_ascii_case("ids");
        let lists = |i: usize| matches!(role(i), Role::Floats | Role::Integers) && are_tokens(i);
        match usual.iter().find(|&&position| SCALAR.contains(&role(position))) {
            Some(&position) => Ok(Some(position)),
            None => match usual.into_iter().find(|&position| !lists(position)) {
                Some(position) => Err(self.wrong(position, IDS)),
                None => Ok(None),
            },
        }
    }

    /// Returns the column of texts with the most telling usual name, or else a column of paths.
    pub(crate) fn found_text(&self) -> Option<usize> {
        let names: Vec<String> = self.columns.iter().map(|column| column.name.to_lowercase()).collect();
        let is_text = |&position: &usize| self.columns[position].role == Role::Text;
        let find = |usual: &&str| (0..names.len()).filter(is_text).find(|&position| names[position] == *usual);
        TEXT_NAMES.iter().chain(&PATH_NAMES).find_map(find)
    }

    /// Returns the only column of texts that has no other use.
    pub(crate) fn only_text(&self, taken: &[Option<usize>]) -> Option<usize> {
        let is_free = |&position: &usize| {
            let Column { name, role, kind } = &self.columns[position];
            *role == Role::Text && kind != BLANK && !taken.contains(&Some(position)) && !is_index(name)
        };
        let is_label = |&position: &usize| is_usual_column(&self.columns[position].name);
        let free: Vec<usize> = (0..self.columns.len()).filter(is_free).filter(|at| !is_label(at)).collect();
        if let [only] = free[..] { Some(only) } else { None }
    }

    fn named(&self, name: &str) -> Result<usize> {
        self.position(name).ok_or_else(|| Error::NoColumn {
            path: self.path.to_owned(),
            name: quoted(name),
            names: self.columns.iter().map(|column| column.name.clone()).collect(),
        })
    }

    pub(crate) fn requested(
        &self,
        name: Option<&String>,
        roles: &[Role],
        expected: &'static str,
    ) -> Result<Option<usize>> {
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
            // The kind of a column of lists is that of the numbers in the lists.
            kind: if column.role == Role::Integers { format!("lists of {}", column.kind) } else { column.kind.clone() },
            expected,
        }
    }

    pub(crate) fn asked_embedding(&self, name: &str) -> Result<usize> {
        let position = self.named(name)?;
        match self.columns[position].role {
            Role::Floats => Ok(position),
            Role::Integers => Err(self.integers(position)),
            _ => Err(self.wrong(position, "embeddings are lists of floats, one per row")),
        }
    }

    fn integers(&self, position: usize) -> Error {
        Error::Dtype { path: self.path.to_owned(), dtype: self.columns[position].kind.clone() }
    }

    pub(crate) fn found_embedding(&self, taken: &[usize], side_by_side: &[String]) -> Result<Embedding> {
        let of_role = |role| {
            (0..self.columns.len())
                .filter(|&i| self.columns[i].role == role && !taken.contains(&i))
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

    /// Returns the columns of numbers with these names.
    fn named_numbers(&self, names: &[String]) -> Result<Vec<usize>> {
        let lacking: Vec<String> = names.iter().filter(|name| self.position(name).is_none()).cloned().collect();
        if !lacking.is_empty() {
            return Err(Error::Lacking { path: self.path.to_owned(), names: lacking });
        }
        let number = |name: &String| match self.named(name)? {
            position if self.columns[position].role == Role::Number => Ok(position),
            position if self.columns[position].kind == BLANK => {
                Err(Error::Null { path: self.path.to_owned(), row: 0, column: quoted(name) })
            }
            position => Err(self.wrong(position, "the pool's embedding has numbers there")),
        };
        names.iter().map(number).collect()
    }

    /// Returns the candidate with the most usual name, or the only candidate.
    fn conventional(&self, candidates: &[usize]) -> Option<usize> {
        EMBEDDING_NAMES
            .iter()
            .find_map(|name| candidates.iter().copied().find(|&i| self.columns[i].name.eq_ignore_ascii_case(name)))
            .or(if let [only] = candidates { Some(*only) } else { None })
    }
}
