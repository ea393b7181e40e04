//! Matrices of numbers, owned or viewed in the bytes of their file.

use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};
use bytes::Bytes;
use half::{bf16, f16};
use homing::{Embeddings, JoinedValues, StoredValues, ValuePart};

use crate::positional::Positional;

/// Float format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Float {
    F16,
    Bf16,
    F32,
    F64,
}

impl Float {
    pub(crate) fn size(self) -> usize {
        match self {
            Float::F16 | Float::Bf16 => 2,
            Float::F32 => 4,
            Float::F64 => 8,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Float::F16 => "float16",
            Float::Bf16 => "bfloat16",
            Float::F32 => "float32",
            Float::F64 => "float64",
        }
    }
}

/// Numbers in one of the float formats.
#[derive(Debug)]
pub(crate) enum Numbers {
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Bytes of the file itself, aligned and in the byte order of this machine.
    InPlace(Float, Bytes),
    /// Numbers that stay in the file and are read by position.
    Read(Box<Positional>),
    /// Numbers of several files.
    Joined(Box<JoinedValues<Matrix>>),
}

impl Numbers {
    /// Views the little-endian numbers in `bytes`, and copies them only if their alignment requires it.
    pub(crate) fn from_le_bytes(float: Float, bytes: Bytes) -> Self {
        if Self::is_aligned(float, &bytes) {
            Numbers::InPlace(float, bytes)
        } else {
            Self::copied(float, &bytes, false)
        }
    }

    /// Whether the little-endian numbers in `bytes` can be used in place.
    pub(crate) fn is_aligned(float: Float, bytes: &[u8]) -> bool {
        let aligned = match float {
            Float::F16 | Float::Bf16 => bytemuck::try_cast_slice::<u8, u16>(bytes).is_ok(),
            Float::F32 => bytemuck::try_cast_slice::<u8, f32>(bytes).is_ok(),
            Float::F64 => bytemuck::try_cast_slice::<u8, f64>(bytes).is_ok(),
        };
        aligned && cfg!(target_endian = "little")
    }

    /// Copies the numbers in `bytes`.
    pub(crate) fn copied(float: Float, bytes: &[u8], big_endian: bool) -> Self {
        match float {
            Float::F16 => Numbers::F16(copied(bytes, if big_endian { f16::from_be_bytes } else { f16::from_le_bytes })),
            Float::Bf16 => {
                Numbers::Bf16(copied(bytes, if big_endian { bf16::from_be_bytes } else { bf16::from_le_bytes }))
            }
            Float::F32 => Numbers::F32(copied(bytes, if big_endian { f32::from_be_bytes } else { f32::from_le_bytes })),
            Float::F64 => Numbers::F64(copied(bytes, if big_endian { f64::from_be_bytes } else { f64::from_le_bytes })),
        }
    }

    /// Converts column-major numbers to row-major order.
    pub(crate) fn transposed(&self, rows: usize, dim: usize) -> Self {
        match self.values() {
            StoredValues::F16(v) => Numbers::F16(transposed(v, rows, dim)),
            StoredValues::Bf16(v) => Numbers::Bf16(transposed(v, rows, dim)),
            StoredValues::F32(v) => Numbers::F32(transposed(v, rows, dim)),
            StoredValues::F64(v) => Numbers::F64(transposed(v, rows, dim)),
            _ => unreachable!("only numbers in memory are transposed"),
        }
    }

    fn float(&self) -> Float {
        match self {
            Numbers::F16(_) => Float::F16,
            Numbers::Bf16(_) => Float::Bf16,
            Numbers::F32(_) => Float::F32,
            Numbers::F64(_) => Float::F64,
            Numbers::InPlace(float, _) => *float,
            Numbers::Read(source) => source.float(),
            Numbers::Joined(source) => source.parts()[0].float(),
        }
    }

    fn values(&self) -> StoredValues<'_> {
        match self {
            Numbers::F16(v) => StoredValues::F16(v),
            Numbers::Bf16(v) => StoredValues::Bf16(v),
            Numbers::F32(v) => StoredValues::F32(v),
            Numbers::F64(v) => StoredValues::F64(v),
            Numbers::InPlace(Float::F16, bytes) => StoredValues::F16(in_place(bytes)),
            Numbers::InPlace(Float::Bf16, bytes) => StoredValues::Bf16(in_place(bytes)),
            Numbers::InPlace(Float::F32, bytes) => StoredValues::F32(in_place(bytes)),
            Numbers::InPlace(Float::F64, bytes) => StoredValues::F64(in_place(bytes)),
            Numbers::Read(source) => StoredValues::Source(&**source),
            Numbers::Joined(source) => StoredValues::Source(&**source),
        }
    }
}

fn in_place<T: AnyBitPattern + NoUninit>(bytes: &Bytes) -> &[T] {
    bytemuck::try_cast_slice(bytes).expect("length and alignment were checked when the view was made")
}

fn copied<T, const SIZE: usize>(bytes: &[u8], number: fn([u8; SIZE]) -> T) -> Vec<T> {
    bytes.as_chunks::<SIZE>().0.iter().map(|&chunk| number(chunk)).collect()
}

fn transposed<T: Copy>(columns: &[T], rows: usize, dim: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(columns.len());
    for row in 0..rows {
        out.extend((0..dim).map(|column| columns[column * rows + row]));
    }
    out
}

/// Matrix with at least one row and at least one column.
#[derive(Debug)]
pub(crate) struct Matrix {
    numbers: Numbers,
    dim: usize,
}

impl Matrix {
    /// Returns `None` if there are no numbers, or if they do not divide into rows of `dim`.
    pub(crate) fn new(numbers: Numbers, dim: usize) -> Option<Self> {
        Embeddings::new(numbers.values(), dim).ok()?;
        Some(Self { numbers, dim })
    }

    pub(crate) fn view(&self) -> Embeddings<'_> {
        Embeddings::new(self.numbers.values(), self.dim).expect("the shape was checked when the matrix was made")
    }

    pub(crate) fn rows(&self) -> usize {
        self.numbers.values().len() / self.dim
    }

    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    pub(crate) fn float(&self) -> Float {
        self.numbers.float()
    }

    /// Returns the rows of this matrix followed by those of `others`, which have the same width and number format. Nothing is
    /// copied.
    pub(crate) fn followed_by(self, others: Vec<Matrix>) -> Self {
        if others.is_empty() {
            return self;
        }
        let dim = self.dim;
        let parts = std::iter::once(self).chain(others).collect();
        Self { numbers: Numbers::Joined(Box::new(JoinedValues::new(parts))), dim }
    }

    pub(crate) fn is_in_place(&self) -> bool {
        match &self.numbers {
            Numbers::Joined(joined) => joined.parts().iter().all(Matrix::is_in_place),
            numbers => matches!(numbers, Numbers::InPlace(..)),
        }
    }

    pub(crate) fn is_read(&self) -> bool {
        match &self.numbers {
            Numbers::Joined(joined) => joined.parts().iter().any(Matrix::is_read),
            numbers => matches!(numbers, Numbers::Read(_)),
        }
    }
}

impl ValuePart for Matrix {
    fn values(&self) -> (StoredValues<'_>, Range<usize>) {
        let values = self.numbers.values();
        (values, 0..values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misaligned_bytes_are_copied_to_the_same_numbers() {
        for skip in 0..4 {
            let mut bytes = vec![0u8; skip];
            bytes.extend([1.5f32, -2.0].iter().flat_map(|x| x.to_le_bytes()));
            let bytes = Bytes::from(bytes).slice(skip..);
            let matrix = Matrix::new(Numbers::from_le_bytes(Float::F32, bytes), 2).unwrap();
            assert_eq!(matrix.view().row(0), [1.5, -2.0]);
        }
    }

    #[test]
    fn column_major_numbers_become_row_major() {
        let numbers = Numbers::F32(vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let matrix = Matrix::new(numbers.transposed(2, 3), 3).unwrap();
        assert_eq!(matrix.view().row(0), [1.0, 2.0, 3.0]);
        assert_eq!(matrix.view().row(1), [4.0, 5.0, 6.0]);
    }

    #[test]
    fn a_matrix_needs_numbers() {
        assert!(Matrix::new(Numbers::F32(vec![]), 3).is_none());
        assert!(Matrix::new(Numbers::F32(vec![1.0]), 0).is_none());
        assert!(Matrix::new(Numbers::F32(vec![1.0; 4]), 3).is_none());
    }
}
