//! Twitter's Snowflake server: Thrift, binary protocol.
//!
//! | file | what |
//! | --- | --- |
//! | `form` | the four forms of a message |
//! | `fields` | the fields of a struct, walked byte by byte |
//! | `codec` | calls and their answers |

pub mod codec;
mod fields;
mod form;
