//! Answers of a shard.

use super::numbers::{pairs, write_pairs};
use super::{header, opened};
use crate::remote::bytes::{Malformed, Read, Reader, Writer};
use crate::shard::{Challengers, Ranked, Rival, Scored};

/// An answer of a shard.
#[derive(Debug)]
pub(crate) enum Answer {
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
pub(crate) struct PartSurvey {
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
