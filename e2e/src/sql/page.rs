//! The SQL blocks of a Markdown page: every statement and the answer that the page promises.
