//! What runs the cells of an experiment: processes of this machine, or those of another.

use std::process::{Child, Command, Stdio};

use anyhow::Result;

use super::cell_folder::CellFolder;

/// A cell that has ended, by its key, and whether it is done.
pub type EndedCell = (String, bool);

/// What runs cells, several at once. The log of a cell that failed says why.
pub trait Workers {
    /// Starts a cell, or continues it.
    fn start(&mut self, cell: &CellFolder<'_>) -> Result<()>;

    /// Returns the cells that have ended since the last call.
    fn ended(&mut self) -> Result<Vec<EndedCell>>;

    /// Ends all cells, which continue when they are started again.
    fn end(&mut self);
}

/// Processes of this machine, each with its share of the cores.
pub struct Processes {
    threads: String,
    running: Vec<(String, Child)>,
}

impl Processes {
    /// Shares the cores among `jobs` processes.
    pub fn new(jobs: usize) -> Self {
        let threads = (std::thread::available_parallelism().map_or(1, usize::from) / jobs).max(1);
        Self { threads: threads.to_string(), running: Vec::new() }
    }
}

impl Workers for Processes {
    fn start(&mut self, cell: &CellFolder<'_>) -> Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(cell.words()).env("RAYON_NUM_THREADS", &self.threads).env("OMP_NUM_THREADS", &self.threads);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(cell.open_log()?).spawn()?;
        self.running.push((cell.key.clone(), child));
        Ok(())
    }

    fn ended(&mut self) -> Result<Vec<EndedCell>> {
        let (mut ended, mut running) = (Vec::new(), Vec::new());
        for (key, mut child) in self.running.drain(..) {
            match child.try_wait()? {
                Some(status) => ended.push((key, status.success())),
                None => running.push((key, child)),
            }
        }
        self.running = running;
        Ok(ended)
    }

    fn end(&mut self) {
        for (_, child) in &mut self.running {
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}
