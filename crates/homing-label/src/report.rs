//! The report of a run: one self-contained HTML file without scripts.

use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use homing_report::Figure;
use homing_report::plots::{Plot, Size};

use crate::board::{Answer, Decision};
use crate::session::Shared;
use crate::trainer::CurvePoint;
use crate::view::{answer_name, percent};

/// Number of answers in the table.
const LISTED: usize = 500;

/// Number of answers that are shown as pictures.
const PICTURES: usize = 60;

/// Longest text in the table, in characters.
const SHORT: usize = 160;

const STYLE: &str = include_str!("../page/report.css");

/// Returns a text in which all characters with a meaning in HTML are escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn row(cells: &[String], tag: &str) -> String {
    let cells: String = cells.iter().fold(String::new(), |mut all, cell| {
        let _ = write!(all, "<{tag}>{}</{tag}>", escaped(cell));
        all
    });
    format!("<tr>{cells}</tr>\n")
}

fn table(caption: &str, header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(|&name| name.to_owned()).collect();
    let rows: String = rows.iter().map(|cells| row(cells, "td")).collect();
    format!("<h2>{}</h2>\n<table>\n{}{rows}</table>\n", escaped(caption), row(&header, "th"))
}

/// Returns a drawing of the accuracy over the labels.
fn accuracy(points: &[CurvePoint]) -> String {
    let Some(last) = points.last() else { return String::new() };
    let size = Size { width: 820.0, height: 240.0, names: 0.0 };
    let mut plot = Plot::new("", "", size, [0.0, last.labels as f64], [0.0, 100.0], "labels");
    let line: Vec<(f64, f64)> = points.iter().map(|point| (point.labels as f64, 100.0 * point.accuracy)).collect();
    plot.line("l ctl", &line);
    let title = "Accuracy, %".to_owned();
    let note = "Each label is predicted by a classifier that never saw it. The examples were chosen to be informative, so they may be \
                harder than usual ones.";
    Figure { title, keys: Vec::new(), plots: vec![plot], notes: vec![note.to_owned()] }
        .render()
        .expect("the template is part of the program")
}

impl Shared {
    /// Returns the pictures of rows with their answers, as many as a page should hold.
    fn pictures(&self, answers: &[(usize, String)]) -> String {
        let contents = &self.data.pool.contents;
        let mut out = String::new();
        for (row, answer) in answers.iter().filter(|_| contents.kind() == "image").take(PICTURES) {
            if let Some(png) = contents.thumbnail(*row) {
                let (data, id) = (BASE64_STANDARD.encode(png), escaped(&self.data.pool.ids[*row]));
                let answer = escaped(answer);
                let _ = write!(
                    out,
                    "<figure><img src=\"data:image/png;base64,{data}\" alt=\"{id}\"><figcaption>{answer}</figcaption></figure>"
                );
            }
        }
        if out.is_empty() { out } else { format!("<h2>Pictures</h2>\n<div class=\"pictures\">{out}</div>\n") }
    }

    /// Returns the page.
    pub(crate) fn report(&self) -> String {
        let view = self.view("");
        let state = self.lock();
        let (board, data) = (&state.board, &self.data);
        let stop = &view.progress.stop;
        let mut body = format!(
            "<h1>Labels of {}</h1>\n<p class=\"lead\">{} of {} examples are labelled by {}.</p>\n<p>{}</p>\n",
            escaped(&view.pool),
            view.counts.labelled,
            view.rows,
            escaped(&if view.annotators.is_empty() { "nobody".into() } else { view.annotators.join(", ") }),
            escaped(&stop.sentence),
        );
        let mut facts = vec![
            vec!["labels".to_owned(), view.counts.labelled.to_string()],
            vec!["not my task".to_owned(), view.counts.excluded.to_string()],
            vec!["unsure".to_owned(), view.counts.unsure.to_string()],
            vec!["skipped".to_owned(), view.counts.skipped.to_string()],
            vec!["disagreements".to_owned(), view.counts.disputed.to_string()],
            vec!["information about the targets".to_owned(), format!("{:.2} nats", view.information)],
        ];
        let shares = [
            ("variance left at the targets", view.progress.variance_left),
            ("variance that this pool cannot remove", view.progress.irreducible),
            ("accuracy, each label predicted without it", view.accuracy.last().map(|point| point.accuracy)),
        ];
        facts.extend(shares.iter().filter_map(|(name, share)| Some(vec![(*name).to_owned(), percent((*share)?)])));
        body.push_str(&table("Result", &["what", "value"], &facts));
        let classes: Vec<Vec<String>> =
            view.classes.iter().map(|class| vec![class.name.clone(), class.count.to_string()]).collect();
        body.push_str(&table("Classes", &["class", "labels"], &classes));
        body.push_str(&accuracy(&view.accuracy));
        let targets: Vec<Vec<String>> = view
            .targets
            .iter()
            .zip(&view.progress.targets)
            .map(|(target, vars)| {
                let share = |var: f64| percent(var / vars.start.max(f64::MIN_POSITIVE));
                let name = target.text.clone().unwrap_or_else(|| target.id.clone());
                vec![name, share(vars.now), vars.irreducible.map_or_else(|| "not computed".into(), share)]
            })
            .collect();
        if !targets.is_empty() {
            body.push_str(&table("Targets", &["target", "variance left", "cannot be removed"], &targets));
        }
        let mut decided: Vec<_> = board.decisions().iter().collect();
        decided.sort_by_key(|(row, decision)| (decision.seq, **row));
        let named = |(row, decision): &(&usize, &Decision)| (**row, answer_name(board.classes(), decision.answer));
        let pictured: Vec<(usize, String)> = decided.iter().map(named).collect();
        let answers: Vec<Vec<String>> = decided
            .iter()
            .take(LISTED)
            .map(|(row, decision)| {
                let others =
                    |(by, answer): &(String, Answer)| format!("{by}: {}", answer_name(board.classes(), *answer));
                let given: Vec<String> = decision.answers.iter().map(others).collect();
                let shown: String = data.pool.contents.text(**row).unwrap_or_default().chars().take(SHORT).collect();
                let answer = answer_name(board.classes(), decision.answer);
                vec![data.pool.ids[**row].clone(), answer, given.join(", "), shown]
            })
            .collect();
        let more = decided.len().saturating_sub(LISTED);
        // Reading images takes a while, and nobody should wait for it.
        drop(state);
        body.push_str(&self.pictures(&pictured));
        body.push_str(&table("Answers", &["id", "answer", "by", "text"], &answers));
        if more > 0 {
            let _ = writeln!(body, "<p>{more} more answers are in the export.</p>");
        }
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, \
             initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
             'unsafe-inline'; img-src data:\">\n<title>Labels of {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
            escaped(&view.pool)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(escaped("<b> & \"c\" 'd'"), "&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
        assert_eq!(row(&["<i>".into()], "td"), "<tr><td>&lt;i&gt;</td></tr>\n");
    }
}
