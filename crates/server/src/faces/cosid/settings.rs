//! The settings of this face.

use crate::config::faces::face_settings;

face_settings! {
    "cosid" fits_main: true prefix: "cosid:";
}
