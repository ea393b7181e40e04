//! `homing embed` with an encoder: texts and images become a pool for `homing select`.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use homing_encode::{Cache, EncoderChoice, Session};
use homing_pool::{PoolFormat, ReadOptions, write_pool};

use crate::files::encoding_progress;
use crate::terminal::{self, grouped, note, seconds};

/// A request to embed data with an encoder.
pub struct Encoding<'a> {
    pub data: &'a Path,
    pub encoder: EncoderChoice,
    /// Pool from which a built-in encoder learns instead of the data.
    pub learn_from: Option<&'a Path>,
    pub columns: ReadOptions,
    pub out: &'a Path,
    pub quiet: bool,
}

impl Encoding<'_> {
    pub fn run(&self) -> Result<()> {
        PoolFormat::of(self.out)?;
        let mut session = Session::new(self.encoder.clone())?.with_cache(Cache::usual());
        let start = Instant::now();
        if let Some(path) = self.learn_from.filter(|_| self.encoder == EncoderChoice::BuiltIn) {
            session.open(path, &self.columns, &mut encoding_progress(self.quiet))?;
        }
        let opened = session.open(self.data, &self.columns, &mut encoding_progress(self.quiet))?;
        write_pool(self.out, &opened.pool)?;
        let pool = &opened.pool;
        if let Some(encoder) = session.encoder() {
            writeln!(
                terminal::stdout(),
                "Wrote the embeddings of {} {} by {}, {} numbers each, to {}.",
                grouped(pool.rows()),
                encoder.kind(),
                encoder.name(),
                pool.dim(),
                self.out.display()
            )?;
        }
        if !self.quiet {
            let cached = match session.cached() {
                0 => String::new(),
                some => format!(", {} of them from the cache", grouped(some)),
            };
            note(format_args!("Time: {}{cached}.", seconds(start.elapsed())));
            if session.is_built_in() && self.learn_from.is_none() {
                note(
                    "The built-in encoder learned from these data. Embed the targets with --learn-from and the same file, or give both \
                     files to `homing select`.",
                );
            }
        }
        Ok(())
    }
}
