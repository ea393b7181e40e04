//! Messages between a coordinator and its shards, as bytes.
//!
//! A message starts with four letters and the version of the format. Numbers are little-endian, and lengths take seven bits
//! per byte. What is read back has the shapes that a shard relies on: a message that lacks them is refused as a whole.

use super::bytes::{Malformed, Read, Reader, Writer};
use crate::shard::{
    CHECKPOINTS, Challengers, Decision, Errors, KeyForm, Opening, Pass, PickStep, Projection, Ranked, Ranking, Rival,
    Scored, SecondNumber, SecondStart, ShardSetup, SquareRoot, Start, Transform, Trial,
};

const LETTERS: &[u8; 4] = b"HOMS";

/// Version of the format. Coordinator and shards must have the same.
pub(super) const VERSION: u8 = 1;

/// A message to a shard.
#[derive(Debug)]
pub(super) enum Request {
    /// A question about the rows alone.
    Plain(Question),
    /// Steps of a selection, of which the first has the number `at`.
    Steps { session: u64, at: usize, commands: Vec<Command> },
}

/// A question about the rows alone, whose answer does not depend on earlier ones.
#[derive(Debug)]
pub(super) enum Question {
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
pub(super) enum Column {
    Embeddings,
    Probabilities,
}

/// A step of a selection.
#[derive(Debug)]
pub(super) enum Command {
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
pub(super) struct OwnedSetup {
    pub offset: Option<Vec<f64>>,
    pub to_unit: bool,
    pub form: KeyForm,
    pub noise_var: f64,
    pub is_double: bool,
}

#[derive(Debug)]
pub(super) struct OwnedOpening {
    pub offset: Option<Vec<f64>>,
    pub to_unit: bool,
    pub strategy: String,
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
pub(super) struct OwnedPass {
    pub steps: Vec<PickStep>,
    pub made: usize,
    pub after: Option<Vec<f64>>,
    pub root: Option<SquareRoot>,
    pub decisions: Vec<Decision>,
    pub checkpoints: [usize; CHECKPOINTS + 1],
    pub excluded: Vec<(usize, usize)>,
}

/// An answer of a shard.
#[derive(Debug)]
pub(super) enum Answer {
    /// The steps were done, and the last has no answer.
    Done,
    Challengers(Challengers),
    Ranked(Vec<Ranked>),
    Rivals(Vec<Rival>),
    Scored(Vec<Scored>),
    Singles(Vec<f32>),
    Doubles(Vec<f64>),
    Survey(PartSurvey),
    Sums {
        sum: Vec<f64>,
        block: Vec<f64>,
    },
    /// The shard does not know the steps before these, because it was started anew.
    Behind,
    /// Why there is no answer, in one sentence.
    Failed(String),
}

/// Sizes of the rows of one shard.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PartSurvey {
    /// ‖φ‖² of the rows before the first whole block.
    pub head: Vec<f64>,
    /// Σ ‖φ‖² of each whole block.
    pub blocks: Vec<f64>,
    /// ‖φ‖² of the rows after the last whole block.
    pub tail: Vec<f64>,
    /// The smallest ‖φ‖² that is not zero.
    pub least: f64,
    /// The largest ‖φ‖², and its row.
    pub most: f64,
    pub row: usize,
    /// The first row that is not finite.
    pub bad: Option<usize>,
}

fn header(kind: u8) -> Writer {
    let mut writer = Writer(LETTERS.to_vec());
    writer.u8(VERSION);
    writer.u8(kind);
    writer
}

/// Checks the start of a message, and returns its kind.
fn opened(bytes: &[u8]) -> Read<(u8, Reader<'_>)> {
    let mut reader = Reader(bytes);
    if reader.take(LETTERS.len())? != LETTERS {
        return Err(Malformed("it does not start as one"));
    }
    if reader.u8()? != VERSION {
        return Err(Malformed("it has another version; install the same version of Homing on all machines"));
    }
    Ok((reader.u8()?, reader))
}

fn write_transform(writer: &mut Writer, offset: Option<&[f64]>, to_unit: bool) {
    writer.optional(offset, Writer::f64s);
    writer.flag(to_unit);
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

    fn read(reader: &mut Reader<'_>, dim: usize) -> Read<Self> {
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

const UNKNOWN: Malformed = Malformed("it holds an unknown question");

/// Reads a vector of as many numbers as a row has.
fn vector(reader: &mut Reader<'_>, dim: usize) -> Read<Vec<f64>> {
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

fn write_projection(writer: &mut Writer, projection: &Projection) {
    write_vectors(writer, &projection.columns);
    writer.f64s(&projection.shrink);
}

fn projection(reader: &mut Reader<'_>, dim: usize) -> Read<Projection> {
    let (columns, shrink) = (vectors(reader, dim)?, reader.f64s()?);
    if columns.len() != shrink.len() {
        return Err(Malformed("a projection has another number of columns than variances"));
    }
    Ok(Projection { columns, shrink })
}

fn write_root(writer: &mut Writer, root: &SquareRoot) {
    write_vectors(writer, &root.columns);
    writer.f64(root.norm_sq);
}

fn root(reader: &mut Reader<'_>, dim: usize) -> Read<SquareRoot> {
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
pub(super) struct Shape {
    pub dim: usize,
    /// The rule's key, once the setup has said it.
    pub form: Option<KeyForm>,
}

impl Shape {
    fn second_kind(self) -> Read<u8> {
        self.form.map(second_kind).ok_or(Malformed("a step comes before the selection's setup"))
    }

    fn kind(self, reader: &mut Reader<'_>) -> Read<u8> {
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

    fn steps(self, reader: &mut Reader<'_>) -> Read<Vec<PickStep>> {
        reader.list(8 * self.dim, |reader| self.step(reader))
    }

    /// Reads the functional after the last step, which CTL needs and no other rule has.
    fn after(self, reader: &mut Reader<'_>) -> Read<Option<Vec<f64>>> {
        let after = reader.optional(|reader| vector(reader, self.dim))?;
        let is_standardised = self.second_kind()? == 3;
        if after.is_some() == is_standardised {
            Ok(after)
        } else {
            Err(Malformed("the functional after the steps belongs to another rule"))
        }
    }
}

fn write_steps<'s>(writer: &mut Writer, steps: impl ExactSizeIterator<Item = &'s PickStep>) {
    writer.whole(steps.len());
    steps.for_each(|step| write_step(writer, step));
}

fn write_pairs(writer: &mut Writer, pairs: &[(usize, usize)]) {
    writer.whole(pairs.len());
    for &(a, b) in pairs {
        writer.whole(a);
        writer.whole(b);
    }
}

fn pairs(reader: &mut Reader<'_>) -> Read<Vec<(usize, usize)>> {
    reader.list(2, |reader| Ok((reader.whole()?, reader.whole()?)))
}

fn write_errors(writer: &mut Writer, errors: &Errors) {
    [errors.var, errors.second, errors.std_cov].iter().for_each(|&x| writer.f64(x));
}

fn errors(reader: &mut Reader<'_>) -> Read<Errors> {
    Ok(Errors { var: reader.f64()?, second: reader.f64()?, std_cov: reader.f64()? })
}

fn form_number(form: KeyForm) -> u8 {
    match form {
        KeyForm::Variance => 0,
        KeyForm::SignalRatio => 1,
        KeyForm::InformationRatio => 2,
        KeyForm::ValueRatio => 3,
        KeyForm::SquaresRatio => 4,
        KeyForm::Correlation => 5,
    }
}

fn form(reader: &mut Reader<'_>) -> Read<KeyForm> {
    Ok(match reader.u8()? {
        0 => KeyForm::Variance,
        1 => KeyForm::SignalRatio,
        2 => KeyForm::InformationRatio,
        3 => KeyForm::ValueRatio,
        4 => KeyForm::SquaresRatio,
        5 => KeyForm::Correlation,
        _ => return Err(Malformed("it names an unknown rule")),
    })
}

/// Returns a step as bytes.
fn command(kind: u8, write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer(vec![kind]);
    write(&mut writer);
    writer.0
}

pub(super) fn setup_command(setup: &ShardSetup<'_>, form: KeyForm) -> Vec<u8> {
    command(0, |writer| {
        let Transform { offset, to_unit } = setup.transform;
        write_transform(writer, offset, to_unit);
        writer.u8(form_number(form));
        writer.f64(setup.noise_var);
        writer.flag(setup.is_double);
    })
}

pub(super) fn start_command(start: &Start<'_>) -> Vec<u8> {
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

pub(super) fn verify_command(pass: &Pass<'_>) -> Vec<u8> {
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

pub(super) fn keep_command(checkpoint: usize) -> Vec<u8> {
    command(3, |writer| writer.whole(checkpoint))
}

pub(super) fn rank_command(ranking: &Ranking<'_>) -> Vec<u8> {
    command(4, |writer| {
        write_pairs(writer, ranking.lists);
        write_steps(writer, ranking.pending.iter());
        writer.optional(ranking.after, Writer::f64s);
        writer.whole(ranking.count);
        writer.rows(ranking.taken);
    })
}

pub(super) fn try_command(trial: &Trial<'_>) -> Vec<u8> {
    command(5, |writer| {
        write_steps(writer, trial.steps.iter());
        writer.optional(trial.after, Writer::f64s);
        writer.rows(trial.excluded);
    })
}

pub(super) fn rewind_command(at: usize) -> Vec<u8> {
    command(6, |writer| writer.whole(at))
}

pub(super) fn open_command(opening: &Opening<'_>) -> Vec<u8> {
    command(7, |writer| {
        let Transform { offset, to_unit } = opening.transform;
        write_transform(writer, offset, to_unit);
        writer.text(opening.strategy);
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

pub(super) fn best_command(picks: u64) -> Vec<u8> {
    command(8, |writer| writer.u64(picks))
}

pub(super) fn top_command(count: usize, picks: u64) -> Vec<u8> {
    command(9, |writer| {
        writer.whole(count);
        writer.u64(picks);
    })
}

pub(super) fn observe_command(row: usize, point: &[f64]) -> Vec<u8> {
    command(10, |writer| {
        writer.whole(row);
        writer.f64s(point);
    })
}

impl Command {
    fn read(reader: &mut Reader<'_>, shape: &mut Shape) -> Read<Self> {
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

/// Reads points, row-major.
fn points(reader: &mut Reader<'_>, dim: usize) -> Read<Vec<f64>> {
    let values = reader.f64s()?;
    if values.len().is_multiple_of(dim) {
        Ok(values)
    } else {
        Err(Malformed("a point has another length than the rows"))
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

/// Returns a message with steps, of which the first has the number `at`.
pub(super) fn steps_message(session: u64, at: usize, commands: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = header(1);
    writer.u64(session);
    writer.whole(at);
    writer.whole(commands.len());
    for command in commands {
        writer.whole(command.len());
        writer.0.extend(command);
    }
    writer.0
}

impl Request {
    /// Reads a message to a shard of rows of `dim` numbers, given the number of the running selection and its rule's key.
    /// Later steps of another selection cannot be read and are left out.
    pub fn read(bytes: &[u8], dim: usize, running: Option<(u64, Option<KeyForm>)>) -> Read<Self> {
        let (kind, mut reader) = opened(bytes)?;
        let request = match kind {
            0 => Request::Plain(Question::read(&mut reader, dim)?),
            1 => {
                let (session, at) = (reader.u64()?, reader.whole()?);
                let form = match running {
                    Some((number, form)) if number == session => form,
                    _ if at > 0 => return Ok(Request::Steps { session, at, commands: Vec::new() }),
                    _ => None,
                };
                let mut shape = Shape { dim, form };
                let commands = reader.list(2, |reader| {
                    let len = reader.length(1)?;
                    let mut inner = Reader(reader.take(len)?);
                    let command = Command::read(&mut inner, &mut shape)?;
                    inner.end().map(|()| command)
                })?;
                if commands.is_empty() {
                    return Err(Malformed("it holds no step"));
                }
                Request::Steps { session, at, commands }
            }
            _ => return Err(UNKNOWN),
        };
        reader.end().map(|()| request)
    }
}

impl Answer {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = header(2);
        match self {
            Answer::Done => writer.u8(0),
            Answer::Challengers(Challengers { rows, complete }) => {
                writer.u8(1);
                write_pairs(&mut writer, rows);
                writer.whole(*complete);
            }
            Answer::Ranked(ranked) => {
                writer.u8(2);
                writer.whole(ranked.len());
                for one in ranked {
                    writer.whole(one.row);
                    writer.f32(one.key);
                }
            }
            Answer::Rivals(rivals) => {
                writer.u8(3);
                writer.whole(rivals.len());
                for rival in rivals {
                    writer.whole(rival.at);
                    writer.whole(rival.row);
                    writer.f32(rival.key);
                }
            }
            Answer::Scored(scored) => {
                writer.u8(4);
                writer.whole(scored.len());
                for one in scored {
                    writer.whole(one.row);
                    writer.f64(one.score);
                    writer.f64(one.key);
                }
            }
            Answer::Singles(values) => {
                writer.u8(5);
                writer.f32s(values);
            }
            Answer::Doubles(values) => {
                writer.u8(6);
                writer.f64s(values);
            }
            Answer::Survey(survey) => {
                writer.u8(7);
                [&survey.head, &survey.blocks, &survey.tail].into_iter().for_each(|list| writer.f64s(list));
                writer.f64(survey.least);
                writer.f64(survey.most);
                writer.whole(survey.row);
                writer.optional(survey.bad, Writer::whole);
            }
            Answer::Sums { sum, block } => {
                writer.u8(8);
                writer.f64s(sum);
                writer.f64s(block);
            }
            Answer::Behind => writer.u8(9),
            Answer::Failed(reason) => {
                writer.u8(10);
                writer.text(reason);
            }
        }
        writer.0
    }

    pub fn read(bytes: &[u8]) -> Read<Self> {
        let (kind, mut reader) = opened(bytes)?;
        if kind != 2 {
            return Err(Malformed("it is no answer"));
        }
        let reader = &mut reader;
        let answer = match reader.u8()? {
            0 => Answer::Done,
            1 => Answer::Challengers(Challengers { rows: pairs(reader)?, complete: reader.whole()? }),
            2 => Answer::Ranked(reader.list(5, |reader| Ok(Ranked { row: reader.whole()?, key: reader.f32()? }))?),
            3 => {
                let rival = |reader: &mut Reader<'_>| {
                    Ok(Rival { at: reader.whole()?, row: reader.whole()?, key: reader.f32()? })
                };
                Answer::Rivals(reader.list(6, rival)?)
            }
            4 => {
                let scored = |reader: &mut Reader<'_>| {
                    Ok(Scored { row: reader.whole()?, score: reader.f64()?, key: reader.f64()? })
                };
                Answer::Scored(reader.list(17, scored)?)
            }
            5 => Answer::Singles(reader.f32s()?),
            6 => Answer::Doubles(reader.f64s()?),
            7 => Answer::Survey(PartSurvey {
                head: reader.f64s()?,
                blocks: reader.f64s()?,
                tail: reader.f64s()?,
                least: reader.f64()?,
                most: reader.f64()?,
                row: reader.whole()?,
                bad: reader.optional(Reader::whole)?,
            }),
            8 => Answer::Sums { sum: reader.f64s()?, block: reader.f64s()? },
            9 => Answer::Behind,
            10 => Answer::Failed(reader.text()?),
            _ => return Err(Malformed("it holds an unknown answer")),
        };
        reader.end().map(|()| answer)
    }
}
