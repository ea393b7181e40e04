//! `homing embed`: computes embeddings of a data set with an encoder or a network.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bytemuck::cast_slice;
use clap::{Args, ValueEnum};
use homing_data::{Inputs, fits_memory};
use homing_encode::EncoderChoice;
use homing_pool::{Paths, ReadOptions, check_writable, is_pattern, write_beside};
use homing_train::models::efficientnet::EfficientNet;
use homing_train::models::{self, NetworkName};
use homing_train::{Embedder, EmbeddingKind, ExampleEmbeddings, Examples, Learner, device, read_weights};
use npyz::WriterBuilder;
use safetensors::tensor::{Dtype, TensorView, serialize};

use crate::encode::Encoding;
use crate::finetune::{DataOptions, map_progress, open_data};
use crate::terminal::{self, Bar, grouped};

const EXAMPLES: &str = "\
Examples:
  homing embed reviews.csv --model all-MiniLM-L6-v2 --out pool.parquet
  homing embed photos --model built-in --out photos.parquet
  homing embed mnist --weights run/itl-0/model.safetensors --out pool.npy";

#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Arguments {
    /// Data: a table with texts or paths of images, lines of text, an image folder, MNIST or CIFAR files, or the built-in `digits`.
    #[arg(value_name = "DATA")]
    data: PathBuf,
    #[command(flatten)]
    open: DataOptions,
    /// File with one label per row of the data, for the tensor `labels`.
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    labels: Option<PathBuf>,
    /// Part of the data to embed.
    #[arg(long, value_enum, default_value_t = DataPart::Train, help_heading = "Data")]
    part: DataPart,
    #[arg(long, visible_alias = "encoder", help = model_help(), help_heading = "Model")]
    model: Option<String>,
    /// Pool from which the built-in encoder learns; by default, the data.
    #[arg(long, value_name = "FILE", conflicts_with = "weights", help_heading = "Model")]
    learn_from: Option<PathBuf>,
    /// Column of the texts or of the paths of images; found automatically if it has a usual name, such as text or path.
    #[arg(long, value_name = "NAME", conflicts_with = "weights", help_heading = "Data")]
    text_column: Option<String>,
    /// Column of the ids; found automatically if it is called id, ids, _id or uid.
    #[arg(long, value_name = "NAME", conflicts_with = "weights", help_heading = "Data")]
    id_column: Option<String>,
    /// Weights of a network: a safetensors file from a run, or your own file with the same tensor names.
    #[arg(long, value_name = "FILE", help_heading = "Network")]
    weights: Option<PathBuf>,
    /// The model.safetensors of a run with an EfficientNet; --weights must then be the weights that the run started from.
    #[arg(long, value_name = "FILE", help_heading = "Network")]
    learned: Option<PathBuf>,
    /// Kind of embedding: last-layer, loss-gradient, output-gradient, network-gradient[:WIDTH] or outputs.
    #[arg(long, value_name = "KIND", default_value = "last-layer", help_heading = "Network")]
    embedding: String,
    /// Device: cpu, or in builds with libtorch also torch and cuda:0.
    #[arg(long, default_value = "cpu", help_heading = "Network")]
    device: String,
    /// File for the embeddings; an encoder writes .parquet with all columns of the data, or .npy with the embeddings only; a
    /// network writes .npy, or .safetensors with the tensors `embeddings`, `probabilities` and `labels`.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    out: PathBuf,
    /// Print only errors and the result.
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DataPart {
    Train,
    Test,
}

/// Number of examples that are embedded at once.
const BLOCK: usize = 256;

fn model_help() -> String {
    format!(
        "Encoder or network: a folder with a model in the layout of Hugging Face, an .onnx file, {} (the default without --weights), or with \
         --weights a network, {}",
        EncoderChoice::BUILT_IN,
        models::network_help()
    )
}

/// Network that is meant if weights are given without a name.
const NETWORK: &str = "cnn";

/// Returns what to embed with an encoder, or `None` if a network is meant.
fn encoding(arguments: &Arguments) -> Result<Option<Encoding<'_>>> {
    let network =
        arguments.model.as_deref().filter(|name| name.parse::<NetworkName>().is_ok() && !Path::new(name).is_dir());
    match (network, &arguments.weights) {
        (Some(_), Some(_)) => return Ok(None),
        (Some(name), None) => bail!("the network {name} has no weights of its own; give them with --weights FILE"),
        (None, Some(_)) if arguments.model.is_none() => return Ok(None),
        (None, Some(_)) => {
            let name = arguments.model.as_deref().unwrap_or_default();
            bail!("--weights belongs to a network, and --model {name} is none; leave one of them out")
        }
        (None, None) => {}
    }
    if arguments.part == DataPart::Test || arguments.labels.is_some() || arguments.learned.is_some() {
        bail!("--part, --labels and --learned are for a network; give its weights with --weights FILE");
    }
    if arguments.open.any() {
        bail!("--size, --label-column and --embedding-column are for a network; give its weights with --weights FILE");
    }
    let name = arguments.model.as_deref().unwrap_or(EncoderChoice::BUILT_IN);
    let columns = ReadOptions::default().text(arguments.text_column.clone()).id(arguments.id_column.clone());
    Ok(Some(Encoding {
        data: &arguments.data,
        encoder: EncoderChoice::named(Some(Path::new(name))),
        learn_from: arguments.learn_from.as_deref(),
        columns,
        out: &arguments.out,
        quiet: arguments.quiet,
    }))
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(encoding) = encoding(arguments)? {
        let model = if let EncoderChoice::Model(path) = &encoding.encoder { Some(&**path) } else { None };
        let read = [Some(encoding.data), encoding.learn_from, model]
            .into_iter()
            .flatten()
            .filter(|path| path.exists() || is_pattern(path));
        read.fold(Paths::new(), Paths::reads).writes("--out", &*arguments.out).check()?;
        return encoding.run();
    }
    let weights = arguments.weights.as_deref().expect("a network without weights was refused");
    let out = &arguments.out;
    let write: fn(&Blocks<'_>, &Path) -> Result<usize> = match out.extension().and_then(|extension| extension.to_str())
    {
        Some("safetensors") => |blocks, out| blocks.safetensors(out),
        Some("npy") => |blocks, out| blocks.npy(out),
        _ => bail!("--out {} must end in .safetensors or .npy", out.display()),
    };
    let read = [Some(&*arguments.data), Some(weights), arguments.learned.as_deref()];
    let source = arguments.open.spec(arguments.data.clone());
    let read = read
        .into_iter()
        .chain([arguments.labels.as_deref()])
        .flatten()
        .filter(|path| path.exists() || is_pattern(path));
    read.fold(Paths::new(), Paths::reads).writes("--out", &**out).check()?;
    check_writable(out)?;
    let kind: EmbeddingKind = arguments.embedding.parse()?;
    if kind == EmbeddingKind::LossGradient && out.extension().is_some_and(|extension| extension == "npy") {
        bail!(
            "loss gradients consist of embeddings and probabilities, which .npy cannot hold; give --out a .safetensors file"
        );
    }
    if kind == EmbeddingKind::LogitGradient {
        bail!(
            "gradients of logits are only for `homing finetune`, because no other command has their kernel; use loss-gradient"
        );
    }
    let options = source.options(arguments.labels.as_deref())?;
    if let (Some(path), None) = (&arguments.labels, &options.labels) {
        bail!("{} names rows by id or index; give --labels a file with one label per row of the data", path.display());
    }
    let data = open_data(&source.path, &options)?;
    let data = match (arguments.part, data.test) {
        (DataPart::Train, _) => data.train,
        (DataPart::Test, Some(test)) => test,
        (DataPart::Test, None) => bail!("{} has no test part; leave --part out", arguments.data.display()),
    };
    let name = arguments.model.as_deref().unwrap_or(NETWORK);
    let model: NetworkName = name.parse()?;
    if arguments.learned.is_some() && model.design().is_none() {
        bail!("--learned is for an EfficientNet; give the model.safetensors of a run with {name} as --weights");
    }
    let path = weights;
    let device = device(&arguments.device)?;
    let (learner, inputs) = if let Some(design) = model.design() {
        let net = EfficientNet::open(path, design.clone())?;
        let learner = match &arguments.learned {
            Some(path) => {
                let weights = read_weights(path)?;
                let mut learner = models::last_block(&net, models::outputs(&weights)?, &device);
                learner.load(weights)?;
                learner
            }
            None => models::pretrained(&net, &device)?,
        };
        let trunk = net.trunk_on(&arguments.device)?;
        (learner, models::cached_maps(&trunk, &data.inputs, &mut map_progress(arguments.quiet))?)
    } else {
        let weights = read_weights(path)?;
        let classes = models::outputs(&weights)?;
        let mut learner = models::network(&model, data.inputs.shape(), classes, &device)?;
        learner.load(weights)?;
        (learner, data.inputs.clone())
    };
    let blocks = Blocks { learner: &*learner, inputs, labels: &data.labels, kind, quiet: arguments.quiet };
    let width = write(&blocks, out)?;
    let count = grouped(data.inputs.len());
    writeln!(
        terminal::stdout(),
        "Wrote {kind} embeddings of {count} examples, {width} numbers each, to {}.",
        out.display()
    )?;
    Ok(())
}

struct Blocks<'a> {
    learner: &'a dyn Learner,
    inputs: Inputs,
    labels: &'a [Option<u32>],
    kind: EmbeddingKind,
    quiet: bool,
}

impl Blocks<'_> {
    /// Embeds all examples, block by block.
    fn each(&self, mut take: impl FnMut(ExampleEmbeddings) -> Result<()>) -> Result<()> {
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
            // The numbers, and the bytes of the file, which is written as a whole.
            let bytes = wide.checked_add(classes).and_then(|wide| wide.checked_mul(rows)?.checked_mul(8));
            if width == 0 && !fits_memory(bytes.map(|bytes| bytes as u64)) {
                bail!("{rows} rows of {wide} numbers do not fit into memory; give --out a .npy file, which is written block by block");
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
