//! Checks the footer and the page headers of a Parquet file before they are decoded.
//!
//! Both are structs in Thrift's compact protocol. The decoder trusts the counts in them: it reserves memory for the
//! children that a column claims, follows nested columns by recursion, and skips unknown lists of truth values
//! one by one, although they take no bytes. A forged file of a few hundred bytes can therefore abort a process or block it
//! for hours. This check refuses a count that the bytes after it cannot hold. It also checks the type of every field that the
//! decoder knows; both therefore see the same structs in the same bytes.

use Shape::{Binary, Bool, Byte, Double, Int, Kept, List, Schema, Struct};

/// Maximum number of levels of nested structs, which is the decoder's own limit when it skips a field, and of nested columns.
const DEEPEST: usize = 64;

/// Type of a field.
#[derive(Clone, Copy)]
enum Shape {
    Bool,
    Byte,
    Int,
    Double,
    Binary,
    List(&'static Shape),
    Struct(&'static [(i16, Shape)]),
    /// A number that is stored at this position of `Walk::kept`.
    Kept(usize),
    /// The list of columns, each of which may say how many of the following columns are its parts.
    Schema,
}

/// Position in `Walk::kept` of a column's number of parts.
const CHILDREN: usize = 0;
/// Positions in `Walk::kept` of the fields of `Page`.
const COMPRESSED: usize = 1;
const VALUES: usize = 2;

const TIME_UNIT: Shape = Struct(&[(1, Struct(&[])), (2, Struct(&[])), (3, Struct(&[]))]);
const TIME: Shape = Struct(&[(1, Bool), (2, TIME_UNIT)]);
const LOGICAL_TYPE: Shape = Struct(&[
    (1, Struct(&[])),
    (2, Struct(&[])),
    (3, Struct(&[])),
    (4, Struct(&[])),
    (5, Struct(&[(1, Int), (2, Int)])),
    (6, Struct(&[])),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Bool)])),
    (11, Struct(&[])),
    (12, Struct(&[])),
    (13, Struct(&[])),
    (14, Struct(&[])),
    (15, Struct(&[])),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Binary)])),
    (18, Struct(&[(1, Binary), (2, Int)])),
]);
const COLUMN: Shape = Struct(&[
    (1, Int),
    (2, Int),
    (3, Int),
    (4, Binary),
    (5, Kept(CHILDREN)),
    (6, Int),
    (7, Int),
    (8, Int),
    (9, Int),
    (10, LOGICAL_TYPE),
]);
const STATISTICS: Shape =
    Struct(&[(1, Binary), (2, Binary), (3, Int), (4, Int), (5, Binary), (6, Binary), (7, Bool), (8, Bool)]);
const BOX: Shape =
    Struct(&[(1, Double), (2, Double), (3, Double), (4, Double), (5, Double), (6, Double), (7, Double), (8, Double)]);
const CHUNK_METADATA: Shape = Struct(&[
    (1, Int),
    (2, List(&Int)),
    (3, List(&Binary)),
    (4, Int),
    (5, Int),
    (6, Int),
    (7, Int),
    (8, List(&KEY_VALUE)),
    (9, Int),
    (10, Int),
    (11, Int),
    (12, STATISTICS),
    (13, List(&Struct(&[(1, Int), (2, Int), (3, Int)]))),
    (14, Int),
    (15, Int),
    (16, Struct(&[(1, Int), (2, List(&Int)), (3, List(&Int))])),
    (17, Struct(&[(1, BOX), (2, List(&Int))])),
]);
const CHUNK: Shape = Struct(&[(1, Binary), (2, Int), (3, CHUNK_METADATA), (4, Int), (5, Int), (6, Int), (7, Int)]);
const SORTING: Shape = Struct(&[(1, Int), (2, Bool), (3, Bool)]);
const ROW_GROUP: Shape =
    Struct(&[(1, List(&CHUNK)), (2, Int), (3, Int), (4, List(&SORTING)), (5, Int), (6, Int), (7, Int)]);
const KEY_VALUE: Shape = Struct(&[(1, Binary), (2, Binary)]);
const COLUMN_ORDER: Shape = Struct(&[(1, Struct(&[])), (2, Struct(&[]))]);
const FOOTER: Shape = Struct(&[
    (1, Int),
    (2, Schema),
    (3, Int),
    (4, List(&ROW_GROUP)),
    (5, List(&KEY_VALUE)),
    (6, Binary),
    (7, List(&COLUMN_ORDER)),
]);
const PAGE: Shape = Struct(&[
    (1, Int),
    (2, Int),
    (3, Kept(COMPRESSED)),
    (4, Int),
    (5, Struct(&[(1, Kept(VALUES)), (2, Int), (3, Int), (4, Int), (5, STATISTICS)])),
    (6, Struct(&[])),
    (7, Struct(&[(1, Int), (2, Int), (3, Bool)])),
    (8, Struct(&[(1, Kept(VALUES)), (2, Int), (3, Int), (4, Int), (5, Int), (6, Int), (7, Bool), (8, STATISTICS)])),
]);

/// Checks the footer at the end of a file: its struct, four bytes with its length, and the magic bytes `PAR1`.
pub(super) fn check_footer(file: &[u8]) -> Result<(), String> {
    let lacking = || "its footer is longer than the file".to_owned();
    let end = file.len().checked_sub(8).ok_or_else(lacking)?;
    let length = u32::from_le_bytes(file[end..end + 4].try_into().expect("four bytes")) as usize;
    let start = end.checked_sub(length).ok_or_else(lacking)?;
    Walk::new(&file[start..end]).shape(&FOOTER, 0)
}

/// Header of a page.
#[derive(Debug, PartialEq)]
pub(super) struct Page {
    /// Length of the header in bytes.
    pub(super) header: usize,
    /// Length in bytes of the page that follows the header.
    pub(super) compressed: u64,
    /// Number of values in the page; zero for a dictionary.
    pub(super) values: u64,
}

/// Reads the header of the page at the start of `bytes`.
pub(super) fn page(bytes: &[u8]) -> Result<Page, String> {
    let mut walk = Walk::new(bytes);
    walk.shape(&PAGE, 0)?;
    let header = bytes.len() - walk.rest.len();
    let count = |place: usize| u64::try_from(walk.kept[place].unwrap_or(0)).map_err(|_| "a page has a negative size");
    Ok(Page { header, compressed: count(COMPRESSED)?, values: count(VALUES)? })
}

/// Types of the compact protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

struct Walk<'a> {
    rest: &'a [u8],
    kept: [Option<i64>; 3],
}

impl<'a> Walk<'a> {
    fn new(rest: &'a [u8]) -> Self {
        Self { rest, kept: [None; 3] }
    }

    /// Skips a field of a known type in a struct or a list.
    fn shape(&mut self, shape: &Shape, depth: usize) -> Result<(), String> {
        match shape {
            Bool => Ok(()),
            Byte => self.value(BYTE, depth),
            Int => self.value(I64, depth),
            Double => self.value(DOUBLE, depth),
            Binary => self.value(BINARY, depth),
            List(shape) => {
                let (_, count) = self.list(Some(shape))?;
                (0..count).try_for_each(|_| self.shape(shape, depth + 1))
            }
            Struct(fields) => self.fields(fields, depth),
            &Kept(place) => {
                let number = self.number()?;
                self.kept[place] = Some((number >> 1) as i64 ^ -((number & 1) as i64));
                Ok(())
            }
            Schema => self.schema(depth),
        }
    }

    /// Skips the list of columns and checks the tree that they form.
    fn schema(&mut self, depth: usize) -> Result<(), String> {
        let (_, count) = self.list(Some(&COLUMN))?;
        // Number of columns that are still missing in each open group.
        let mut missing: Vec<usize> = Vec::new();
        for behind in (0..count).rev() {
            self.kept[CHILDREN] = None;
            self.shape(&COLUMN, depth + 1)?;
            if let Some(parent) = missing.last_mut() {
                *parent -= 1;
            }
            let children = self.kept[CHILDREN].unwrap_or(0);
            match usize::try_from(children) {
                Ok(0) => {}
                Ok(children) if children <= behind => missing.push(children),
                _ => return Err(format!("a column claims {children} parts, but fewer columns follow it")),
            }
            if missing.len() > DEEPEST {
                return Err(format!("its columns are nested more than {DEEPEST} deep"));
            }
            while missing.last() == Some(&0) {
                missing.pop();
            }
        }
        Ok(())
    }

    /// Skips the fields of a struct; `known` lists the fields whose types are known.
    fn fields(&mut self, known: &[(i16, Shape)], depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!("its headers are nested more than {DEEPEST} deep"));
        }
        let mut id = 0i16;
        loop {
            let byte = self.byte()?;
            let (delta, kind) = (byte >> 4, byte & 15);
            if kind == 0 {
                return Ok(());
            }
            id = if delta == 0 {
                let number = self.number()?;
                ((number >> 1) as i64 ^ -((number & 1) as i64)) as i16
            } else {
                id.checked_add(i16::from(delta)).ok_or("a field has no number")?
            };
            match known.iter().find(|(known, _)| *known == id) {
                Some((_, shape)) if shape.is(kind) => self.shape(shape, depth + 1)?,
                Some(_) => return Err(format!("field {id} of a header has the type {kind}")),
                None => self.value(kind, depth)?,
            }
        }
    }

    /// Skips a field of this type.
    fn value(&mut self, kind: u8, depth: usize) -> Result<(), String> {
        match kind {
            TRUE | FALSE => Ok(()),
            BYTE => self.skip(1),
            I16 | I32 | I64 => self.number().map(|_| ()),
            DOUBLE => self.skip(8),
            BINARY => {
                let length = self.number()?;
                self.skip(usize::try_from(length).unwrap_or(usize::MAX))
            }
            LIST | SET => {
                let (kind, count) = self.list(None)?;
                (0..count).try_for_each(|_| self.value(kind, depth + 1))
            }
            STRUCT => self.fields(&[], depth + 1),
            UUID => self.skip(16),
            MAP => Err("a header holds a map, which is not allowed".to_owned()),
            _ => Err(format!("a header holds the type {kind}, which does not exist")),
        }
    }

    /// Reads the type and the number of a list's elements, and checks them against `shape` if it is given.
    fn list(&mut self, shape: Option<&Shape>) -> Result<(u8, usize), String> {
        let header = self.byte()?;
        if header == 0 {
            return Ok((BYTE, 0));
        }
        let (short, kind) = (header >> 4, header & 15);
        let count = if short == 15 { self.number()? } else { u64::from(short) };
        let count = usize::try_from(count).ok().filter(|&count| count <= self.rest.len());
        let count = count.ok_or("a list in its headers is longer than the bytes after it")?;
        if matches!(kind, TRUE | FALSE) {
            return Err("a header holds a list of truth values, which is not allowed".to_owned());
        }
        match shape {
            Some(shape) if !shape.is(kind) => Err(format!("a list in its headers has elements of type {kind}")),
            _ => Ok((kind, count)),
        }
    }

    /// Reads an unsigned number with seven bits per byte.
    fn number(&mut self) -> Result<u64, String> {
        let mut number = 0u64;
        for place in 0..10 {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).wrapping_shl(7 * place);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a number in its headers takes more than ten bytes".to_owned())
    }

    fn byte(&mut self) -> Result<u8, String> {
        let (&first, rest) = self.rest.split_first().ok_or("its headers end too early")?;
        self.rest = rest;
        Ok(first)
    }

    fn skip(&mut self, bytes: usize) -> Result<(), String> {
        self.rest = self.rest.get(bytes..).ok_or("its headers end too early")?;
        Ok(())
    }
}

impl Shape {
    /// Whether a field of this shape may have the type.
    fn is(&self, kind: u8) -> bool {
        match self {
            Bool => matches!(kind, TRUE | FALSE),
            Byte => kind == BYTE,
            Int | Kept(_) => matches!(kind, I16 | I32 | I64),
            Double => kind == DOUBLE,
            Binary => kind == BINARY,
            List(_) | Schema => kind == LIST,
            Struct(_) => kind == STRUCT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_headers_state_size_and_values() {
        let data = [0x15, 0, 0x15, 80, 0x15, 60, 0x2c, 0x15, 20, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0];
        assert_eq!(page(&data).unwrap(), Page { header: data.len(), compressed: 30, values: 10 });
        let dictionary = [0x15, 4, 0x15, 80, 0x15, 60, 0x4c, 0x15, 20, 0x15, 0, 0, 0, 99];
        assert_eq!(page(&dictionary).unwrap(), Page { header: dictionary.len() - 1, compressed: 30, values: 0 });
    }

    #[test]
    fn pages_with_negative_sizes_and_endless_lists_are_refused() {
        assert_eq!(page(&[0x35, 1, 0]).unwrap_err(), "a page has a negative size");
        let endless = [0xd9, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0];
        assert!(page(&endless).unwrap_err().contains("is longer than the bytes after it"));
    }
}
