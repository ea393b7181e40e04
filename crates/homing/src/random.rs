//! Random streams that depend on the seed and on what they are for, never on threads.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What random numbers are drawn for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stream {
    /// The race for pick number i.
    Pick(u64),
    /// The targets of round i.
    Targets(u64),
    /// The parts of the pool.
    Parts,
    /// Samples that bound or estimate a number.
    Estimate,
}

/// The generator of a stream.
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
