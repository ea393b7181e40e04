//! What the network of a finished run says about new examples.

use std::io::Write;
use std::path::Path;

use homing_pool::write_beside;

use crate::learner::Examples;
use crate::weights::read_weights;
use crate::{Error, Result};

use super::{RunData, RunSpec};

/// Number of examples that are predicted at once.
const BLOCK: usize = 256;

impl RunData {
    /// Writes the most probable class of each target and its probability to a CSV file, with the network of the run in `folder`.
    /// Returns the number of targets.
    pub fn write_predictions(&self, spec: &RunSpec, folder: &Path, out: &Path) -> Result<usize> {
        let (Some(targets), Some(inputs)) = (&self.targets, &self.inputs.targets) else {
            return Err(Error::NoExamples { of: "examples" });
        };
        let mut learner = self.learner(spec)?;
        learner.load(read_weights(&super::network_path(folder, spec.rule.name(), spec.seed))?)?;
        let named = self.data.train.classes.iter().zip(&self.classes);
        let classes: Vec<&str> = named.filter(|(_, class)| class.is_some()).map(|(name, _)| &**name).collect();
        let mut table = csv::Writer::from_writer(Vec::new());
        let failed = |error: csv::Error| Error::io(out)(error.into());
        let text = (!targets.texts.is_empty()).then_some("text");
        let header = [Some("id"), text, Some("label"), Some("probability")];
        table.write_record(header.into_iter().flatten()).map_err(failed)?;
        let rows: Vec<usize> = (0..targets.len()).collect();
        for rows in rows.chunks(BLOCK) {
            let prediction = learner.predict(Examples { inputs, rows })?;
            let probabilities = prediction.probabilities();
            for ((&row, guess), chances) in
                rows.iter().zip(prediction.guesses()).zip(probabilities.chunks_exact(classes.len()))
            {
                let guess = guess as usize;
                let probability = format!("{:.4}", chances[guess]);
                let text = targets.texts.get(row).map(String::as_str);
                let record = [Some(&*targets.ids[row]), text, Some(classes[guess]), Some(&probability)];
                table.write_record(record.into_iter().flatten()).map_err(failed)?;
            }
        }
        let bytes = table.into_inner().expect("writing to memory does not fail");
        write_beside(out, |file| file.write_all(&bytes))?;
        Ok(targets.len())
    }
}
