//! Turns texts and images into embeddings.
//!
//! A [`Session`] opens a pool, then its targets. A file that holds embeddings is opened as it is. Texts and images are encoded by a
//! built-in encoder, which needs no weights and learns from the pool, or by a model on disk. The result is a
//! [`Pool`](homing_pool::Pool) that still has its ids, labels and columns, together with the texts or images themselves.
//!
//! ```
//! use homing_encode::{EncoderChoice, Session};
//! use homing_pool::ReadOptions;
//!
//! let folder = tempfile::tempdir()?;
//! let (pool, targets) = (folder.path().join("tickets.csv"), folder.path().join("wanted.txt"));
//! std::fs::write(&pool, "id,text\na,my parcel is lost\nb,reset my password\nc,where is the parcel\n")?;
//! std::fs::write(&targets, "the parcel did not arrive\n")?;
//!
//! let mut session = Session::new(EncoderChoice::Automatic)?;
//! let pool = session.open(&pool, &ReadOptions::default(), &mut |_| ())?;
//! let targets = session.open(&targets, &ReadOptions::default(), &mut |_| ())?;
//! assert_eq!(pool.pool.dim(), targets.pool.dim());
//! assert_eq!(pool.pool.ids().unwrap(), ["a", "b", "c"]);
//! assert_eq!(session.encoder().unwrap().name(), "the built-in encoder of texts");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builtin_images;
mod builtin_texts;
mod cache;
mod dense;
mod encoder;
mod error;
mod items;
mod kind;
#[cfg(feature = "models")]
mod model;
mod ngrams;
mod session;
mod svd;

pub use cache::{Cache, CacheSize};
pub use encoder::Encoder;
pub use error::{Error, Remedy, Result};
pub use items::{Items, are_facts, holds_items};
pub use kind::ItemKind;
pub use session::{EncoderChoice, Opened, Progress, Session};
