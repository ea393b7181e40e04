//! Numbers and lists of them as bytes. Every length is compared with the bytes that are left before anything is allocated.

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed(pub &'static str);

/// Result of reading bytes.
pub(super) type Read<T> = Result<T, Malformed>;

const TRUNCATED: Malformed = Malformed("it ends too early");

/// Bytes that are being written.
#[derive(Debug, Default)]
pub(super) struct Writer(pub Vec<u8>);

impl Writer {
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub fn flag(&mut self, value: bool) {
        self.u8(value.into());
    }

    /// Writes seven bits per byte, the lowest first.
    pub fn whole(&mut self, value: usize) {
        let mut rest = value as u64;
        while rest >= 0x80 {
            self.u8(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.u8(rest as u8);
    }

    pub fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    pub fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    pub fn f32(&mut self, value: f32) {
        self.0.extend(value.to_le_bytes());
    }

    pub fn f64s(&mut self, values: &[f64]) {
        self.all(values, f64::to_le_bytes);
    }

    pub fn f32s(&mut self, values: &[f32]) {
        self.all(values, f32::to_le_bytes);
    }

    fn all<T: Copy, const N: usize>(&mut self, values: &[T], bytes: fn(T) -> [u8; N]) {
        self.whole(values.len());
        let start = self.0.len();
        self.0.resize(start + N * values.len(), 0);
        let places = self.0[start..].as_chunks_mut().0.iter_mut();
        places.zip(values).for_each(|(place, &value)| *place = bytes(value));
    }

    /// Writes row numbers by their differences, which are small in increasing order.
    pub fn rows(&mut self, rows: &[usize]) {
        self.whole(rows.len());
        let mut last = 0;
        for &row in rows {
            let difference = row.wrapping_sub(last) as i64;
            self.whole(((difference << 1) ^ (difference >> 63)) as usize);
            last = row;
        }
    }

    pub fn text(&mut self, text: &str) {
        self.whole(text.len());
        self.0.extend(text.as_bytes());
    }

    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Bytes that are being read.
#[derive(Debug)]
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn take(&mut self, count: usize) -> Read<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("as many bytes were taken"))
    }

    pub fn u8(&mut self) -> Read<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn flag(&mut self) -> Read<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("a truth value is neither 0 nor 1")),
        }
    }

    pub fn whole(&mut self) -> Read<usize> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            value |= part << shift;
            if byte < 0x80 {
                return usize::try_from(value).map_err(|_| Malformed("a number is too large"));
            }
        }
        Err(Malformed("a number is too large"))
    }

    pub fn u64(&mut self) -> Read<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn f64(&mut self) -> Read<f64> {
        self.u64().map(f64::from_bits)
    }

    pub fn f32(&mut self) -> Read<f32> {
        self.array().map(f32::from_le_bytes)
    }

    /// Reads the length of a list whose elements take at least `least` bytes each.
    pub fn length(&mut self, least: usize) -> Read<usize> {
        let count = self.whole()?;
        match count.checked_mul(least) {
            Some(bytes) if bytes <= self.0.len() => Ok(count),
            _ => Err(TRUNCATED),
        }
    }

    pub fn list<T>(&mut self, least: usize, read: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let count = self.length(least)?;
        let mut read = read;
        (0..count).map(|_| read(self)).collect()
    }

    pub fn f64s(&mut self) -> Read<Vec<f64>> {
        self.all(f64::from_le_bytes)
    }

    pub fn f32s(&mut self) -> Read<Vec<f32>> {
        self.all(f32::from_le_bytes)
    }

    fn all<T, const N: usize>(&mut self, value: fn([u8; N]) -> T) -> Read<Vec<T>> {
        let count = self.length(N)?;
        Ok(self.take(N * count)?.as_chunks().0.iter().map(|&bytes| value(bytes)).collect())
    }

    pub fn rows(&mut self) -> Read<Vec<usize>> {
        let mut last = 0usize;
        self.list(1, |reader| {
            let folded = reader.whole()? as u64;
            let difference = (folded >> 1) as i64 ^ -((folded & 1) as i64);
            last = last.wrapping_add(difference as usize);
            Ok(last)
        })
    }

    pub fn text(&mut self) -> Read<String> {
        let count = self.length(1)?;
        let bytes = self.take(count)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| Malformed("a text is not UTF-8"))
    }

    pub fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    /// Refuses bytes after the end.
    pub fn end(&self) -> Read<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed("bytes follow its end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lists_survive() {
        let mut writer = Writer::default();
        let wholes = [0, 1, 127, 128, 300, usize::MAX];
        wholes.iter().for_each(|&value| writer.whole(value));
        writer.rows(&[5, 3, 1_000_000, usize::MAX, 0]);
        writer.f64s(&[1.5, f64::NAN, -0.0]);
        writer.text("Zeile");
        writer.optional(Some(2.5f32), Writer::f32);
        let mut reader = Reader(&writer.0);
        wholes.iter().for_each(|&value| assert_eq!(reader.whole(), Ok(value)));
        assert_eq!(reader.rows(), Ok(vec![5, 3, 1_000_000, usize::MAX, 0]));
        let numbers = reader.f64s().unwrap();
        assert!(numbers[0] == 1.5 && numbers[1].is_nan() && numbers[2].to_bits() == (-0.0f64).to_bits());
        assert_eq!(reader.text(), Ok("Zeile".to_owned()));
        assert_eq!(reader.optional(Reader::f32), Ok(Some(2.5)));
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn a_forged_length_is_refused_before_it_is_allocated() {
        let mut writer = Writer::default();
        writer.whole(usize::MAX / 8);
        assert_eq!(Reader(&writer.0).f64s(), Err(TRUNCATED));
        assert_eq!(Reader(&[0xff; 11]).whole(), Err(Malformed("a number is too large")));
    }
}
