//! `homing cache`: shows and clears the cache of embeddings.

use std::io::Write;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use homing_encode::{Cache, CacheSize};
use homing_report::text::memory;

use crate::terminal::{self, grouped};

pub const EXAMPLES: &str = "\
Examples:
  homing cache show
  homing cache clear";

#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, Subcommand)]
enum Command {
    /// Say where the cache is, how large it is, and how large it may become.
    #[command(before_help = EXAMPLES)]
    Show,
    /// Remove all embeddings from the cache.
    #[command(before_help = EXAMPLES)]
    Clear,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let Some(cache) = Cache::usual() else {
        bail!(
            "there is no cache: HOMING_CACHE is off, or the user has no folder for caches; set HOMING_CACHE to a folder"
        );
    };
    let words = |CacheSize { files, bytes }| format!("{} files with {}", grouped(files), memory(bytes));
    let folder = cache.folder().display();
    match arguments.command {
        Command::Show => {
            let (size, limit) = (words(cache.size()?), memory(cache.limit()));
            writeln!(
                terminal::stdout(),
                "The embeddings that models computed are in {folder}: {size}, at most {limit}."
            )?;
        }
        Command::Clear => {
            let size = words(cache.clear()?);
            writeln!(terminal::stdout(), "Removed {size} from {folder}.")?;
        }
    }
    Ok(())
}
