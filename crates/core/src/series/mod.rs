//! Generated series: the numbers, letters, dates or times from one bound to another.
//!
//! | file | what |
//! | --- | --- |
//! | `text` | a series whose bounds, step and values are text: what a command or a request asks for |
//! | `numbers` | series of numbers, with MariaDB's names and rules |
//! | `months` | series in steps of calendar months and years |
//! | `step` | from one value to the next, as people write it |
//! | `forms` | what the values are, and how a bound shows it |
//! | `letters`, `dates`, `moments` | the forms, each from text and back |

mod dates;
mod error;
mod forms;
mod letters;
mod moments;
mod months;
mod numbers;
mod step;
mod text;

pub use dates::{date_of, day_of_date};
pub use error::SeriesError;
pub use forms::SeriesForm;
pub use letters::{letters_of, number_of_letters};
pub use numbers::Series;
pub use text::TextSeries;
