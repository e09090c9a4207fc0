//! What a caller chooses about the ids of a format: the same options for every command that reads or makes them.

use std::iter::once;
use std::sync::Arc;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use mintage::{FORMATS, Family, Format, FormatError, GenOption, GenOptions, OptionForm, OptionValue};

use crate::errors::Failure;
use crate::snowflake::preset_layout;
use mintage_wire::{command_of, shown};

/// Options of formats, a flag for each row of core's table; each format takes some and refuses the others by name.
#[derive(Debug, Default)]
pub(crate) struct FormatOptions {
    options: GenOptions,
    /// Another way to name a layout.
    preset: Option<String>,
}

const HEADING: &str = "Options of formats (mint formats NAME lists those of one)";

impl clap::Args for FormatOptions {
    fn augment_args(command: Command) -> Command {
        let preset = Arg::new("preset")
            .long("preset")
            .value_name("NAME")
            .conflicts_with(GenOption::Layout.name())
            .help("snowflake: a known layout, see mint presets");
        let flags = GenOption::ALL.iter().map(|option| flag(*option));
        command.args(flags.chain(once(preset)).map(|flag| flag.help_heading(HEADING)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        FormatOptions::augment_args(command)
    }
}

impl clap::FromArgMatches for FormatOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = FormatOptions::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let values = |option: &GenOption| matches.get_many::<OptionValue>(option.name());
        for value in GenOption::ALL.iter().filter_map(values).flatten() {
            match value {
                // Given again, a list goes on.
                OptionValue::Numbers(more) => self.options.numbers.extend(more),
                value => self.options.choose(value.clone()),
            }
        }
        self.preset = matches.get_one("preset").cloned();
        Ok(())
    }
}

/// The flag of an option.
fn flag(option: GenOption) -> Arg {
    let takers = FORMATS.iter().filter(|row| row.options.contains(&option));
    let takers: Vec<&str> = takers.map(|row| row.name).collect();
    let read = move |text: &str| {
        option.read(text).map_err(|error| match error {
            FormatError::Option { reason, .. } => reason,
            other => other.to_string(),
        })
    };
    let flag = Arg::new(option.name())
        .long(option.name())
        .help(format!("{}: {}", takers.join(", "), option.says()))
        .value_parser(read);
    match option.form() {
        OptionForm::Flag => flag
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("true|false"),
        OptionForm::Numbers => flag.action(ArgAction::Append).value_name("N,N,…"),
        OptionForm::OneOf(_) => flag.value_name("WORD"),
        OptionForm::Text(word) => flag.value_name(word),
        _ => flag.value_name("N"),
    }
}

impl FormatOptions {
    /// For a format: options that it does not take are refused.
    pub(crate) fn of(&self, format: &Format) -> Result<GenOptions, Failure> {
        let options = self.all()?;
        format.check_options(&options).map_err(|e| refused(format, &e))?;
        Ok(options)
    }

    /// Whatever was given; a layout has its epoch within.
    pub(crate) fn all(&self) -> Result<GenOptions, Failure> {
        let mut options = self.options.clone();
        if let Some(name) = &self.preset {
            options.layout = Some(Arc::new(preset_layout(name)?));
        }
        Ok(options.with_epoch_in_layout())
    }
}

/// The format of a name, in any case, that [`format_names`] let pass.
pub(crate) fn format_named(name: &str) -> &'static Format {
    mintage::format(&name.to_ascii_lowercase()).expect("the parser admits only known names")
}

/// The names of all formats, for the parser, its completions and its hints.
pub(crate) fn format_names() -> PossibleValuesParser {
    let names = FORMATS
        .iter()
        .flat_map(|row| std::iter::once(row.name).chain(row.aliases.iter().copied()));
    PossibleValuesParser::new(names)
}

/// A format's refusal in words.
pub(crate) fn refused(format: &Format, error: &FormatError) -> Failure {
    let made = || format!("{} makes them", command_of(format));
    match error {
        FormatError::Time { time, first, last } => Failure::usage(format_args!(
            "{} does not fit format {}, which holds {} to {}",
            shown(*time),
            format.name,
            shown(*first),
            shown(*last)
        )),
        FormatError::NoOption { option, takes, .. } => {
            let takes: Vec<String> = takes.iter().map(|takes| format!("--{}", takes.name())).collect();
            let (option, name) = (option.name(), format.name);
            Failure::usage(format_args!("--{option} does not apply to format {name}")).with_hint(match takes
                .is_empty()
            {
                true => "it takes none of these options".to_string(),
                false => format!("it takes {}", takes.join(", ")),
            })
        }
        FormatError::Option { option, reason } => {
            let refused = Failure::usage(format_args!("--{option}: {reason}"));
            match format.family {
                Family::Uuid(_) => refused.with_hint(made()),
                _ => refused,
            }
        }
        FormatError::Verb { .. } => Failure::usage(error).with_hint(made()),
        other => Failure::cannot(other),
    }
}

#[cfg(all(test, feature = "server"))]
mod tests {
    use clap::{Args as _, FromArgMatches as _};
    use mintage_server::formats::{FormatRow, Make};
    use mintage_wire::parameter;

    use super::*;

    /// What the flags of a command line choose.
    fn by_flag(option: GenOption, text: &str) -> Result<GenOptions, String> {
        let command = FormatOptions::augment_args(Command::new("mint"));
        let word = format!("--{}={text}", option.name());
        let matches = command
            .try_get_matches_from(["mint", &word])
            .map_err(|e| e.to_string())?;
        let options = FormatOptions::from_arg_matches(&matches).map_err(|e| e.to_string())?;
        Ok(options.options)
    }

    /// What the parameters of a request choose.
    fn by_parameter(option: GenOption, text: &str) -> Result<GenOptions, String> {
        let format = FORMATS
            .iter()
            .find(|row| row.options.contains(&option))
            .expect("some format takes it");
        let (row, mut options) = (
            FormatRow {
                format,
                make: Make::Core,
            },
            GenOptions::default(),
        );
        let set = row.set(&mut options, parameter(option).as_bytes(), text.as_bytes());
        set.map(|()| options).map_err(|e| e.to_string())
    }

    #[test]
    fn every_option_reads_alike_as_a_flag_and_as_a_parameter() {
        use GenOption as O;
        let samples: &[(O, &[&str], &[&str])] = &[
            (O::Prefix, &["user"], &[]),
            (O::Alphabet, &["0123456789abcdef"], &["aa"]),
            (O::Length, &["21"], &["-1", "many"]),
            (O::Checksum, &["true"], &["yes"]),
            (
                O::Node,
                &["255", "0xff", "9f:6b:de:ce:d8:46"],
                &["x", "0xg", "9f:6b"],
            ),
            (O::ClockSeq, &["7"], &["65536"]),
            (O::NodeBits, &["10"], &["4294967296"]),
            (
                O::Epoch,
                &["2021-01-01", "1609459200000", "2021-01-01T00:00:00Z"],
                &["once", "2021-02-30"],
            ),
            (
                O::Layout,
                &["twitter", "time=41,worker=10,sequence=12,epoch=2021-01-01"],
                &["tweeter", "time=41"],
            ),
            (O::Worker, &["7"], &["seven"]),
            (O::Datacenter, &["3"], &["eu"]),
            (O::Numbers, &["1,2,3"], &["1,,2"]),
            (O::Salt, &["pepper"], &[]),
            (
                O::Namespace,
                &["dns", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"],
                &["ftp"],
            ),
            (O::Name, &["www.example.com"], &[]),
            (O::Domain, &["org"], &["people"]),
            (O::LocalId, &["1000"], &["4294967296"]),
            (O::Custom, &["00112233445566778899aabbccddeeff"], &["0011"]),
        ];
        let named: Vec<O> = samples.iter().map(|(option, ..)| *option).collect();
        assert!(O::ALL.iter().all(|option| named.contains(option)));
        for (option, good, bad) in samples {
            for text in *good {
                let chosen = by_flag(*option, text).unwrap();
                assert!(option.is_in(&chosen), "{text}");
                assert_eq!(by_parameter(*option, text), Ok(chosen), "{text}");
            }
            for text in *bad {
                let refused = option.read(text).unwrap_err().to_string();
                assert_eq!(by_parameter(*option, text), Err(refused.clone()));
                let reason = refused.split_once(": ").unwrap().1;
                let said = by_flag(*option, text).unwrap_err();
                assert!(said.contains(reason), "{said}");
            }
        }
    }
}
