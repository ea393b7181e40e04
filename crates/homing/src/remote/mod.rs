//! Pools whose rows lie in other processes, on this machine or on others: the same exact picks, by messages.
//!
//! Each process holds a [`PoolPart`] and answers messages by [`serve`]. The coordinator makes a [`RemotePool`] of them,
//! whose [`embeddings`](RemotePool::embeddings) every selection takes like those of a file. A message is bytes: its format is
//! versioned, and a shard refuses what it cannot read. How bytes travel is up to a [`Transport`].
//!
//! What a shard knows is a function of its rows and the steps so far, and the coordinator keeps these steps. A process that
//! was lost is therefore replaced by starting another one with the same rows: it says that it is behind, and does all steps
//! again. The transport only has to deliver the message to whatever process now holds the rows.
//!
//! ```
//! use homing::remote::{PoolPart, RemotePool, Transport, serve};
//! use homing::{Embeddings, Plan, Task, select};
//! use std::sync::Mutex;
//! use std::sync::mpsc::{Receiver, Sender, channel};
//!
//! /// Threads that take messages from channels.
//! struct Threads(Mutex<Vec<(Sender<Vec<u8>>, Receiver<Vec<u8>>)>>);
//!
//! impl Transport for Threads {
//!     fn ask(&self, shards: &[usize], message: &[u8]) -> Result<Vec<Vec<u8>>, String> {
//!         let lines = self.0.lock().unwrap();
//!         let lost = |_| "a thread has ended".to_owned();
//!         shards.iter().try_for_each(|&shard| lines[shard].0.send(message.to_vec()).map_err(|_| "a thread has ended".to_owned()))?;
//!         shards.iter().map(|&shard| lines[shard].1.recv().map_err(lost)).collect()
//!     }
//! }
//!
//! let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
//! let targets = [0.8f32, 0.3];
//! let rows = std::thread::scope(|scope| {
//!     let mut lines = Vec::new();
//!     for (first, values) in [(0, &pool[..6]), (3, &pool[6..])] {
//!         let (to, messages) = channel::<Vec<u8>>();
//!         let (answers, from) = channel();
//!         lines.push((to, from));
//!         scope.spawn(move || {
//!             let rows = Embeddings::new(values, 2).unwrap();
//!             let part = PoolPart { rows, probabilities: None, first };
//!             serve(part, || messages.recv().ok(), |answer| answers.send(answer).unwrap_or(()));
//!         });
//!     }
//!     let pool = RemotePool::new(Threads(Mutex::new(lines)), &[3, 1], 2, true)?;
//!     let task = Task::new(pool.embeddings(), Embeddings::new(&targets, 2)?);
//!     Ok::<_, homing::Error>(select(&task, &Plan::default().count(2))?.rows())
//! })?;
//! assert_eq!(rows, [1, 2]);
//! # Ok::<(), homing::Error>(())
//! ```

mod bytes;
mod connection;
mod drafting;
mod line;
mod part;
mod part_scoring;
mod pool;
mod rows;
mod server;
mod shards;
mod wire;

pub use connection::Transport;
pub use part::PoolPart;
pub use pool::RemotePool;
pub use server::serve;
