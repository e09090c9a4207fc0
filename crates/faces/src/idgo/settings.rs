//! The settings of this face.

use mintage_server::face_settings;

face_settings! {
    "idgo" fits_main: false prefix: "idgo:";
}
