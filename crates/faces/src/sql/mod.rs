//! What the faces that speak SQL share: PostgreSQL's and MySQL's.
//!
//! | file | what |
//! | --- | --- |
//! | `lexer` | texts of statements as tokens, in either dialect, and where one statement ends and the next begins |
//! | `token` | one token, and what it stands for |
//! | `names` | names with schemas, and what their sequences are called here |
//! | `remembered` | what texts mean, within a bound of memory |
//! | `session` | the numbers that a connection took last |

pub(crate) mod lexer;
pub(crate) mod names;
pub(crate) mod remembered;
pub(crate) mod session;
pub(crate) mod token;
