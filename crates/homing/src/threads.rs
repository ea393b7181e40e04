//! How many threads work is done on.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Error, Result};

/// Threads that may be asked for.
const MOST: usize = 1024;

/// Threads for each core beyond which more only wait.
const FOR_EACH_CORE: usize = 4;

/// A pool of so many threads; by default one for each core, or as many as `RAYON_NUM_THREADS` says.
///
/// The answers do not depend on it, so that no more than four for each core are started. More than 1,024 are refused.
pub fn thread_pool(threads: Option<usize>) -> Result<ThreadPool> {
    if let Some(asked) = threads.filter(|asked| !(1..=MOST).contains(asked)) {
        let expected = "it must be at least 1 and at most 1,024; leave it out for one for each core";
        return Err(Error::Setting { name: "the number of threads", value: asked as f64, expected });
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let named = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok().filter(|&threads| threads > 0);
    let wanted = threads.or_else(named).unwrap_or(cores).min(FOR_EACH_CORE * cores);
    let failed = |error: rayon::ThreadPoolBuildError| Error::Unreadable(format!("cannot start threads: {error}"));
    ThreadPoolBuilder::new().num_threads(wanted).build().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_threads_are_started_than_can_work() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(thread_pool(Some(1)).unwrap().current_num_threads(), 1);
        assert!(thread_pool(Some(MOST)).unwrap().current_num_threads() <= FOR_EACH_CORE * cores);
        for absurd in [0, MOST + 1, 5000, usize::MAX] {
            let Err(error) = thread_pool(Some(absurd)) else { panic!("{absurd} threads") };
            assert!(error.to_string().contains("at least 1 and at most 1,024"), "{error}");
        }
    }
}
