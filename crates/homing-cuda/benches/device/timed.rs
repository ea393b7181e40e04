//! A carrier that measures how long each kind of question takes.

use std::sync::Mutex;
use std::time::Instant;

use homing::shard::{
    Carrier, Challengers, Pass, Precision, Ranked, Ranking, Rival, Shard, ShardSetup, Start, Survey, Transform, Trial,
};
use homing::{Embeddings, RowSource};
use homing_cuda::DevicePool;

pub const QUESTIONS: [&str; 5] = ["start", "verify", "rank", "try", "rows"];

/// A pool whose questions are timed.
#[derive(Debug)]
pub struct Timed<'p> {
    pool: &'p DevicePool,
    /// Seconds and number of each question, and the number of challengers.
    pub spent: Mutex<([(f64, usize); 5], usize)>,
}

impl<'p> Timed<'p> {
    pub fn new(pool: &'p DevicePool) -> Self {
        Self { pool, spent: Mutex::default() }
    }

    pub fn embeddings(&self, dim: usize) -> Embeddings<'_> {
        Embeddings::new(self as &dyn RowSource, dim).expect("the rows are whole")
    }

    fn time<T>(&self, question: usize, f: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let answer = f();
        let spent = &mut self.spent.lock().expect("no thread panics").0[question];
        *spent = (spent.0 + start.elapsed().as_secs_f64(), spent.1 + 1);
        answer
    }
}

impl RowSource for Timed<'_> {
    fn count(&self) -> usize {
        self.pool.count()
    }

    fn fits_f32(&self) -> bool {
        true
    }

    fn read_f64(&self, start: usize, out: &mut [f64]) {
        self.time(4, || self.pool.read_f64(start, out));
    }

    fn read_f32(&self, start: usize, out: &mut [f32]) {
        self.time(4, || self.pool.read_f32(start, out));
    }

    fn gather_f32(&self, rows: &[usize], dim: usize, out: &mut [f32]) -> bool {
        self.time(4, || self.pool.gather_f32(rows, dim, out))
    }

    fn carrier(&self) -> Option<&dyn Carrier> {
        Some(self)
    }

    fn failure(&self) -> Option<String> {
        self.pool.failure()
    }
}

impl Carrier for Timed<'_> {
    fn survey(&self, transform: Transform<'_>) -> Option<Survey> {
        self.time(0, || self.pool.survey(transform))
    }

    fn mean(&self) -> Option<Vec<f64>> {
        self.pool.mean()
    }

    fn shards<'s>(&'s self, setup: &ShardSetup<'_>) -> Vec<Box<dyn Shard + 's>> {
        let shards = self.time(0, || self.pool.shards(setup)).into_iter();
        shards.map(|shard| Box::new(TimedShard { shard, pool: self }) as Box<dyn Shard + 's>).collect()
    }
}

struct TimedShard<'s> {
    shard: Box<dyn Shard + 's>,
    pool: &'s Timed<'s>,
}

impl Shard for TimedShard<'_> {
    fn rows(&self) -> usize {
        self.shard.rows()
    }

    fn precision(&self) -> Precision {
        self.shard.precision()
    }

    fn start(&mut self, start: &Start<'_>) {
        self.pool.time(0, || self.shard.start(start));
    }

    fn verify(&mut self, pass: &Pass<'_>) -> Challengers {
        let found = self.pool.time(1, || self.shard.verify(pass));
        self.pool.spent.lock().expect("no thread panics").1 += found.rows.len();
        found
    }

    fn keep(&mut self, checkpoint: usize) {
        self.shard.keep(checkpoint);
    }

    fn rank(&mut self, ranking: &Ranking<'_>) -> Vec<Ranked> {
        self.pool.time(2, || self.shard.rank(ranking))
    }

    fn try_steps(&mut self, trial: &Trial<'_>) -> Vec<Rival> {
        self.pool.time(3, || self.shard.try_steps(trial))
    }

    fn rewind(&mut self, at: usize) {
        self.pool.time(3, || self.shard.rewind(at));
    }
}
