//! The settings of this face.

use mintage_server::chassis::config::Setting;
use mintage_server::chassis::config::{named, show_named};
use mintage_server::face_settings;

face_settings! {
    "sonyflake" fits_main: false;
    /// What is answered: `v1` and `v2`, an id and its parts as these versions of sonyflake name them, or `number`, the bare id, with `/stats`.
    "shape" shape: Shape = "v1";
    /// Quote ids: JavaScript rounds bare numbers of 64 bits.
    "strings" strings: bool = "false";
}

/// What an answer looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// The parts of version 1.
    V1,
    /// The parts of version 2.
    V2,
    /// The id alone.
    Number,
}

impl Shape {
    const NAMES: [(&'static str, Shape); 3] =
        [("v1", Shape::V1), ("v2", Shape::V2), ("number", Shape::Number)];
}

impl Setting for Shape {
    const KIND: &'static str = "v1, v2 or number";

    fn parse(text: &str) -> Result<Self, String> {
        named(text, &Shape::NAMES)
    }

    fn show(&self) -> String {
        show_named(*self, &Shape::NAMES)
    }
}
