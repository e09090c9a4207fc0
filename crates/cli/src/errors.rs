//! How a command fails: an exit code, one `error:` line, at most one `hint:` line.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use crate::color::Color;

/// Why a command ends without having done what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of our output has gone, as it may.
    BrokenPipe,
    /// The answer is "no", and has been printed (exit code 1).
    Negative,
    /// It has been said in the log; only the exit code is left.
    #[cfg(feature = "server")]
    Logged(u8),
    /// Something to say.
    Said {
        /// 2 wrong usage, 3 could not do it.
        code: u8,
        message: String,
        hint: Option<String>,
    },
}

impl Failure {
    /// The command was used wrongly.
    pub(crate) fn usage(message: impl fmt::Display) -> Failure {
        Failure::Said {
            code: 2,
            message: message.to_string(),
            hint: None,
        }
    }

    /// It could not be done.
    pub(crate) fn cannot(message: impl fmt::Display) -> Failure {
        Failure::Said {
            code: 3,
            message: message.to_string(),
            hint: None,
        }
    }

    /// The same failure as a negative answer.
    pub(crate) fn negative(self) -> Failure {
        match self {
            Failure::Said { message, hint, .. } => Failure::Said {
                code: 1,
                message,
                hint,
            },
            other => other,
        }
    }

    /// The same failure with what to do about it.
    pub(crate) fn with_hint(self, text: impl fmt::Display) -> Failure {
        match self {
            Failure::Said { code, message, .. } => Failure::Said {
                code,
                message,
                hint: Some(text.to_string()),
            },
            other => other,
        }
    }

    /// The same failure with a hint if there is one.
    pub(crate) fn with_hint_if(self, text: Option<impl fmt::Display>) -> Failure {
        match text {
            Some(text) => self.with_hint(text),
            None => self,
        }
    }

    /// Says it in the log instead of on standard error.
    #[cfg(feature = "server")]
    pub(crate) fn logged(self) -> Failure {
        match self {
            Failure::Said { code, message, hint } => {
                let hint = hint.unwrap_or_default();
                tracing::error!(error = one_line(&message), hint = one_line(&hint), "ended");
                Failure::Logged(code)
            }
            other => other,
        }
    }

    /// Prints the lines on standard error and gives the exit code.
    pub(crate) fn report(self, color: Color) -> ExitCode {
        match self {
            Failure::BrokenPipe => ExitCode::SUCCESS,
            Failure::Negative => ExitCode::from(1),
            #[cfg(feature = "server")]
            Failure::Logged(code) => ExitCode::from(code),
            Failure::Said { code, message, hint } => {
                let mut stderr = io::stderr().lock();
                let (red, cyan, plain) = match color.on(stderr.is_terminal()) {
                    true => ("\x1b[1;31m", "\x1b[1;36m", "\x1b[0m"),
                    false => ("", "", ""),
                };
                // With standard error gone there is nobody left to tell.
                let _ = writeln!(stderr, "{red}error:{plain} {}", one_line(&message));
                if let Some(hint) = hint {
                    let _ = writeln!(stderr, "{cyan}hint:{plain} {}", one_line(&hint));
                }
                ExitCode::from(code)
            }
        }
    }
}

/// Writing the results failed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::cannot(format_args!("cannot write the output: {error}")),
        }
    }
}

/// A text that came from elsewhere must not break the promise of one line, nor drive the terminal.
fn one_line(text: &str) -> String {
    mintage::Plain(&text.trim_end().replace(['\n', '\t', '\r'], " ")).to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_message_stays_one_line_whatever_it_holds() {
        assert_eq!(super::one_line("a\nb\x1b[31mc\n"), "a b\\u{1b}[31mc");
    }
}
