//! Which function a request calls, with what.

use mintage::Base;
use mintage_ledger::Name;

use super::arguments::Arguments;
use super::refusal::Refusal;
use super::settings::{Does, Function, Functions};
use mintage_server::chassis::error::Code;

/// A function with its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Call {
    /// The next number of a sequence that the configuration names.
    Next(Name),
    /// The next number of a sequence that the client names.
    Nextval(String),
    /// So many of its next numbers.
    Nextvals(String, u64),
    /// Moves it forward.
    Setval(String, Base),
}

impl Call {
    /// Reads the arguments of a function; `None`: it has others.
    ///
    /// # Errors
    /// One makes no sense.
    pub(super) fn of(
        function: &Function,
        mut arguments: Arguments,
        count_max: u64,
    ) -> Result<Option<Call>, Refusal> {
        let does = match function {
            Function::Next(name) => {
                return Ok(arguments.is_empty().then(|| Call::Next(name.clone())));
            }
            Function::Does(does) => does,
            Function::Off => return Ok(None),
        };
        let sequence = arguments.take(&SEQUENCE);
        let (count, value, is_called) = match does {
            Does::Nextval => (None, None, None),
            Does::Nextvals => (arguments.take(&["n", "count"]), None, None),
            Does::Setval => (None, arguments.take(&["value"]), arguments.take(&["is_called"])),
        };
        let Some(sequence) = sequence.filter(|_| arguments.is_empty()) else {
            return Ok(None);
        };
        let sequence = sequence.text()?;
        Ok(match (does, count, value) {
            (Does::Nextval, ..) => Some(Call::Nextval(sequence)),
            (Does::Nextvals, Some(count), _) => Some(Call::Nextvals(sequence, count.count(count_max)?)),
            (Does::Setval, _, Some(value)) => {
                let is_called = is_called.map_or(Ok(true), |is_called| is_called.flag())?;
                let value = value.number()?;
                Some(Call::Setval(sequence, Base { value, is_called }))
            }
            _ => None,
        })
    }
}

/// What the argument that names a sequence may be called.
const SEQUENCE: [&str; 6] = ["seq", "sequence", "sequence_name", "seq_name", "name", "regclass"];

/// The refusal of a function that does not exist, or not with these arguments.
pub(super) fn no_such_function(
    functions: &Functions,
    schema: &str,
    name: &str,
    arguments: &Arguments,
) -> Refusal {
    let names = arguments.names();
    let list = names.join(", ");
    let (shown, with) = match names.len() {
        0 => (
            " without parameters".to_string(),
            " without parameters".to_string(),
        ),
        1 => (format!("({list})"), format!(" with parameter {list}")),
        _ => (format!("({list})"), format!(" with parameters {list}")),
    };
    let unnamed = match arguments.as_json {
        true => " or with a single unnamed json/jsonb parameter",
        false => "",
    };
    let message = format!("Could not find the function {schema}.{name}{shown} in the schema cache");
    let refusal = Refusal::new(Code::UnknownRoute, "PGRST202", message);
    let refusal = refusal.with_details(format!(
        "Searched for the function {schema}.{name}{with}{unnamed}, but no matches were found in the schema cache."
    ));
    match perhaps(functions, name) {
        Some(meant) => refusal.with_hint(format!("Perhaps you meant to call the function {schema}.{meant}")),
        None => refusal,
    }
}

/// The function that was meant, if any is near: with its arguments where only those were wrong.
fn perhaps(functions: &Functions, name: &str) -> Option<String> {
    let meant = match functions.find(name) {
        Some(_) => name,
        None => {
            let near = functions
                .names()
                .into_iter()
                .map(|known| (strsim::jaro(known, name), known));
            let nearest = near.max_by(|one, other| one.0.total_cmp(&other.0))?;
            (nearest.0 > NEAR).then_some(nearest.1)?
        }
    };
    let arguments = match functions.find(meant)? {
        Function::Next(_) | Function::Off => " without parameters",
        Function::Does(Does::Nextval) => "(seq)",
        Function::Does(Does::Nextvals) => "(seq, n)",
        Function::Does(Does::Setval) => "(seq, value, is_called)",
    };
    Some(format!("{meant}{arguments}"))
}

/// How much of a name must be that of another one for this to be meant.
const NEAR: f64 = 0.75;
