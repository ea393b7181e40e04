//! Random streams that depend only on the seed and their purpose, never on threads.

use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;

/// Purpose of a stream of random numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stream {
    /// Pick number i, in rules that choose at random.
    Pick(u64),
    /// The targets of round i.
    Targets(u64),
    /// The division of the pool into parts.
    Parts,
    /// Samples that bound or estimate a quantity.
    Estimate,
}

/// Returns the generator of a stream.
pub(crate) fn generator(seed: u64, stream: Stream) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(match stream {
        Stream::Pick(i) => i << 1,
        Stream::Targets(i) => i << 1 | 1,
        Stream::Parts => u64::MAX,
        Stream::Estimate => u64::MAX - 1,
    });
    rng
}

/// Returns all rows, or a random sample of `most` of them if there are more.
pub(crate) fn sample_rows(rows: usize, most: usize, seed: u64) -> Vec<usize> {
    if rows <= most {
        return (0..rows).collect();
    }
    index::sample(&mut generator(seed, Stream::Estimate), rows, most).into_vec()
}
