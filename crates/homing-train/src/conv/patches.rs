//! Patches of images as the columns of a matrix.

/// Sizes of a convolution with stride 1 and a square kernel on one image, whose output is pooled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub height: usize,
    pub width: usize,
    pub channels: usize,
    pub outputs: usize,
    pub kernel: usize,
    pub padding: usize,
}

/// Positions in a window of the pooling.
pub(super) const WINDOW: usize = 4;

impl Sizes {
    /// Returns the height and width after the pooling.
    pub fn pooled(&self) -> [usize; 2] {
        [self.height, self.width].map(|extent| (extent + 2 * self.padding + 1 - self.kernel) / 2)
    }

    /// Returns the number of windows of the pooling.
    pub fn windows(&self) -> usize {
        let [height, width] = self.pooled();
        height * width
    }

    /// Returns the number of positions of the kernel that the pooling sees.
    pub fn positions(&self) -> usize {
        WINDOW * self.windows()
    }

    /// Returns how many numbers an image has.
    pub fn image(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// Returns how many numbers an image has, with its border of zeros.
    pub fn padded(&self) -> usize {
        (self.height + 2 * self.padding) * self.padded_row()
    }

    /// Returns how many numbers a patch has: the pixels that one position of the kernel covers.
    pub fn patch(&self) -> usize {
        self.kernel * self.kernel * self.channels
    }

    fn padded_row(&self) -> usize {
        (self.width + 2 * self.padding) * self.channels
    }

    /// Copies an image into the middle of `padded`, whose border stays as it is.
    pub fn pad(&self, image: &[f32], padded: &mut [f32]) {
        let (row, start) = (self.width * self.channels, self.padding * self.channels);
        let rows = padded.chunks_exact_mut(self.padded_row()).skip(self.padding);
        rows.zip(image.chunks_exact(row)).for_each(|(to, from)| to[start..start + row].copy_from_slice(from));
    }

    /// Copies the middle of `padded` to an image.
    pub fn crop(&self, padded: &[f32], image: &mut [f32]) {
        let (row, start) = (self.width * self.channels, self.padding * self.channels);
        let rows = padded.chunks_exact(self.padded_row()).skip(self.padding);
        image.chunks_exact_mut(row).zip(rows).for_each(|(to, from)| to.copy_from_slice(&from[start..start + row]));
    }

    /// Copies the patches of a padded image, window by window.
    pub fn gather(&self, padded: &[f32], patches: &mut [f32]) {
        let run = self.kernel * self.channels;
        for (patch, start) in patches.chunks_exact_mut(self.patch()).zip(self.starts()) {
            for (row, part) in patch.chunks_exact_mut(run).enumerate() {
                let from = start + row * self.padded_row();
                part.copy_from_slice(&padded[from..from + run]);
            }
        }
    }

    /// Adds patches to a padded image at the places that [`gather`](Self::gather) copies them from.
    pub fn scatter(&self, patches: &[f32], padded: &mut [f32]) {
        let run = self.kernel * self.channels;
        for (patch, start) in patches.chunks_exact(self.patch()).zip(self.starts()) {
            for (row, part) in patch.chunks_exact(run).enumerate() {
                let to = start + row * self.padded_row();
                padded[to..to + run].iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
            }
        }
    }

    /// Returns where the patches start in a padded image: the positions of one window after the other.
    fn starts(&self) -> impl Iterator<Item = usize> + use<> {
        let ([height, width], row, channels) = (self.pooled(), self.padded_row(), self.channels);
        let windows = (0..height).flat_map(move |y| (0..width).map(move |x| 2 * (y * row + x * channels)));
        windows.flat_map(move |start| [start, start + channels, start + row, start + row + channels])
    }

    /// Returns the weights with a patch per output, from their order outputs × channels × kernel × kernel.
    pub fn by_output(&self, weights: &[f32]) -> Vec<f32> {
        let mut patches = vec![0.0; weights.len()];
        self.each_weight(|output, place, index| patches[output * self.patch() + place] = weights[index]);
        patches
    }

    /// Returns the weights with all outputs for each place of a patch.
    pub fn by_place(&self, weights: &[f32]) -> Vec<f32> {
        let mut places = vec![0.0; weights.len()];
        self.each_weight(|output, place, index| places[place * self.outputs + output] = weights[index]);
        places
    }

    /// Reverses [`by_place`](Self::by_place).
    pub fn undo_by_place(&self, places: &[f32]) -> Vec<f32> {
        let mut weights = vec![0.0; places.len()];
        self.each_weight(|output, place, index| weights[index] = places[place * self.outputs + output]);
        weights
    }

    /// Calls `visit` with the output, the place in a patch and the index of every weight.
    fn each_weight(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let cells = self.kernel * self.kernel;
        for output in 0..self.outputs {
            for (channel, cell) in (0..self.channels).flat_map(|channel| (0..cells).map(move |cell| (channel, cell))) {
                visit(output, cell * self.channels + channel, (output * self.channels + channel) * cells + cell);
            }
        }
    }
}
