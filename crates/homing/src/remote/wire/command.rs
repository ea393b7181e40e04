//! The steps of a selection.

use super::UNKNOWN;
use super::numbers::{
    Shape, errors, form, pairs, points, projection, root, vector, write_errors, write_pairs, write_projection,
    write_root, write_steps, write_transform,
};
use crate::remote::bytes::{Malformed, Read, Reader, Writer};
use crate::shard::{
    CHECKPOINTS, Decision, KeyForm, Opening, Pass, PickStep, Projection, Ranking, SecondStart, ShardSetup, SquareRoot,
    Start, Transform, Trial,
};

/// A step of a selection.
#[derive(Debug)]
pub(crate) enum Command {
    Setup(OwnedSetup),
    Open(Box<OwnedOpening>),
    Start {
        data: Projection,
        second: SecondStart,
        closed: Vec<usize>,
    },
    Verify(OwnedPass),
    Keep(usize),
    Rank {
        lists: Vec<(usize, usize)>,
        pending: Vec<PickStep>,
        after: Option<Vec<f64>>,
        count: usize,
        taken: Vec<usize>,
    },
    Try {
        steps: Vec<PickStep>,
        after: Option<Vec<f64>>,
        excluded: Vec<usize>,
    },
    Rewind(usize),
    Best {
        picks: u64,
    },
    Top {
        count: usize,
        picks: u64,
    },
    Observe {
        row: usize,
        point: Vec<f64>,
    },
}

#[derive(Debug)]
pub(crate) struct OwnedSetup {
    pub offset: Option<Vec<f64>>,
    pub to_unit: bool,
    pub form: KeyForm,
    pub noise_var: f64,
    pub is_double: bool,
}

#[derive(Debug)]
pub(crate) struct OwnedOpening {
    pub offset: Option<Vec<f64>>,
    pub to_unit: bool,
    pub strategy: String,
    pub in_given_space: bool,
    pub beta: Option<f64>,
    pub noise_var: f64,
    pub seed: u64,
    pub observed: Vec<f64>,
    pub targets: Option<Vec<f64>>,
    pub drawn: Option<Vec<usize>>,
    pub is_whole: bool,
    pub turns: usize,
    pub picks: Vec<f64>,
    pub near: Vec<f64>,
    pub closed: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct OwnedPass {
    pub steps: Vec<PickStep>,
    pub made: usize,
    pub after: Option<Vec<f64>>,
    pub root: Option<SquareRoot>,
    pub decisions: Vec<Decision>,
    pub checkpoints: [usize; CHECKPOINTS + 1],
    pub excluded: Vec<(usize, usize)>,
}

/// Returns a step as bytes.
fn command(kind: u8, write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer(vec![kind]);
    write(&mut writer);
    writer.0
}

pub(crate) fn setup_command(setup: &ShardSetup<'_>, form: KeyForm) -> Vec<u8> {
    command(0, |writer| {
        let Transform { offset, to_unit } = setup.transform;
        write_transform(writer, offset, to_unit);
        writer.u8(form.number());
        writer.f64(setup.noise_var);
        writer.flag(setup.is_double);
    })
}

pub(crate) fn start_command(start: &Start<'_>) -> Vec<u8> {
    let closed: Vec<usize> = (0..start.open.len()).filter(|&row| !start.open[row]).collect();
    command(1, |writer| {
        write_projection(writer, start.data);
        match start.second {
            SecondStart::None => writer.u8(0),
            SecondStart::Joint(joint) => {
                writer.u8(1);
                write_projection(writer, joint);
            }
            SecondStart::Squares(root) => {
                writer.u8(2);
                write_root(writer, root);
            }
            SecondStart::Standardised(weights) => {
                writer.u8(3);
                writer.f64s(weights);
            }
        }
        writer.rows(&closed);
    })
}

pub(crate) fn verify_command(pass: &Pass<'_>) -> Vec<u8> {
    command(2, |writer| {
        write_steps(writer, pass.steps.iter().copied());
        writer.whole(pass.made);
        writer.optional(pass.after, Writer::f64s);
        writer.optional(pass.root, write_root);
        for decision in pass.decisions {
            writer.f64(decision.bar);
            write_errors(writer, &decision.errors);
            write_errors(writer, &decision.fine_errors);
        }
        pass.checkpoints.iter().for_each(|&checkpoint| writer.whole(checkpoint));
        write_pairs(writer, pass.excluded);
    })
}

pub(crate) fn keep_command(checkpoint: usize) -> Vec<u8> {
    command(3, |writer| writer.whole(checkpoint))
}

pub(crate) fn rank_command(ranking: &Ranking<'_>) -> Vec<u8> {
    command(4, |writer| {
        write_pairs(writer, ranking.lists);
        write_steps(writer, ranking.pending.iter());
        writer.optional(ranking.after, Writer::f64s);
        writer.whole(ranking.count);
        writer.rows(ranking.taken);
    })
}

pub(crate) fn try_command(trial: &Trial<'_>) -> Vec<u8> {
    command(5, |writer| {
        write_steps(writer, trial.steps.iter());
        writer.optional(trial.after, Writer::f64s);
        writer.rows(trial.excluded);
    })
}

pub(crate) fn rewind_command(at: usize) -> Vec<u8> {
    command(6, |writer| writer.whole(at))
}

pub(crate) fn open_command(opening: &Opening<'_>) -> Vec<u8> {
    command(7, |writer| {
        let Transform { offset, to_unit } = opening.transform;
        write_transform(writer, offset, to_unit);
        writer.text(opening.strategy);
        writer.flag(opening.in_given_space);
        writer.optional(opening.beta, Writer::f64);
        writer.f64(opening.noise_var);
        writer.u64(opening.seed);
        writer.f64s(opening.observed);
        writer.optional(opening.targets, Writer::f64s);
        writer.optional(opening.drawn, Writer::rows);
        writer.flag(opening.is_whole);
        writer.whole(opening.turns);
        writer.f64s(opening.picks);
        writer.f64s(opening.near);
        writer.rows(opening.closed);
    })
}

pub(crate) fn best_command(picks: u64) -> Vec<u8> {
    command(8, |writer| writer.u64(picks))
}

pub(crate) fn top_command(count: usize, picks: u64) -> Vec<u8> {
    command(9, |writer| {
        writer.whole(count);
        writer.u64(picks);
    })
}

pub(crate) fn observe_command(row: usize, point: &[f64]) -> Vec<u8> {
    command(10, |writer| {
        writer.whole(row);
        writer.f64s(point);
    })
}

impl Command {
    pub(super) fn read(reader: &mut Reader<'_>, shape: &mut Shape) -> Read<Self> {
        let dim = shape.dim;
        Ok(match reader.u8()? {
            0 => {
                let (offset, to_unit) = (reader.optional(|reader| vector(reader, dim))?, reader.flag()?);
                let form = form(reader)?;
                shape.form = Some(form);
                let (noise_var, is_double) = (reader.f64()?, reader.flag()?);
                Command::Setup(OwnedSetup { offset, to_unit, form, noise_var, is_double })
            }
            1 => {
                let data = projection(reader, dim)?;
                let second = match shape.kind(reader)? {
                    0 => SecondStart::None,
                    1 => SecondStart::Joint(projection(reader, dim)?),
                    2 => SecondStart::Squares(root(reader, dim)?),
                    _ => SecondStart::Standardised(vector(reader, dim)?),
                };
                Command::Start { data, second, closed: reader.rows()? }
            }
            2 => Command::Verify(pass(reader, *shape)?),
            3 => Command::Keep(reader.whole()?),
            4 => Command::Rank {
                lists: pairs(reader)?,
                pending: shape.steps(reader)?,
                after: shape.after(reader)?,
                count: reader.whole()?,
                taken: reader.rows()?,
            },
            5 => Command::Try { steps: shape.steps(reader)?, after: shape.after(reader)?, excluded: reader.rows()? },
            6 => Command::Rewind(reader.whole()?),
            7 => Command::Open(Box::new(OwnedOpening {
                offset: reader.optional(|reader| vector(reader, dim))?,
                to_unit: reader.flag()?,
                strategy: reader.text()?,
                in_given_space: reader.flag()?,
                beta: reader.optional(Reader::f64)?,
                noise_var: reader.f64()?,
                seed: reader.u64()?,
                observed: points(reader, dim)?,
                targets: reader.optional(|reader| points(reader, dim))?,
                drawn: reader.optional(Reader::rows)?,
                is_whole: reader.flag()?,
                turns: reader.whole()?,
                picks: points(reader, dim)?,
                near: reader.f64s()?,
                closed: reader.rows()?,
            })),
            8 => Command::Best { picks: reader.u64()? },
            9 => Command::Top { count: reader.whole()?, picks: reader.u64()? },
            10 => Command::Observe { row: reader.whole()?, point: reader.f64s()? },
            _ => return Err(UNKNOWN),
        })
    }
}

fn pass(reader: &mut Reader<'_>, shape: Shape) -> Read<OwnedPass> {
    let (steps, made) = (shape.steps(reader)?, reader.whole()?);
    let drafted = steps.len().checked_sub(made).ok_or(Malformed("more steps are made than there are"))?;
    let (after, root) = (shape.after(reader)?, reader.optional(|reader| root(reader, shape.dim))?);
    if root.is_some() && shape.second_kind()? != 2 {
        return Err(Malformed("a root belongs to another rule"));
    }
    let decision = |reader: &mut Reader<'_>| {
        Ok(Decision { bar: reader.f64()?, errors: errors(reader)?, fine_errors: errors(reader)? })
    };
    let decisions = (0..drafted).map(|_| decision(reader)).collect::<Read<Vec<_>>>()?;
    let mut checkpoints = [0; CHECKPOINTS + 1];
    for checkpoint in &mut checkpoints {
        *checkpoint = reader.whole()?;
    }
    if checkpoints[0] != 0 || !checkpoints.is_sorted() || checkpoints[CHECKPOINTS] > drafted {
        return Err(Malformed("the checkpoints are not in order"));
    }
    Ok(OwnedPass { steps, made, after, root, decisions, checkpoints, excluded: pairs(reader)? })
}
