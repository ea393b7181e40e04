//! Questions about the rows alone.

use super::numbers::{vector, write_transform};
use super::{UNKNOWN, header};
use crate::remote::bytes::{Read, Reader};

/// A question about the rows alone, whose answer does not depend on earlier ones.
#[derive(Debug)]
pub(crate) enum Question {
    /// The shard's own ones of some rows as they are stored, or class probabilities, in increasing order.
    Rows { column: Column, rows: Vec<usize> },
    /// Sizes of the rows.
    Survey { offset: Option<Vec<f64>>, to_unit: bool },
    /// Sums of blocks, computed ahead of [`Question::AddRows`].
    SumBlocks,
    /// Adds the rows to the sum of whole blocks and that of the block that is not yet whole.
    AddRows { sum: Vec<f64>, block: Vec<f64> },
    /// Whether the probabilities are some.
    CheckProbabilities,
}

/// The numbers that a row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Embeddings,
    Probabilities,
}

impl Question {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = header(0);
        match self {
            Question::Rows { column, rows } => {
                writer.u8(0);
                writer.flag(*column == Column::Probabilities);
                writer.rows(rows);
            }
            Question::Survey { offset, to_unit } => {
                writer.u8(1);
                write_transform(&mut writer, offset.as_deref(), *to_unit);
            }
            Question::SumBlocks => writer.u8(2),
            Question::AddRows { sum, block } => {
                writer.u8(3);
                writer.f64s(sum);
                writer.f64s(block);
            }
            Question::CheckProbabilities => writer.u8(4),
        }
        writer.0
    }

    pub(super) fn read(reader: &mut Reader<'_>, dim: usize) -> Read<Self> {
        Ok(match reader.u8()? {
            0 => {
                let column = if reader.flag()? { Column::Probabilities } else { Column::Embeddings };
                Question::Rows { column, rows: reader.rows()? }
            }
            1 => Question::Survey { offset: reader.optional(|reader| vector(reader, dim))?, to_unit: reader.flag()? },
            2 => Question::SumBlocks,
            3 => Question::AddRows { sum: vector(reader, dim)?, block: vector(reader, dim)? },
            4 => Question::CheckProbabilities,
            _ => return Err(UNKNOWN),
        })
    }
}
