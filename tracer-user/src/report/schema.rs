//! The JSON Schema of what a view prints.
//!
//! Must not know what that is.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// Of a `T` that is written, not read: a key that may be null is there all the
/// same.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}
