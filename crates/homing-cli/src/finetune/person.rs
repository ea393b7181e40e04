//! A person who labels at the terminal.

use std::io::{self, BufRead, Write};

use homing_data::Dataset;
use homing_train::{Answer, Error, Oracle, some_of};

use crate::terminal;

/// Shows each example and asks for its class.
pub struct Person<'a> {
    pub data: &'a Dataset,
    /// The class of the task for each class of the data. Classes of the task are offered, and others are accepted too.
    pub classes: &'a [Option<u32>],
}

impl Oracle for Person<'_> {
    fn label(&mut self, row: usize) -> homing_train::Result<Answer> {
        let failed = |error: io::Error| Error::Io { path: "the terminal".into(), error };
        let classes = &self.data.classes;
        let offered: Vec<&str> =
            classes.iter().zip(self.classes).filter(|(_, of)| of.is_some()).map(|(name, _)| &**name).collect();
        let skip = skip_word(classes);
        let any_other = if offered.len() < classes.len() { " of any other class" } else { "" };
        self.show(row).map_err(failed)?;
        let mut out = terminal::stdout();
        let mut line = String::new();
        loop {
            write!(
                out,
                "label of {} ({}; type {skip} to skip an example{any_other}): ",
                self.data.ids[row],
                some_of(&offered)
            )
            .and_then(|()| out.flush())
            .map_err(failed)?;
            line.clear();
            if io::stdin().lock().read_line(&mut line).map_err(failed)? == 0 {
                return Err(Error::NoAnswer);
            }
            let answer = line.trim();
            if let Some(class) = classes.iter().position(|class| class.trim() == answer) {
                return Ok(Answer::Class(class as u32));
            }
            if answer == skip {
                return Ok(Answer::Skip);
            }
            writeln!(
                out,
                "there is no class {answer:?}; type one of the classes, or {skip} (--task CLASSES sets which are offered)"
            )
            .map_err(failed)?;
        }
    }
}

/// Returns the answer that skips an example: s, or the shortest repetition of it that is not the name of a class.
fn skip_word(classes: &[String]) -> String {
    let taken = |word: &String| classes.iter().any(|class| class.trim() == word);
    let mut word = "s".to_owned();
    while taken(&word) {
        word.push('s');
    }
    word
}

impl Person<'_> {
    /// Shows an image as characters of two pixels each, or a row by its first numbers.
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
        let coloured = terminal::may_colour();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(classes: &[&str]) -> Vec<String> {
        classes.iter().map(|&class| class.to_owned()).collect()
    }

    #[test]
    fn no_class_is_taken_for_a_skip() {
        for (classes, word) in [(&["a"][..], "s"), (&["s"], "ss"), (&["sss", "s", " ss"], "ssss")] {
            assert_eq!(skip_word(&names(classes)), word);
        }
    }
}
