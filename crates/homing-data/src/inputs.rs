//! What a network is shown.

/// Examples of one shape, by number: images as `[channels, height, width]`, rows as `[width]`.
#[derive(Clone, Debug)]
pub struct Inputs {
    shape: Vec<usize>,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    /// Pixels, 0 to 255.
    Pixels(Vec<u8>),
    Numbers(Vec<f32>),
}

impl Inputs {
    /// Images one after the other; pixels channel by channel, row by row.
    ///
    /// # Panics
    /// When the pixels are no whole number of images.
    pub fn pixels(shape: [usize; 3], pixels: Vec<u8>) -> Self {
        assert_eq!(pixels.len() % shape.iter().product::<usize>().max(1), 0, "pixels of whole images");
        Self { shape: shape.to_vec(), values: Values::Pixels(pixels) }
    }

    /// Rows of `width` numbers, one after the other.
    ///
    /// # Panics
    /// When the numbers are no whole number of rows.
    pub fn rows(width: usize, numbers: Vec<f32>) -> Self {
        assert_eq!(numbers.len() % width.max(1), 0, "numbers of whole rows");
        Self { shape: vec![width], values: Values::Numbers(numbers) }
    }

    /// Of one example.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Numbers of one example.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// How many examples there are.
    pub fn len(&self) -> usize {
        let count = match &self.values {
            Values::Pixels(pixels) => pixels.len(),
            Values::Numbers(numbers) => numbers.len(),
        };
        count / self.size().max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The examples of `rows` one after the other, pixels as 0 to 255.
    pub fn read(&self, rows: &[usize]) -> Vec<f32> {
        let size = self.size();
        let mut out = Vec::with_capacity(rows.len() * size);
        for &row in rows {
            let at = row * size..(row + 1) * size;
            match &self.values {
                Values::Pixels(pixels) => out.extend(pixels[at].iter().map(|&pixel| f32::from(pixel))),
                Values::Numbers(numbers) => out.extend_from_slice(&numbers[at]),
            }
        }
        out
    }
}
