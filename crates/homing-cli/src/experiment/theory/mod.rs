//! Pictures of the method and its theory on small Gaussian processes.

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
use homing_pool::{check_writable, write_beside};
use homing_report::plots::Page;

use crate::terminal::{self, plain_table};

/// Name, description, and a function that draws the picture for a seed.
type Picture = (&'static str, &'static str, fn(u64) -> Result<Page>);

pub const PICTURES: [Picture; 6] = [
    ("gp-figure1", "targets around, within, overlapping and outside the pool, on a plane (Figure 1)", |_| {
        figure1::page()
    }),
    (
        "gp-line",
        "the same on a line: what ITL and uncertainty sampling learn from the same number of labels",
        line::page,
    ),
    ("gp-rounds", "the targets' variance over the rounds, for five rules", rounds::page),
    ("gp-bound", "variance, floor and bound (Theorem 3.1), and Γ_n below γ_n/n (Theorem D.1)", |_| bound::page()),
    ("gp-band", "the confidence band of the agnostic setting and how often it holds (Theorem 3.2)", band::page),
    ("gp-capacity", "information capacity of four kernels and how it grows (Table 3)", |_| capacity::page()),
];

pub fn run((name, _, draw): Picture, out: Option<PathBuf>, seed: u64) -> Result<()> {
    let out = out.unwrap_or_else(|| PathBuf::from(format!("{name}.html")));
    if out.as_os_str() == "-" {
        bail!("--out writes a page to a file; name a file, such as {name}.html");
    }
    check_writable(&out)?;
    let page = draw(seed)?;
    let html = page.render()?;
    write_beside(&out, |file| file.write_all(html.as_bytes()))?;
    let mut stdout = terminal::stdout();
    for section in page.sections.iter().filter(|section| !section.table.is_empty()) {
        let mut table = plain_table();
        table.set_header(&section.table[0]);
        table.add_rows(&section.table[1..]);
        writeln!(stdout, "{}\n{table}\n", section.title)?;
    }
    writeln!(stdout, "The plots are in {}.", out.display())?;
    Ok(())
}
