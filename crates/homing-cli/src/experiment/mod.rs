//! `homing experiment`: pictures of the method and its theory on small Gaussian processes.

mod band;
mod bound;
mod capacity;
mod figure1;
mod line;
mod rounds;
mod world;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use homing_pool::{check_writable, write_beside};

use crate::terminal::plain_table;

#[derive(Args)]
pub struct Arguments {
    /// Which one.
    #[arg(value_enum)]
    name: Name,
    /// Where to write the page; NAME.html by default.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seed of everything random.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Targets around, within, overlapping and outside of the pool, on a plane (the paper's Figure 1).
    GpFigure1,
    /// The same on a line: what ITL and uncertainty sampling learn with the same labels.
    GpLine,
    /// The targets' variance over the rounds, for five rules.
    GpRounds,
    /// Variance, floor and bound (Theorem 3.1), and Γ_n under γ_n/n (Theorem D.1).
    GpBound,
    /// The confidence band of the agnostic setting and how often it holds (Theorem 3.2).
    GpBand,
    /// Information capacity of four kernels and how it grows (Table 3).
    GpCapacity,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let name = arguments.name.to_possible_value().expect("no name is hidden").get_name().to_owned();
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.html")));
    if out.as_os_str() == "-" {
        bail!("--out writes a page to a file; name one, such as {name}.html");
    }
    check_writable(&out)?;
    let page = match arguments.name {
        Name::GpFigure1 => figure1::page(),
        Name::GpLine => line::page(arguments.seed),
        Name::GpRounds => rounds::page(arguments.seed),
        Name::GpBound => bound::page(),
        Name::GpBand => band::page(arguments.seed),
        Name::GpCapacity => capacity::page(),
    }?;
    let html = page.render()?;
    write_beside(&out, |file| file.write_all(html.as_bytes()))?;
    let mut stdout = std::io::stdout();
    for section in page.sections.iter().filter(|section| !section.table.is_empty()) {
        let mut table = plain_table();
        table.set_header(&section.table[0]);
        table.add_rows(&section.table[1..]);
        writeln!(stdout, "{}\n{table}\n", section.title)?;
    }
    writeln!(stdout, "The plots are in {}.", out.display())?;
    Ok(())
}
