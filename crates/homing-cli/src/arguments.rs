//! Arguments that several commands share: the model, the columns, the access to the pool.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use homing::{Noise, Preparation, thread_pool};
use homing_encode::EncoderChoice;
use homing_pool::{Access, Format};

/// The kernel, the noise and the preparation of rows.
#[derive(Args)]
#[command(next_help_heading = "Kernel and noise")]
pub struct ModelArguments {
    /// Standard deviation ρ of the observation noise, in the units of the rows, which then stay as they are unless --center or
    /// --normalize is given; by default, ρ² is a share of the mean prior variance: for rows of unit length 1 with the linear kernel
    /// and 0.3 with others, and 0.01 for all other rows.
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub noise_std: Option<f64>,
    /// Whether to subtract the mean embedding of the pool from all embeddings; the default is true if there are targets, the
    /// kernel is linear, --noise-std is not given and the pool has at least 100 rows.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    center: Option<bool>,
    /// Whether to scale all embeddings to unit length, after the mean is subtracted; the default is true under the same
    /// conditions.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    normalize: Option<bool>,
    /// Whether to divide each column of numbers by its standard deviation in the pool; by default, under the same conditions, if the
    /// embedding consists of columns whose standard deviations differ more than tenfold.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub scale_columns: Option<bool>,
    /// Kernel: linear, gaussian:LENGTH, laplace:LENGTH, matern:SMOOTHNESS:LENGTH or loss-gradient; by default linear, or
    /// gaussian:1 for 100 to 200,000 rows of fewer than 100 numbers that are prepared by default, if rows times targets and picks are
    /// at most 20,000,000.
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Number of threads, 1 to 1,024, of which at most four per core are started; by default, one per core.
    #[arg(long, value_name = "N", help_heading = "Performance")]
    threads: Option<usize>,
}

impl ModelArguments {
    pub fn noise(&self) -> Noise {
        self.noise_std.map_or_else(Noise::default, Noise::Std)
    }

    /// How to prepare the rows of a pool of this many rows.
    pub fn preparation(&self, rows: usize, has_targets: bool) -> Preparation {
        // A given noise is in the units of the rows as they are.
        let usual = if self.noise_std.is_some() {
            Preparation::default()
        } else {
            Preparation::usual(self.kernel.as_deref().unwrap_or("linear"), rows, has_targets)
        };
        Preparation {
            center: self.center.unwrap_or(usual.center),
            normalize: self.normalize.unwrap_or(usual.normalize),
        }
    }

    /// The name of the kernel for a pool of this size, targets, and rows that will be picked or have been observed.
    pub fn kernel(&self, rows: usize, dim: usize, targets: usize, observations: usize) -> &str {
        let usual = || self.preparation(rows, targets > 0).kernel(rows, dim, targets, observations);
        self.kernel.as_deref().unwrap_or_else(usual)
    }

    /// Whether the kernel needs loss gradients, which are made from embeddings and class probabilities.
    pub fn has_loss_gradients(&self) -> bool {
        self.kernel.as_deref() == Some("loss-gradient")
    }

    /// Runs `work` on the requested number of threads; by default, one per core.
    pub fn on_threads<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        thread_pool(self.threads).context("--threads")?.install(work)
    }
}

/// How texts and images are turned into embeddings.
#[derive(Args)]
#[command(next_help_heading = "Encoder")]
pub struct EncoderArguments {
    /// Encoder that embeds the texts or images of pool and targets: a folder with a model in the layout of Hugging Face, built-in,
    /// or none to use the columns of numbers; by default, built-in if the pool has no embeddings.
    #[arg(long, value_name = "FOLDER")]
    pub encoder: Option<PathBuf>,
}

impl EncoderArguments {
    /// Returns the model on disk, if one was named.
    pub fn path(&self) -> Option<&Path> {
        if let EncoderChoice::Model(_) = self.choice() { self.encoder.as_deref() } else { None }
    }

    pub fn choice(&self) -> EncoderChoice {
        EncoderChoice::named(self.encoder.as_deref())
    }
}

/// Columns of a table, or tensors or arrays of a file that holds several.
#[derive(Args)]
#[command(next_help_heading = "Columns")]
pub struct ColumnArguments {
    /// Column of the embeddings; found automatically if there is only one candidate or one with a usual name.
    #[arg(long, value_name = "NAME")]
    pub embedding_column: Option<String>,
    /// Column of the ids; found automatically if it is called id, ids, _id or uid.
    #[arg(long, value_name = "NAME")]
    pub id_column: Option<String>,
    /// Column of the labels: shown in reports; `diagnose` uses it to estimate the noise.
    #[arg(long, value_name = "NAME")]
    pub label_column: Option<String>,
    /// Column of the texts that show what a row is; found automatically if it has a usual name, such as text or question.
    #[arg(long, value_name = "NAME")]
    pub text_column: Option<String>,
    /// Class probabilities of the pool: one of its columns, or a file with one row per row of the pool.
    #[arg(long, value_name = "NAME|FILE")]
    pub probabilities: Option<String>,
    /// Class probabilities of the targets, for --kernel loss-gradient: one of their columns, or a file.
    #[arg(long, value_name = "NAME|FILE")]
    pub target_probabilities: Option<String>,
}

impl ColumnArguments {
    /// Returns those probabilities that are files of their own.
    pub fn files(&self) -> [Option<&Path>; 2] {
        [&self.probabilities, &self.target_probabilities].map(|named| file_of(named.as_deref()?))
    }
}

/// Returns the file that the value of an option names, or `None` if it names a column, which may have a dot in its name.
pub fn file_of(named: &str) -> Option<&Path> {
    Some(Path::new(named)).filter(|file| file.exists() || Format::of(file).is_ok())
}

/// Columns for limits and for the sampling of targets.
#[derive(Args)]
#[command(next_help_heading = "Columns")]
#[allow(clippy::struct_field_names, reason = "the fields are named like the options")]
pub struct LimitColumnArguments {
    /// Column of the groups (such as a source or a class), for --quota.
    #[arg(long, value_name = "NAME")]
    pub group_column: Option<String>,
    /// Column of the costs; the score of a row is then divided by its cost.
    #[arg(long, value_name = "NAME")]
    pub cost_column: Option<String>,
    /// Column of the targets' weights P_A; --target-sample then draws targets in proportion to them.
    #[arg(long, value_name = "NAME")]
    pub target_weight_column: Option<String>,
}

/// The values of `--pool-access`, one per [`Access`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum PoolAccess {
    Auto,
    Map,
    Read,
}

impl From<PoolAccess> for Access {
    fn from(access: PoolAccess) -> Self {
        match access {
            PoolAccess::Auto => Access::Auto,
            PoolAccess::Map => Access::Map,
            PoolAccess::Read => Access::Read,
        }
    }
}
