//! The bits of an id in colour.

use std::io::{self, IsTerminal};

use mintage::{Plain, Reading};

use crate::color::Color;
use crate::errors::Failure;
use crate::out::Out;

/// Draws the bits of ids, if standard output takes colour.
pub(super) struct Painter {
    on: bool,
}

/// Background and text that can be told apart on dark and on light screens.
const COLOURS: [&str; 8] = [
    "48;5;24;97",
    "48;5;130;97",
    "48;5;28;97",
    "48;5;90;97",
    "48;5;160;97",
    "48;5;30;97",
    "48;5;94;97",
    "48;5;60;97",
];

/// Bits in a line.
const WIDTH: u32 = 64;

impl Painter {
    pub(super) fn new(color: Color) -> Painter {
        Painter {
            on: color.on(io::stdout().is_terminal()),
        }
    }

    /// The bits of a reading, and below them which field has which colour.
    pub(super) fn bits(&self, reading: &Reading, out: &mut Out) -> Result<(), Failure> {
        let fields = reading.bit_fields();
        let bytes = reading.id.bytes();
        let width: u32 = fields.iter().map(|field| field.bits).sum();
        if !self.on || fields.is_empty() || width as usize != bytes.len() * 8 {
            return Ok(());
        }
        let mut colours = Vec::with_capacity(width as usize);
        let mut legend = String::from("    ");
        let mut next = 0;
        for field in &fields {
            let colour = match &*field.name {
                "" => "2",
                _ => {
                    next += 1;
                    COLOURS[(next - 1) % COLOURS.len()]
                }
            };
            colours.extend(std::iter::repeat_n(colour, field.bits as usize));
            if !field.name.is_empty() {
                legend.push_str(&format!(
                    "\x1b[{colour}m {} {} \x1b[0m ",
                    Plain(&field.name),
                    field.bits
                ));
            }
        }
        for line in 0..width.div_ceil(WIDTH) {
            let mut text = String::from("    ");
            let mut last = "";
            for bit in line * WIDTH..((line + 1) * WIDTH).min(width) {
                let colour = colours[bit as usize];
                if colour != last {
                    text.push_str(&format!("\x1b[0m\x1b[{colour}m"));
                    last = colour;
                }
                let value = bytes[bit as usize / 8] >> (7 - bit % 8) & 1;
                text.push(char::from(b'0' + value));
                if bit % 8 == 7 && bit + 1 < ((line + 1) * WIDTH).min(width) {
                    text.push(' ');
                }
            }
            text.push_str("\x1b[0m");
            out.painted_line(&text)?;
        }
        out.painted_line(legend.trim_end())
    }
}
