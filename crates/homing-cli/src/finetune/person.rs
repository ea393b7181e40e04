//! A person at the terminal who labels.

use std::io::{self, BufRead, IsTerminal, Write};

use homing_data::Dataset;
use homing_train::{Answer, Error, Oracle};

use super::filed::some_of;

/// Shows an example, asks for its class.
pub struct Person<'a> {
    pub data: &'a Dataset,
    /// Which classes of the data are of the task: those that are offered. Any other is taken too.
    pub classes: &'a [Option<u32>],
}

impl Oracle for Person<'_> {
    fn label(&mut self, row: usize) -> homing_train::Result<Answer> {
        let failed = |error: io::Error| Error::Io { path: "the terminal".into(), error };
        let classes = &self.data.classes;
        let offered: Vec<&str> =
            classes.iter().zip(self.classes).filter(|(_, of)| of.is_some()).map(|(name, _)| &**name).collect();
        let skips = if offered.len() < classes.len() { "s skips what is none of these" } else { "s skips" };
        self.show(row).map_err(failed)?;
        let mut line = String::new();
        loop {
            print!("label of {} ({}; {skips}): ", self.data.ids[row], some_of(&offered));
            io::stdout().flush().map_err(failed)?;
            line.clear();
            if io::stdin().lock().read_line(&mut line).map_err(failed)? == 0 {
                let message = "nobody answers; go on later with --resume, where the answers so far are kept";
                return Err(Error::Setting(message.into()));
            }
            let answer = line.trim();
            if answer == "s" {
                return Ok(Answer::Skip);
            }
            if let Some(class) = classes.iter().position(|class| class == answer) {
                return Ok(Answer::Class(class as u32));
            }
            println!("there is no class {answer:?}; type one of them, or s (--task CLASSES says which are offered)");
        }
    }
}

impl Person<'_> {
    /// An image as characters, two pixels each; a row by its first numbers.
    fn show(&self, row: usize) -> io::Result<()> {
        let values = self.data.inputs.read(&[row]).map_err(io::Error::other)?;
        let mut out = io::stdout().lock();
        let &[channels, height, width] = self.data.inputs.shape() else {
            let first: Vec<String> = values.iter().take(8).map(|value| format!("{value:.3}")).collect();
            return writeln!(out, "{} …", first.join(" "));
        };
        let grey = |y: usize, x: usize| {
            if y >= height {
                return 0;
            }
            (0..channels).map(|c| values[(c * height + y) * width + x]).sum::<f32>() as usize / channels
        };
        let coloured = io::stdout().is_terminal();
        for y in (0..height).step_by(2) {
            for x in 0..width {
                let (top, bottom) = (grey(y, x), grey(y + 1, x));
                if coloured {
                    write!(out, "\x1b[38;2;{top};{top};{top};48;2;{bottom};{bottom};{bottom}m▀")?;
                } else {
                    write!(out, "{}", [' ', '.', ':', 'o', '#'][usize::midpoint(top, bottom) * 4 / 255])?;
                }
            }
            writeln!(out, "{}", if coloured { "\x1b[0m" } else { "" })?;
        }
        Ok(())
    }
}
