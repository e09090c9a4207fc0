//! The settings of this face.

use crate::config::faces::face_settings;

face_settings! {
    "idgo" fits_main: false prefix: "idgo:";
}
