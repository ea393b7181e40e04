//! `homing embed`: what a network makes of a data set, as a pool to choose from.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bytemuck::cast_slice;
use clap::{Args, ValueEnum};
use homing_data::{Inputs, fits_memory};
use homing_pool::{Paths, check_writable, write_beside};
use homing_train::models::efficientnet::{Design, EfficientNet};
use homing_train::{Embedded, Embedder, Examples, Kind, Learner, device, models, read_weights};
use npyz::WriterBuilder;
use safetensors::tensor::{Dtype, TensorView, serialize};

use crate::finetune::{Open, maps, open_data, trunk};
use crate::terminal::{self, Bar, grouped};

#[derive(Args)]
pub struct Arguments {
    /// MNIST or CIFAR files, tiles, an image folder, a table, embeddings, or `digits`, which the binary carries.
    #[arg(value_name = "DATA")]
    data: PathBuf,
    #[command(flatten)]
    open: Open,
    /// Which part of the data.
    #[arg(long, value_enum, default_value_t = Part::Train)]
    part: Part,
    /// cnn, linear, mlp:WIDTHS, efficientnet-b0 or efficientnet-lite0.
    #[arg(long, default_value = "cnn")]
    model: String,
    /// The network's weights, as safetensors: those of a run, or your own under the same names.
    #[arg(long, value_name = "FILE")]
    weights: PathBuf,
    /// What a run has learned of an EfficientNet, its model.safetensors; --weights are those that the run began with.
    #[arg(long, value_name = "FILE")]
    learned: Option<PathBuf>,
    /// last-layer, loss-gradient, output-gradient, network-gradient[:WIDTH] or outputs.
    #[arg(long, default_value = "last-layer")]
    kind: String,
    /// Where to write: .safetensors with the tensors `embeddings`, `probabilities` and `labels`, or .npy with the
    /// embeddings alone, block by block.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// cpu; in builds with libtorch also torch and cuda:0.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// No progress.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Train,
    Test,
}

/// Examples embedded at once.
const BLOCK: usize = 256;

pub fn run(arguments: &Arguments) -> Result<()> {
    let out = &arguments.out;
    let write: fn(&Blocks<'_>, &Path) -> Result<usize> = match out.extension().and_then(|extension| extension.to_str())
    {
        Some("safetensors") => |blocks, out| blocks.safetensors(out),
        Some("npy") => |blocks, out| blocks.npy(out),
        _ => bail!("--out {} must end in .safetensors or .npy", out.display()),
    };
    let read = [Some(&*arguments.data), Some(&*arguments.weights), arguments.learned.as_deref()];
    let label_file = arguments.open.label_file.as_deref();
    let read = read.into_iter().chain([label_file]).flatten().filter(|path| path.exists());
    read.fold(Paths::new(), Paths::reads).writes("--out", &**out).check()?;
    check_writable(out)?;
    let kind: Kind = arguments.kind.parse()?;
    if kind == Kind::LossGradient && out.extension().is_some_and(|extension| extension == "npy") {
        bail!("loss gradients are embeddings and probabilities, which .npy cannot hold; let --out end in .safetensors");
    }
    let data = open_data(&arguments.data, &arguments.open.options())?;
    let data = match (arguments.part, data.test) {
        (Part::Train, _) => data.train,
        (Part::Test, Some(test)) => test,
        (Part::Test, None) => bail!("{} has no test part; leave --part out", arguments.data.display()),
    };
    if arguments.learned.is_some() && Design::named(&arguments.model).is_none() {
        bail!("--learned is for an EfficientNet; give what a run of {} has learned as --weights", arguments.model);
    }
    let path = &arguments.weights;
    let device = device(&arguments.device)?;
    let (learner, inputs) = if let Some(design) = Design::named(&arguments.model) {
        let net = EfficientNet::open(path, design)?;
        let learner = match &arguments.learned {
            Some(path) => {
                let weights = read_weights(path)?;
                let mut learner = models::last_block(&net, models::outputs(&weights)?, &device);
                learner.load(weights)?;
                learner
            }
            None => models::pretrained(&net, &device)?,
        };
        (learner, maps(&trunk(&net, &arguments.device)?, &data.inputs, arguments.quiet)?)
    } else {
        let weights = read_weights(path)?;
        let classes = models::outputs(&weights)?;
        let mut learner = models::network(&arguments.model, data.inputs.shape(), classes, &device)?;
        learner.load(weights)?;
        (learner, data.inputs.clone())
    };
    let blocks = Blocks { learner: &*learner, inputs, labels: &data.labels, kind, quiet: arguments.quiet };
    let width = write(&blocks, out)?;
    let count = grouped(data.inputs.len());
    writeln!(terminal::stdout(), "{count} examples, {kind} embeddings of {width} numbers each: {}", out.display())?;
    Ok(())
}

struct Blocks<'a> {
    learner: &'a dyn Learner,
    inputs: Inputs,
    labels: &'a [Option<u32>],
    kind: Kind,
    quiet: bool,
}

impl Blocks<'_> {
    /// Embeds block after block.
    fn each(&self, mut take: impl FnMut(Embedded) -> Result<()>) -> Result<()> {
        let rows: Vec<usize> = (0..self.inputs.len()).collect();
        let embedder = Embedder::new(self.learner, self.kind, None);
        let bar = Bar::counting("embedding", rows.len(), self.quiet);
        for rows in rows.chunks(BLOCK) {
            take(embedder.embed(Examples { inputs: &self.inputs, rows })?)?;
            bar.inc(rows.len());
        }
        bar.finish();
        Ok(())
    }

    fn safetensors(&self, out: &Path) -> Result<usize> {
        let (mut values, mut likely, mut width) = (Vec::new(), Vec::new(), 0);
        let (rows, classes) = (self.inputs.len(), self.learner.classes());
        self.each(|block| {
            let (block, wide, probabilities) = block.into_parts();
            // Numbers, and the file that they are written to as a whole.
            let bytes = wide.checked_add(classes).and_then(|wide| wide.checked_mul(rows)?.checked_mul(8));
            if width == 0 && !fits_memory(bytes.map(|bytes| bytes as u64)) {
                bail!("{rows} rows of {wide} numbers do not fit into memory; let --out end in .npy, which is written block by block");
            }
            values.extend(block);
            likely.extend(probabilities);
            width = wide;
            Ok(())
        })?;
        let labels: Option<Vec<i64>> = self.labels.iter().map(|label| label.map(i64::from)).collect();
        let mut tensors = vec![
            ("embeddings", TensorView::new(Dtype::F32, vec![rows, width], cast_slice(&values))?),
            ("probabilities", TensorView::new(Dtype::F32, vec![rows, classes], cast_slice(&likely))?),
        ];
        if let Some(labels) = &labels {
            tensors.push(("labels", TensorView::new(Dtype::I64, vec![rows], cast_slice(labels))?));
        }
        let bytes = serialize(tensors, None)?;
        write_beside(out, |file| file.write_all(&bytes))?;
        Ok(width)
    }

    fn npy(&self, out: &Path) -> Result<usize> {
        let rows = self.inputs.len();
        let first = Examples { inputs: &self.inputs, rows: &[0] };
        let (_, width, _) = Embedder::new(self.learner, self.kind, None).embed(first)?.into_parts();
        let mut failed = None;
        write_beside(out, |file| {
            let shape = [rows as u64, width as u64];
            let mut writer = npyz::WriteOptions::<f32>::new().default_dtype().shape(&shape).writer(file).begin_nd()?;
            failed = self.each(|block| Ok(writer.extend(block.into_parts().0)?)).err();
            if failed.is_some() { Err(io::Error::other("stopped")) } else { writer.finish() }
        })
        .map_err(|error| failed.take().unwrap_or_else(|| error.into()))?;
        Ok(width)
    }
}
