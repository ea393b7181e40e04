//! A person who labels at the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use homing_data::Dataset;
use homing_train::{Answer, Error, Oracle, Question, some_of};

use crate::picture::{self, Means};
use crate::terminal;

/// Shows each example and asks for its class.
pub struct Person<'a> {
    pub data: &'a Dataset,
    /// The class of the task for each class of the data. Classes of the task are offered, and others are accepted too.
    pub classes: &'a [Option<u32>],
}

impl Oracle for Person<'_> {
    fn label(&mut self, question: &Question<'_>) -> homing_train::Result<Answer> {
        let failed = |error: io::Error| Error::Io { path: "the terminal".into(), error };
        let answers = Answers::new(&self.data.classes, self.classes);
        self.show(question.row).map_err(failed)?;
        let mut out = terminal::stdout();
        let Question { number, count, round, .. } = question;
        writeln!(out, "{number} of {count} in round {round}: {}", self.data.ids[question.row]).map_err(failed)?;
        let mut line = String::new();
        loop {
            write!(out, "label ({}): ", answers.offer()).and_then(|()| out.flush()).map_err(failed)?;
            line.clear();
            if io::stdin().lock().read_line(&mut line).map_err(failed)? == 0 {
                return Err(Error::NoAnswer);
            }
            match answers.understand(line.trim()) {
                Ok(answer) => return Ok(answer),
                Err(reason) => writeln!(out, "{reason}").map_err(failed)?,
            }
        }
    }
}

impl Person<'_> {
    /// Shows a text, an image, or the first numbers of a row.
    fn show(&self, row: usize) -> io::Result<()> {
        let mut out = terminal::stdout();
        writeln!(out)?;
        if let Some(images) = self.data.images() {
            let picture = images.rgb(row).map_err(io::Error::other)?;
            let (columns, lines) = room();
            let shown = picture::shown(picture, Means::of_terminal(terminal::may_colour()), columns, lines);
            return io::stdout().lock().write_all(shown.as_bytes());
        }
        if let Some(text) = self.data.texts.get(row) {
            return writeln!(out, "{text}");
        }
        let values = self.data.inputs.read(&[row]).map_err(io::Error::other)?;
        let first: Vec<String> = values.iter().take(8).map(|value| format!("{value:.3}")).collect();
        let more = if values.len() > first.len() { " …" } else { "" };
        writeln!(out, "{}{more}", first.join(" "))
    }
}

/// Returns how many columns and lines of the terminal a picture may take.
fn room() -> (u32, u32) {
    const MOST: (u32, u32) = (72, 24);
    match terminal_size::terminal_size().filter(|_| io::stdout().is_terminal()) {
        Some((terminal_size::Width(width), terminal_size::Height(height))) => {
            (u32::from(width).clamp(8, MOST.0), u32::from(height.saturating_sub(6)).clamp(4, MOST.1))
        }
        None => MOST,
    }
}

/// What a person may type.
struct Answers<'a> {
    classes: &'a [String],
    /// Numbers of the classes that are offered.
    offered: Vec<usize>,
    /// Whether the offered classes have number keys, which they have unless a class is called like a number.
    numbered: bool,
    skip: String,
    undo: String,
}

/// Maximum number of classes that are listed with their number.
const LISTED: usize = 20;

impl<'a> Answers<'a> {
    fn new(classes: &'a [String], of_task: &[Option<u32>]) -> Self {
        let offered: Vec<usize> = (0..classes.len()).filter(|&class| of_task[class].is_some()).collect();
        let numbered = offered.len() <= LISTED && classes.iter().all(|class| class.trim().parse::<u64>().is_err());
        Self { classes, offered, numbered, skip: word('s', classes), undo: word('u', classes) }
    }

    /// Lists what can be typed.
    fn offer(&self) -> String {
        let names: Vec<&str> = self.offered.iter().map(|&class| &*self.classes[class]).collect();
        let listed = if self.numbered {
            let each: Vec<String> = names.iter().enumerate().map(|(at, name)| format!("{} {name}", at + 1)).collect();
            each.join(", ")
        } else {
            some_of(&names)
        };
        let any_other = if self.offered.len() < self.classes.len() { " of any other class" } else { "" };
        format!("{listed}; {} skip an example{any_other}, {} undo", self.skip, self.undo)
    }

    /// Returns the answer that was typed: a class, the beginning of its name, or its number; or the reason why it is none.
    fn understand(&self, typed: &str) -> Result<Answer, String> {
        let class = |class: usize| Ok(Answer::Class(class as u32));
        if let Some(named) = self.classes.iter().position(|class| class.trim() == typed) {
            return class(named);
        }
        match typed {
            _ if typed == self.skip => return Ok(Answer::Skip),
            _ if typed == self.undo => return Ok(Answer::Undo),
            _ => {}
        }
        if self.numbered
            && let Ok(number) = typed.parse::<usize>()
        {
            let most = self.offered.len();
            let chosen = number.checked_sub(1).and_then(|at| self.offered.get(at));
            return chosen.map_or_else(
                || Err(format!("there is no class {number}; type a number from 1 to {most}")),
                |&at| class(at),
            );
        }
        let begins = |at: &usize| {
            !typed.is_empty() && self.classes[*at].trim().to_lowercase().starts_with(&typed.to_lowercase())
        };
        let offered: Vec<usize> = self.offered.iter().copied().filter(begins).collect();
        let found = if offered.is_empty() { (0..self.classes.len()).filter(begins).collect() } else { offered };
        match found[..] {
            [only] => class(only),
            [] => Err(format!(
                "there is no class {typed:?}; type one of the classes, the beginning of its name, or {} (--task CLASSES sets which are \
                 offered)",
                self.skip
            )),
            _ => {
                let names: Vec<&str> = found.iter().map(|&at| &*self.classes[at]).collect();
                Err(format!("{typed:?} may be {}; type more of the name", some_of(&names)))
            }
        }
    }
}

/// Returns the word for an action: its letter, or the shortest repetition of it that is not the name of a class.
fn word(letter: char, classes: &[String]) -> String {
    let mut word = letter.to_string();
    while classes.iter().any(|class| class.trim() == word) {
        word.push(letter);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(classes: &[&str]) -> Vec<String> {
        classes.iter().map(|&class| class.to_owned()).collect()
    }

    #[test]
    fn no_class_is_taken_for_a_skip() {
        for (classes, expected) in [(&["a"][..], "s"), (&["s"], "ss"), (&["sss", "s", " ss"], "ssss")] {
            assert_eq!(word('s', &names(classes)), expected);
        }
    }

    #[test]
    fn names_numbers_and_beginnings_are_understood() {
        let classes = names(&["cat", "dog", "dolphin", "other"]);
        let answers = Answers::new(&classes, &[Some(0), Some(1), Some(2), None]);
        assert_eq!(answers.offer(), "1 cat, 2 dog, 3 dolphin; s skip an example of any other class, u undo");
        for (typed, answer) in [
            ("dog", Answer::Class(1)),
            ("3", Answer::Class(2)),
            ("C", Answer::Class(0)),
            ("dol", Answer::Class(2)),
            ("oth", Answer::Class(3)),
            ("s", Answer::Skip),
            ("u", Answer::Undo),
        ] {
            assert_eq!(answers.understand(typed), Ok(answer), "{typed}");
        }
        for (typed, reason) in [
            ("do", "\"do\" may be dog, dolphin; type more of the name"),
            ("4", "there is no class 4; type a number from 1 to 3"),
            ("0", "there is no class 0; type a number from 1 to 3"),
        ] {
            assert_eq!(answers.understand(typed), Err(reason.to_owned()));
        }
        assert!(
            answers.understand("").is_err() && answers.understand("x").unwrap_err().contains("there is no class \"x\"")
        );
    }

    #[test]
    fn classes_that_are_numbers_have_no_other_numbers() {
        let classes = names(&["3", "6", "9"]);
        let answers = Answers::new(&classes, &[Some(0), Some(1), Some(2)]);
        assert_eq!(answers.offer(), "3, 6, 9; s skip an example, u undo");
        assert_eq!(answers.understand("6"), Ok(Answer::Class(1)));
        assert!(answers.understand("1").is_err());
    }
}
