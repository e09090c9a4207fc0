//! The SQL examples of a Markdown page: statements behind a client's prompt, and the answers that the page promises.
//!
//! Blocks are fenced as `postgres` or `mariadb`. A line that begins with the client's prompt begins a statement, which
//! goes on to a line that ends in `;`; what follows, to the next prompt, is the answer. `…` matches anything.

use crate::console::matches;

/// One statement of a page and the answer it promises.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    /// The line in the page, from 1.
    pub line: usize,
    /// The statement, prompts left out.
    pub statement: String,
    /// The lines of the answer, without blanks at their ends; empty lines are left out.
    pub answer: Vec<String>,
}

/// What psql shows before a statement.
pub const POSTGRES_PROMPT: &str = "ids=# ";
/// What the mariadb client shows before a statement.
pub const MARIADB_PROMPT: &str = "MariaDB [ids]> ";

/// The examples of the blocks fenced as `engine`.
pub fn examples(page: &str, engine: &str, prompt: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let (mut inside, mut open) = (false, false);
    for (at, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            inside = !inside && line.strip_prefix("```") == Some(engine);
        } else if !inside {
            continue;
        } else if let Some(statement) = line.strip_prefix(prompt) {
            open = !statement.ends_with(';');
            examples.push(Example {
                line: at + 1,
                statement: statement.into(),
                answer: Vec::new(),
            });
        } else if let Some(example) = examples.last_mut() {
            if open {
                open = !line.ends_with(';');
                example.statement.push('\n');
                example.statement.push_str(line);
            } else if !line.trim().is_empty() {
                example.answer.push(line.trim_end().into());
            }
        }
    }
    examples
}

/// Checks what a statement answered.
///
/// # Panics
/// When it is not what the page promises, naming the line.
pub fn check(page: &str, example: &Example, answered: &str) {
    let lines: Vec<&str> = answered
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let same = lines.len() == example.answer.len()
        && example
            .answer
            .iter()
            .zip(&lines)
            .all(|(want, got)| matches(want, got));
    assert!(
        same,
        "{page}:{}: {}\npromised:\n{}\nanswered:\n{}",
        example.line,
        example.statement,
        example.answer.join("\n"),
        lines.join("\n")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_and_answers_are_told_apart() {
        let page = "x\n```postgres\nids=# SELECT 1;\n 1\n(1 row)\n\nids=# SELECT\n  2;\n 2\n```\n```sql\nids=# SELECT 3;\n```\n";
        let found = examples(page, "postgres", POSTGRES_PROMPT);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].line, found[0].statement.as_str()), (3, "SELECT 1;"));
        assert_eq!(found[0].answer, [" 1", "(1 row)"]);
        assert_eq!(
            (found[1].statement.as_str(), found[1].answer.len()),
            ("SELECT\n  2;", 1)
        );
        check("page", &found[0], " 1 \n(1 row)\n\n");
    }
}
