//! The settings of this face: what all faces have, and nothing of its own.

use mintage_server::face_settings;

face_settings! {
    "thrift" fits_main: false takes_tokens: false;
}
