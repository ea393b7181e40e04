//! Types that files store as the text that people type.

/// Serialises a type that has `FromStr` and `Display` as its text, with `#[serde(try_from = "String", into = "String")]`.
macro_rules! written_as_text {
    ($type:ty) => {
        impl TryFrom<String> for $type {
            type Error = crate::Error;

            fn try_from(text: String) -> crate::Result<Self> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
    };
}

pub(crate) use written_as_text;

/// Lists names for a message, and counts them if there are too many to list.
pub fn some_of(names: &[impl AsRef<str>]) -> String {
    const SHOWN: usize = 20;
    let list = names.iter().take(SHOWN).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{list}, … {} in all", names.len()) } else { list }
}
