//! The settings of this face.

use mintage_server::face_settings;

face_settings! {
    "gosnowflake" fits_main: true;
    /// Quote ids: JavaScript rounds bare numbers of 64 bits.
    "strings" strings: bool = "false";
}
