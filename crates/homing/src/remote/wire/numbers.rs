//! Vectors, steps and rules inside messages.

use crate::remote::bytes::{Malformed, Read, Reader, Writer};
use crate::shard::{Errors, KeyForm, PickStep, Projection, SecondNumber, SquareRoot};

pub(crate) fn write_transform(writer: &mut Writer, offset: Option<&[f64]>, to_unit: bool) {
    writer.optional(offset, Writer::f64s);
    writer.flag(to_unit);
}

/// Reads a vector of as many numbers as a row has.
pub(crate) fn vector(reader: &mut Reader<'_>, dim: usize) -> Read<Vec<f64>> {
    let values = reader.f64s()?;
    if values.len() == dim { Ok(values) } else { Err(Malformed("a vector has another length than the rows")) }
}

fn vectors(reader: &mut Reader<'_>, dim: usize) -> Read<Vec<Vec<f64>>> {
    reader.list(1 + 8 * dim, |reader| vector(reader, dim))
}

fn write_vectors(writer: &mut Writer, vectors: &[Vec<f64>]) {
    writer.whole(vectors.len());
    vectors.iter().for_each(|vector| writer.f64s(vector));
}

pub(crate) fn write_projection(writer: &mut Writer, projection: &Projection) {
    write_vectors(writer, &projection.columns);
    writer.f64s(&projection.shrink);
}

pub(crate) fn projection(reader: &mut Reader<'_>, dim: usize) -> Read<Projection> {
    let (columns, shrink) = (vectors(reader, dim)?, reader.f64s()?);
    if columns.len() != shrink.len() {
        return Err(Malformed("a projection has another number of columns than variances"));
    }
    Ok(Projection { columns, shrink })
}

pub(crate) fn write_root(writer: &mut Writer, root: &SquareRoot) {
    write_vectors(writer, &root.columns);
    writer.f64(root.norm_sq);
}

pub(crate) fn root(reader: &mut Reader<'_>, dim: usize) -> Read<SquareRoot> {
    let (columns, norm_sq) = (vectors(reader, dim)?, reader.f64()?);
    if columns.is_empty() {
        return Err(Malformed("a root has no columns"));
    }
    Ok(SquareRoot { columns, norm_sq })
}

fn write_step(writer: &mut Writer, step: &PickStep) {
    writer.whole(step.row);
    [step.key, step.score, step.total, step.var, step.target_var].iter().for_each(|&x| writer.f64(x));
    writer.f64s(&step.data);
    match &step.second {
        SecondNumber::None => writer.u8(0),
        SecondNumber::Joint { weights, total } => {
            writer.u8(1);
            writer.f64(*total);
            writer.f64s(weights);
        }
        SecondNumber::Squares { weights, norm_sq } => {
            writer.u8(2);
            writer.f64(*norm_sq);
            writer.f64s(weights);
        }
        SecondNumber::Standardised { weights } => {
            writer.u8(3);
            writer.f64s(weights);
        }
    }
}

/// Returns whether a rule with this key has a second number of the kind with this letter.
fn second_kind(form: KeyForm) -> u8 {
    match form {
        KeyForm::Variance | KeyForm::SignalRatio => 0,
        KeyForm::InformationRatio | KeyForm::ValueRatio => 1,
        KeyForm::SquaresRatio => 2,
        KeyForm::Correlation => 3,
    }
}

/// The shapes that a selection's messages must have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub dim: usize,
    /// The rule's key, once the setup has said it.
    pub form: Option<KeyForm>,
}

impl Shape {
    pub fn second_kind(self) -> Read<u8> {
        self.form.map(second_kind).ok_or(Malformed("a step comes before the selection's setup"))
    }

    pub fn kind(self, reader: &mut Reader<'_>) -> Read<u8> {
        let (kind, wanted) = (reader.u8()?, self.second_kind()?);
        if kind == wanted { Ok(kind) } else { Err(Malformed("a second number belongs to another rule")) }
    }

    fn step(self, reader: &mut Reader<'_>) -> Read<PickStep> {
        let dim = self.dim;
        let row = reader.whole()?;
        let [key, score, total, var, target_var] =
            [reader.f64()?, reader.f64()?, reader.f64()?, reader.f64()?, reader.f64()?];
        let data = vector(reader, dim)?;
        let second = match self.kind(reader)? {
            0 => SecondNumber::None,
            1 => {
                let total = reader.f64()?;
                SecondNumber::Joint { weights: vector(reader, dim)?, total }
            }
            2 => {
                let norm_sq = reader.f64()?;
                SecondNumber::Squares { weights: vector(reader, dim)?, norm_sq }
            }
            _ => SecondNumber::Standardised { weights: vector(reader, dim)? },
        };
        Ok(PickStep { row, key, score, data, total, var, target_var, second })
    }

    pub fn steps(self, reader: &mut Reader<'_>) -> Read<Vec<PickStep>> {
        reader.list(8 * self.dim, |reader| self.step(reader))
    }

    /// Reads the functional after the last step, which CTL needs and no other rule has.
    pub fn after(self, reader: &mut Reader<'_>) -> Read<Option<Vec<f64>>> {
        let after = reader.optional(|reader| vector(reader, self.dim))?;
        let is_standardised = self.second_kind()? == 3;
        if after.is_some() == is_standardised {
            Ok(after)
        } else {
            Err(Malformed("the functional after the steps belongs to another rule"))
        }
    }
}

pub(crate) fn write_steps<'s>(writer: &mut Writer, steps: impl ExactSizeIterator<Item = &'s PickStep>) {
    writer.whole(steps.len());
    steps.for_each(|step| write_step(writer, step));
}

pub(crate) fn write_pairs(writer: &mut Writer, pairs: &[(usize, usize)]) {
    writer.whole(pairs.len());
    for &(a, b) in pairs {
        writer.whole(a);
        writer.whole(b);
    }
}

pub(crate) fn pairs(reader: &mut Reader<'_>) -> Read<Vec<(usize, usize)>> {
    reader.list(2, |reader| Ok((reader.whole()?, reader.whole()?)))
}

pub(crate) fn write_errors(writer: &mut Writer, errors: &Errors) {
    [errors.var, errors.second, errors.std_cov].iter().for_each(|&x| writer.f64(x));
}

pub(crate) fn errors(reader: &mut Reader<'_>) -> Read<Errors> {
    Ok(Errors { var: reader.f64()?, second: reader.f64()?, std_cov: reader.f64()? })
}

/// Reads the number of a rule's key.
pub(crate) fn form(reader: &mut Reader<'_>) -> Read<KeyForm> {
    KeyForm::numbered(reader.u8()?).ok_or(Malformed("it names an unknown rule"))
}

/// Reads points, row-major.
pub(crate) fn points(reader: &mut Reader<'_>, dim: usize) -> Read<Vec<f64>> {
    let values = reader.f64s()?;
    if values.len().is_multiple_of(dim) {
        Ok(values)
    } else {
        Err(Malformed("a point has another length than the rows"))
    }
}
