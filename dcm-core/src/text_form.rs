//! The schemas of types that are written as texts.

/// Says of a type that it is written as a text, of a form that a regular expression (ECMA-262) has where one is given.
macro_rules! text_form {
    ($type:ident $(, $pattern:expr)?) => {
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string" $(, "pattern": $pattern)?})
            }
        }
    };
}
