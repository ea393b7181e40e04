//! Builds NumPy files byte by byte.

/// Builds a .npy file with a header in NumPy's notation.
pub fn npy(descr: &str, column_major: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if column_major { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}
