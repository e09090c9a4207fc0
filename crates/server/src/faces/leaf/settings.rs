//! The settings of this face.

use crate::config::faces::face_settings;

face_settings! {
    "leaf" fits_main: true prefix: "leaf:";
    /// Answer `/api/segment/get/…`.
    "segment" segment: bool = "true";
    /// Answer `/api/snowflake/get/…`.
    "snowflake" snowflake: bool = "true";
}
