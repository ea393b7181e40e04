//! A carrier that measures how long each kind of question takes.

use std::sync::Mutex;
use std::time::Instant;

use homing::shard::{
    Carrier, Challengers, Pass, Precision, Ranked, Ranking, Rival, Shard, ShardSetup, Start, Survey, Transform, Trial,
};
use homing::{Embeddings, RowSource};

const QUESTIONS: [&str; 5] = ["start", "verify", "rank", "try", "rows"];

/// Seconds and number of each question, and the numbers of challengers and of rows that were read.
pub type Spent = ([(f64, usize); 5], [usize; 2]);

/// A pool whose questions are timed.
#[derive(Debug)]
pub struct Timed<'p, P> {
    pool: &'p P,
    pub spent: Mutex<Spent>,
}

impl<'p, P: Carrier + RowSource> Timed<'p, P> {
    pub fn new(pool: &'p P) -> Self {
        Self { pool, spent: Mutex::default() }
    }

    pub fn embeddings(&self, dim: usize) -> Embeddings<'_> {
        Embeddings::new(self as &dyn RowSource, dim).expect("the rows are whole")
    }

    fn time<T>(&self, question: usize, f: impl FnOnce() -> T) -> T {
        time(&self.spent, question, f)
    }

    /// Returns the times of all questions in words, and their sum in seconds.
    pub fn report(&self) -> (String, f64) {
        let (spent, [challengers, rows]) = *self.spent.lock().expect("no thread panics");
        let part = |(name, (seconds, count)): (&str, (f64, usize))| format!("{name} {:.1} ms/{count}", 1e3 * seconds);
        let parts: Vec<String> = QUESTIONS.into_iter().zip(spent).map(part).collect();
        let sum = spent.iter().map(|(seconds, _)| seconds).sum();
        (format!("{}, {challengers} challengers, {rows} rows read", parts.join(", ")), sum)
    }
}

fn time<T>(spent: &Mutex<Spent>, question: usize, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let answer = f();
    let spent = &mut spent.lock().expect("no thread panics").0[question];
    *spent = (spent.0 + start.elapsed().as_secs_f64(), spent.1 + 1);
    answer
}

impl<P: Carrier + RowSource> RowSource for Timed<'_, P> {
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
        self.spent.lock().expect("no thread panics").1[1] += rows.len();
        self.time(4, || self.pool.gather_f32(rows, dim, out))
    }

    fn gather_f64(&self, rows: &[usize], dim: usize, out: &mut [f64]) -> bool {
        self.spent.lock().expect("no thread panics").1[1] += rows.len();
        self.time(4, || self.pool.gather_f64(rows, dim, out))
    }

    fn carrier(&self) -> Option<&dyn Carrier> {
        Some(self)
    }

    fn failure(&self) -> Option<String> {
        self.pool.failure()
    }
}

impl<P: Carrier + RowSource> Carrier for Timed<'_, P> {
    fn survey(&self, transform: Transform<'_>) -> Option<Survey> {
        self.time(0, || self.pool.survey(transform))
    }

    fn mean(&self) -> Option<Vec<f64>> {
        self.pool.mean()
    }

    fn shards<'s>(&'s self, setup: &ShardSetup<'_>) -> Vec<Box<dyn Shard + 's>> {
        let shards = self.time(0, || self.pool.shards(setup)).into_iter();
        shards
            .map(|shard| Box::new(TimedShard { shard: Some(shard), spent: &self.spent }) as Box<dyn Shard + 's>)
            .collect()
    }
}

struct TimedShard<'s> {
    /// Always there until it is dropped, which takes time as well.
    shard: Option<Box<dyn Shard + 's>>,
    spent: &'s Mutex<Spent>,
}

impl<'s> TimedShard<'s> {
    fn ask<T>(&mut self, question: usize, f: impl FnOnce(&mut (dyn Shard + 's)) -> T) -> T {
        let shard = self.shard.as_mut().expect("it is there until it is dropped");
        time(self.spent, question, || f(&mut **shard))
    }

    fn shard(&self) -> &(dyn Shard + 's) {
        &**self.shard.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for TimedShard<'_> {
    fn drop(&mut self) {
        time(self.spent, 0, || self.shard = None);
    }
}

impl Shard for TimedShard<'_> {
    fn rows(&self) -> usize {
        self.shard().rows()
    }

    fn precision(&self) -> Precision {
        self.shard().precision()
    }

    fn start(&mut self, start: &Start<'_>) {
        self.ask(0, |shard| shard.start(start));
    }

    fn verify(&mut self, pass: &Pass<'_>) -> Challengers {
        let found = self.ask(1, |shard| shard.verify(pass));
        self.spent.lock().expect("no thread panics").1[0] += found.rows.len();
        found
    }

    fn keep(&mut self, checkpoint: usize) {
        self.ask(1, |shard| shard.keep(checkpoint));
    }

    fn rank(&mut self, ranking: &Ranking<'_>) -> Vec<Ranked> {
        self.ask(2, |shard| shard.rank(ranking))
    }

    fn try_steps(&mut self, trial: &Trial<'_>) -> Vec<Rival> {
        self.ask(3, |shard| shard.try_steps(trial))
    }

    fn rewind(&mut self, at: usize) {
        self.ask(3, |shard| shard.rewind(at));
    }
}
