//! What mint's server and its clients say to each other, once: the error codes with what each face makes of them.

mod code;

pub use code::{CODES, Code, CodeRow};
