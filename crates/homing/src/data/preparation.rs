//! How rows are prepared before a selection.

/// Number of rows that a pool must have to be prepared: the mean of fewer rows says too little about the pool, and the study of
/// the defaults had no such pools.
const ENOUGH_ROWS: usize = 100;

/// Number of numbers per row from which the linear kernel can tell many directions apart. With fewer, it knows all directions after
/// a few picks, and further picks are no longer about the targets.
const MANY_NUMBERS: usize = 100;

/// Largest number of rows, and of rows times targets and observations, for a kernel that keeps one number per row for each of these.
const MOST_ROWS: usize = 200_000;
const MOST_ENTRIES: usize = 20_000_000;

/// Whether rows are centred and scaled to unit length before a selection.
///
/// ```
/// use homing::Preparation;
///
/// let usual = Preparation::usual("linear", 5000, true);
/// assert!(usual.center && usual.normalize);
/// let as_given = Preparation::default();
/// assert_eq!(Preparation::usual("gaussian:0.5", 5000, true), as_given); // a length scale belongs to the rows as given
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Preparation {
    /// Whether the pool's mean is subtracted (see [`Embeddings::centered`](crate::Embeddings::centered)).
    pub center: bool,
    /// Whether rows are then scaled to unit length (see [`Embeddings::normalized`](crate::Embeddings::normalized)).
    pub normalize: bool,
}

impl Preparation {
    /// Returns what suits a pool of `rows` rows under a named kernel. If there are targets, rows that are centred and of unit
    /// length are best under the linear kernel; the study of the defaults (`homing experiment run defaults`) found this. Pools
    /// of fewer than 100 rows stay as they are, as do rows under any other kernel, and rows without targets: many rules without
    /// targets read the lengths of rows.
    pub fn usual(kernel: &str, rows: usize, has_targets: bool) -> Self {
        let is_suitable = kernel == "linear" && has_targets && rows >= ENOUGH_ROWS;
        Self { center: is_suitable, normalize: is_suitable }
    }

    /// Returns the name of the kernel that suits rows which are prepared in this way. With [`Preparation::usual`], that is
    /// `gaussian:1`, a kernel on the sphere, for 100 to 200,000 rows of fewer than 100 numbers; the study of the defaults found
    /// it better there. It keeps a number per row for each target and observation, so it does not suit more than 20,000,000 of
    /// them. In all other cases the kernel is `linear`. `observations` is the number of rows that will be picked or have been
    /// observed.
    ///
    /// ```
    /// use homing::Preparation;
    ///
    /// let usual = Preparation::usual("linear", 5000, true);
    /// assert_eq!((usual.kernel(5000, 12, 30, 100), usual.kernel(5000, 384, 30, 100)), ("gaussian:1", "linear"));
    /// assert_eq!(usual.kernel(100_000, 12, 30, 1000), "linear");
    /// assert_eq!(Preparation::default().kernel(5000, 12, 30, 100), "linear");
    /// ```
    pub fn kernel(self, rows: usize, dim: usize, targets: usize, observations: usize) -> &'static str {
        let is_usual = self.center && self.normalize && self == Self::usual("linear", rows, targets > 0);
        let fits = rows <= MOST_ROWS && rows.saturating_mul(targets.saturating_add(observations)) <= MOST_ENTRIES;
        if is_usual && dim < MANY_NUMBERS && fits { "gaussian:1" } else { "linear" }
    }
}
