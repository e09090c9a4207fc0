//! `CREATE`, `ALTER`, `DROP` of sequences, and of the tables that tickets are taken from.

use super::query::series;
use super::{Parser, Read};
use crate::mysql::plan::{AlterSequence, Create, Drop, IfExists, Options, Statement};
use crate::mysql::refusal::Refusal;
use crate::mysql::tables::Library;
use crate::sql::names::SqlName;
use crate::sql::token::Kind;

impl Parser<'_> {
    /// From behind `CREATE` on.
    pub(super) fn create(&mut self) -> Read<Statement> {
        let start = *self;
        let replaces = self.takes_all(&["OR", "REPLACE"])?;
        let _ = self.takes("TEMPORARY")?;
        let is_sequence = match () {
            () if self.takes("SEQUENCE")? => true,
            () if self.takes("TABLE")? => false,
            // Databases are names that select nothing.
            () if self.takes("DATABASE")? || self.takes("SCHEMA")? => {
                self.skip_statement()?;
                return Ok(Statement::Nothing);
            }
            () if self.takes("INDEX")? => return self.index(&start),
            () => return Err(start.not_here()),
        };
        let skips = self.takes_all(&["IF", "NOT", "EXISTS"])?;
        let name = self.name()?;
        if let Some(_series) = series(&name)? {
            return Err(Refusal {
                errno: 1050,
                ..Refusal::arguments(format!("Table '{}' already exists", name.name))
            }
            .with_state("42S01"));
        }
        let if_exists = match (replaces, skips) {
            (true, _) => IfExists::Replace,
            (_, true) => IfExists::Skip,
            _ => IfExists::Refuse,
        };
        let options = match is_sequence {
            true => self.options(false)?,
            false => match self.table_options(&start)? {
                Some(options) => options,
                // What a library makes is there.
                None if Library::named(&name.name).is_some() && !replaces => return Ok(Statement::Nothing),
                None => return Err(Refusal::not_here("CREATE TABLE without AUTO_INCREMENT")),
            },
        };
        Ok(Statement::Create(Create {
            name,
            if_exists,
            options,
            is_sequence,
        }))
    }

    /// From behind `CREATE INDEX` on: on a library's table alone, where there is nothing to do.
    fn index(&mut self, start: &Self) -> Read<Statement> {
        let _ = self.takes_all(&["IF", "NOT", "EXISTS"])?;
        self.name()?;
        self.expect("ON")?;
        match Library::named(&self.name()?.name) {
            Some(_) => self.skip_statement().map(|()| Statement::Nothing),
            None => Err(start.not_here()),
        }
    }

    /// The columns of a table, and where it begins; `None`: no column counts.
    fn table_options(&mut self, start: &Self) -> Read<Option<Options>> {
        if !self.token.is_symbol("(") {
            return Err(start.not_here());
        }
        let (mut depth, mut counts) = (0_usize, false);
        loop {
            counts |= self.is("AUTO_INCREMENT") || self.is("SERIAL");
            match self.token.text {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ if self.is_at_end() => return Err(self.syntax()),
                _ => {}
            }
            if depth > crate::sql::lexer::DEPTH_MAX {
                return Err(Refusal::too_deep());
            }
            self.advance()?;
            if depth == 0 {
                break;
            }
        }
        if !counts {
            self.skip_statement()?;
            return Ok(None);
        }
        let mut options = Options::default();
        while !self.is_at_statement_end() {
            match self.takes("AUTO_INCREMENT")? {
                true => {
                    let _ = self.takes_symbol("=")?;
                    match self.integer()? {
                        Some(start) => options.start = Some(start.max(1)),
                        None => options.is_out_of_range = true,
                    }
                }
                false => self.advance()?,
            }
        }
        Ok(Some(options))
    }

    /// From behind `ALTER` on.
    pub(super) fn alter(&mut self) -> Read<Statement> {
        let start = *self;
        let _ = self.takes("ONLINE")? || self.takes("IGNORE")?;
        if self.takes("SEQUENCE")? {
            let if_exists = self.takes_all(&["IF", "EXISTS"])?;
            let name = self.name()?;
            let options = self.options(true)?;
            if options == Options::default() {
                return Err(self.syntax());
            }
            return Ok(Statement::AlterSequence(AlterSequence {
                name,
                if_exists,
                options,
            }));
        }
        if self.takes("DATABASE")? || self.takes("SCHEMA")? {
            self.skip_statement()?;
            return Ok(Statement::Nothing);
        }
        if !self.takes("TABLE")? {
            return Err(start.not_here());
        }
        let _ = self.takes_all(&["IF", "EXISTS"])?;
        let name = self.name()?;
        let mut next = None;
        while !self.is_at_statement_end() {
            let before = *self;
            if self.takes("AUTO_INCREMENT")? {
                let has_sign = self.takes_symbol("=")?;
                if has_sign || self.token.kind == Kind::Number {
                    next = Some(self.expression()?);
                    continue;
                }
                *self = before;
            }
            self.advance()?;
        }
        Ok(Statement::AlterTable(name, next))
    }

    /// From behind `DROP` on.
    pub(super) fn drop(&mut self) -> Read<Statement> {
        let start = *self;
        let _ = self.takes("TEMPORARY")?;
        let is_sequence = match () {
            () if self.takes("SEQUENCE")? => true,
            () if self.takes("TABLE")? || self.takes("TABLES")? => false,
            () => return Err(start.not_here()),
        };
        let if_exists = self.takes_all(&["IF", "EXISTS"])?;
        let names: Vec<SqlName> = self.names()?;
        if names.len() > NAMES_MAX {
            return Err(Refusal::not_here("DROP of more than 100 names"));
        }
        let _ = self.takes("RESTRICT")? || self.takes("CASCADE")?;
        Ok(Statement::Drop(Drop {
            names,
            if_exists,
            is_sequence,
        }))
    }

    /// The options of a sequence, as MariaDB writes them, and ours. One that comes twice is refused.
    fn options(&mut self, is_alter: bool) -> Read<Options> {
        let mut options = Options::default();
        while !self.is_at_statement_end() {
            let before = options;
            let start = *self;
            self.option(&mut options, is_alter)?;
            let twice = |was: bool, is: bool| was && is;
            let repeated = [
                (before.start.is_some(), start.is("START"), "START"),
                (before.increment.is_some(), start.is("INCREMENT"), "INCREMENT"),
                (
                    before.cycle.is_some(),
                    start.is("CYCLE") || start.is("NOCYCLE"),
                    "CYCLE",
                ),
                (
                    before.cache.is_some(),
                    start.is("CACHE") || start.is("NOCACHE"),
                    "CACHE",
                ),
                (
                    before.min.is_some(),
                    start.is("MINVALUE") || start.is("NOMINVALUE"),
                    "MINVALUE",
                ),
                (
                    before.max.is_some(),
                    start.is("MAXVALUE") || start.is("NOMAXVALUE"),
                    "MAXVALUE",
                ),
            ];
            if let Some((.., name)) = repeated.iter().find(|(was, is, _)| twice(*was, *is)) {
                return Err(Refusal {
                    errno: 1225,
                    ..Refusal::arguments(format!("Option '{name}' used twice in statement"))
                }
                .with_state("HY000"));
            }
        }
        Ok(options)
    }

    fn option(&mut self, options: &mut Options, is_alter: bool) -> Read<()> {
        let word = match self.token.kind {
            Kind::Word => self.token.text.to_ascii_uppercase(),
            _ => return Err(self.syntax()),
        };
        let start = *self;
        self.advance()?;
        match word.as_str() {
            "START" => options.start = self.bound("WITH", options)?,
            "INCREMENT" => options.increment = self.bound("BY", options)?,
            "MINVALUE" => options.min = Some(self.bound("", options)?),
            "MAXVALUE" => options.max = Some(self.bound("", options)?),
            "CACHE" => options.cache = self.bound("", options)?,
            "NOMINVALUE" => options.min = Some(None),
            "NOMAXVALUE" => options.max = Some(None),
            "NOCACHE" => options.cache = Some(0),
            "CYCLE" => options.cycle = Some(true),
            "NOCYCLE" => options.cycle = Some(false),
            "NO" => self.no(options)?,
            "RESTART" if is_alter => {
                let is_number = self.is("WITH") || self.token.is_symbol("=") || self.token.is_symbol("-");
                options.restart = Some(match is_number || self.token.kind == Kind::Number {
                    true => self.bound("WITH", options)?,
                    false => None,
                });
            }
            "GAP" => {
                options.gap = match self.takes("NONE")? {
                    true => Some(0),
                    false => self
                        .bound("", options)?
                        .map(|gap| u64::try_from(gap).unwrap_or(0)),
                }
            }
            // Where and how the original keeps its tables.
            "ENGINE" | "COMMENT" | "CHARSET" | "COLLATE" | "ROW_FORMAT" | "TRANSACTIONAL" => {
                let _ = self.takes_symbol("=")?;
                self.advance()?;
            }
            "DEFAULT" => {}
            _ => return Err(start.syntax()),
        }
        Ok(())
    }

    /// `NO MINVALUE`, `NO MAXVALUE`, `NO CYCLE`, `NO CACHE`.
    fn no(&mut self, options: &mut Options) -> Read<()> {
        match () {
            () if self.takes("MINVALUE")? => options.min = Some(None),
            () if self.takes("MAXVALUE")? => options.max = Some(None),
            () if self.takes("CYCLE")? => options.cycle = Some(false),
            () if self.takes("CACHE")? => options.cache = Some(0),
            () => return Err(self.syntax()),
        }
        Ok(())
    }

    /// A number, behind `=` or a word or neither.
    fn bound(&mut self, word: &str, options: &mut Options) -> Read<Option<i64>> {
        let _ = self.takes_symbol("=")? || !word.is_empty() && self.takes(word)?;
        let number = self.integer()?;
        options.is_out_of_range |= number.is_none();
        Ok(number)
    }
}

/// How many names one `DROP` may have.
const NAMES_MAX: usize = 100;
