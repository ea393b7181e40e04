//! Setter methods that can be chained.

/// Writes one method per field that sets the field and returns `self`, so calls can be chained.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        #[allow(clippy::useless_conversion, reason = "most fields need no conversion")]
        pub fn $field(mut self, $field: $type) -> Self {
            self.$field = $field.into();
            self
        }
    )*};
}
pub(crate) use setters;
