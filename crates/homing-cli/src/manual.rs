//! `homing completions` and `homing man`: what shells and `man` need, generated from the parser.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_complete::Shell;
use homing_pool::{disk, write_beside};

use crate::terminal;

const COMPLETION_EXAMPLES: &str = "\
Examples:
  homing completions bash > ~/.local/share/bash-completion/completions/homing
  homing completions zsh > ~/.zfunc/_homing
  homing completions fish > ~/.config/fish/completions/homing.fish";

#[derive(Args)]
#[command(before_help = COMPLETION_EXAMPLES)]
pub struct CompletionArguments {
    /// Shell to complete commands and options in.
    shell: Shell,
}

const MAN_EXAMPLES: &str = "\
Examples:
  homing man | man -l -
  homing man ~/.local/share/man/man1";

#[derive(Args)]
#[command(before_help = MAN_EXAMPLES)]
pub struct ManArguments {
    /// Folder for the pages of `homing` and all its commands; without it, the page of `homing` is printed.
    folder: Option<PathBuf>,
}

pub fn completions(arguments: &CompletionArguments, mut homing: Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut homing, "homing", &mut script);
    Ok(terminal::print_data(&script)?)
}

pub fn man(arguments: &ManArguments, homing: Command) -> Result<()> {
    let mut homing = homing.disable_help_subcommand(true);
    homing.build();
    match &arguments.folder {
        Some(folder) => {
            disk::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))?;
            write_pages(folder, &homing)
        }
        None => Ok(terminal::print_data(&page(&homing)?)?),
    }
}

/// Writes the page of a command, and those of the commands below it.
fn write_pages(folder: &Path, command: &Command) -> Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let page = page(command)?;
    write_beside(&folder.join(format!("{name}.1")), |file| file.write_all(&page))?;
    command.get_subcommands().filter(|below| !below.is_hide_set()).try_for_each(|below| write_pages(folder, below))
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    if let Some(examples) = command.get_before_help() {
        let examples = examples.to_string();
        page.extend_from_slice(b".SH EXAMPLES\n.nf\n");
        for line in examples.lines().skip(1) {
            writeln!(page, "{}", line.replace('\\', "\\e").replace('-', "\\-"))?;
        }
        page.extend_from_slice(b".fi\n");
    }
    Ok(page)
}
