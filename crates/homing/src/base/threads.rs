//! The number of threads.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Error, Result};

/// Largest number of threads that may be requested.
const MOST: usize = 1024;

/// Threads per core beyond which additional threads would only wait.
const PER_CORE: usize = 4;

/// Starts a pool of `threads` threads. The default is one per core, or the value of `RAYON_NUM_THREADS`.
///
/// Results do not depend on the number of threads. At most four per core are started, and more than 1,024 are refused.
///
/// ```
/// use homing::{Embeddings, Plan, Task, select, thread_pool};
///
/// # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
/// # let targets = [0.8f32, 0.3];
/// # let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
/// let selection = thread_pool(Some(2))?.install(|| select(&task, &Plan::default()))?;
/// assert_eq!(selection.rows(), select(&task, &Plan::default())?.rows());
/// # Ok::<(), homing::Error>(())
/// ```
pub fn thread_pool(threads: Option<usize>) -> Result<ThreadPool> {
    if let Some(threads) = threads.filter(|threads| !(1..=MOST).contains(threads)) {
        let expected = "it must be at least 1 and at most 1,024; leave it out for one per core";
        return Err(Error::Setting { name: "the number of threads", value: threads as f64, expected });
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let environment = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok().filter(|&threads| threads > 0);
    let threads = threads.or_else(environment).unwrap_or(cores).min(PER_CORE * cores);
    let failed = |error: rayon::ThreadPoolBuildError| Error::Threads { reason: error.to_string() };
    ThreadPoolBuilder::new().num_threads(threads).build().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_threads_are_started_than_can_work() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(thread_pool(Some(1)).unwrap().current_num_threads(), 1);
        assert!(thread_pool(Some(MOST)).unwrap().current_num_threads() <= PER_CORE * cores);
        for absurd in [0, MOST + 1, 5000, usize::MAX] {
            let Err(error) = thread_pool(Some(absurd)) else { panic!("{absurd} threads") };
            assert!(error.to_string().contains("at least 1 and at most 1,024"), "{error}");
        }
    }
}
