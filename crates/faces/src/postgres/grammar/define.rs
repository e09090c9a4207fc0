//! CREATE, ALTER and DROP SEQUENCE.

use mintage_ledger::Gap;

use super::Parser;
use crate::postgres::errors::{Result, SqlError};
use crate::postgres::plan::{Alter, Bound, Create, Drop, IntegerKind, Options, Plan, Restart, Target};

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Result<Plan> {
        let begins = self.advance()?;
        for word in ["temporary", "temp", "unlogged"] {
            if self.is(word) && self.ahead()?.is("sequence") {
                return Err(
                    SqlError::unsupported(&format!("{} SEQUENCE", word.to_uppercase())).at(begins.at),
                );
            }
        }
        if !self.eat("sequence")? {
            return Err(self.not_here("CREATE", begins.at));
        }
        let if_not_exists = self.eat("if")?;
        if if_not_exists {
            self.expect("not")?;
            self.expect("exists")?;
        }
        let name = self.qualified()?;
        let options = self.options(false)?;
        Ok(Plan::Create(Create {
            target: Target::new(&name, self.keys),
            schema: name.schema.map(Into::into),
            if_not_exists,
            options,
        }))
    }

    pub(super) fn alter(&mut self) -> Result<Plan> {
        let begins = self.advance()?;
        if !self.eat("sequence")? {
            return Err(self.not_here("ALTER", begins.at));
        }
        let if_exists = self.if_exists()?;
        let name = self.qualified()?;
        if self.is_at_end() {
            return Err(self.unexpected());
        }
        for (word, what) in [
            ("rename", "RENAME"),
            ("set", "ALTER SEQUENCE … SET"),
            ("owner", "OWNER"),
        ] {
            if self.is(word) {
                return Err(SqlError::unsupported(what).at(self.token.at));
            }
        }
        let options = self.options(true)?;
        Ok(Plan::Alter(Alter {
            target: Target::new(&name, self.keys),
            if_exists,
            options,
        }))
    }

    pub(super) fn drop(&mut self) -> Result<Plan> {
        let begins = self.advance()?;
        if !self.eat("sequence")? {
            return Err(self.not_here("DROP", begins.at));
        }
        let if_exists = self.if_exists()?;
        let mut targets = Vec::new();
        loop {
            targets.push(Target::new(&self.qualified()?, self.keys));
            if !self.eat_symbol(",")? {
                break;
            }
        }
        self.eat_any(&["cascade", "restrict"])?;
        Ok(Plan::Drop(Drop { targets, if_exists }))
    }

    /// What PostgreSQL makes and changes besides sequences.
    fn not_here(&self, verb: &str, at: usize) -> SqlError {
        match self.token.kind {
            crate::sql::token::Kind::Word => {
                let what = format!(
                    "{verb} {}",
                    super::super::errors::shown(self.token.text).to_uppercase()
                );
                SqlError::unsupported(&what).at(at)
            }
            _ => self.unexpected(),
        }
    }

    fn if_exists(&mut self) -> Result<bool> {
        let found = self.eat("if")?;
        if found {
            self.expect("exists")?;
        }
        Ok(found)
    }

    /// The options of a definition, each at most once.
    fn options(&mut self, alters: bool) -> Result<Options> {
        let mut options = Options::default();
        while !self.is_at_end() {
            let at = self.token.at;
            let again = match self.token.value().as_ref() {
                "as" => {
                    self.advance()?;
                    options.kind.replace(self.integer_kind()?).is_some()
                }
                "increment" => {
                    self.advance()?;
                    self.eat("by")?;
                    options.increment.replace(self.integer()?).is_some()
                }
                "minvalue" => {
                    self.advance()?;
                    options.min.replace(Bound::At(self.integer()?)).is_some()
                }
                "maxvalue" => {
                    self.advance()?;
                    options.max.replace(Bound::At(self.integer()?)).is_some()
                }
                "start" => {
                    self.advance()?;
                    self.eat("with")?;
                    options.start.replace(self.integer()?).is_some()
                }
                "restart" => {
                    self.advance()?;
                    let with = self.eat("with")?;
                    let numbers = with
                        || self.token.kind == crate::sql::token::Kind::Number
                        || self.token.is_symbol("-");
                    let to = if numbers {
                        Restart::With(self.integer()?)
                    } else {
                        Restart::Start
                    };
                    options.restart.replace(to).is_some()
                }
                "cache" => {
                    self.advance()?;
                    options.cache.replace(self.integer()?).is_some()
                }
                "cycle" => {
                    self.advance()?;
                    options.cycle.replace(true).is_some()
                }
                "no" => {
                    self.advance()?;
                    self.negated(&mut options)?
                }
                "owned" => {
                    self.advance()?;
                    self.owner()?;
                    std::mem::replace(&mut options.owned, true)
                }
                "gap" => {
                    self.advance()?;
                    self.gap(&mut options)?
                }
                "sequence" | "logged" | "unlogged" => {
                    let what = self.token.text.to_uppercase();
                    return Err(SqlError::unsupported(&what).at(at));
                }
                _ => return Err(self.unexpected()),
            };
            if again {
                return Err(SqlError::new("42601", "conflicting or redundant options").at(at));
            }
        }
        // As PostgreSQL 15, which says nothing.
        if !alters {
            options.restart = options.restart.filter(|restart| *restart != Restart::Start);
        }
        Ok(options)
    }

    /// What is behind NO; whether it was said before.
    fn negated(&mut self, options: &mut Options) -> Result<bool> {
        Ok(match self.eat_any(&["minvalue", "maxvalue", "cycle"])? {
            Some("minvalue") => options.min.replace(Bound::Default).is_some(),
            Some("maxvalue") => options.max.replace(Bound::Default).is_some(),
            Some(_) => options.cycle.replace(false).is_some(),
            None => return Err(self.unexpected()),
        })
    }

    fn owner(&mut self) -> Result<()> {
        self.expect("by")?;
        let at = self.token.at;
        if self.eat("none")? {
            return Ok(());
        }
        let name = self.qualified()?;
        match name.schema {
            None => Err(SqlError::new("42601", "invalid OWNED BY option")
                .with_hint("Specify OWNED BY table.column or OWNED BY NONE.")),
            Some(_) => Err(SqlError::unsupported("OWNED BY a column").at(at)),
        }
    }

    /// Our own: `GAP NONE`, or the most numbers that one crash may lose.
    fn gap(&mut self, options: &mut Options) -> Result<bool> {
        let again = options.gap.is_some() || options.max_gap.is_some();
        if self.eat("none")? {
            options.gap = Some(Gap::None);
            return Ok(again);
        }
        let at = self.token.at;
        let most = self.integer()?;
        options.gap = Some(Gap::Bounded);
        options.max_gap = match u64::try_from(most) {
            Ok(most @ 1..) => Some(most),
            _ => {
                let message = format!("GAP ({most}) must be greater than zero");
                return Err(SqlError::new("22023", message)
                    .with_hint("GAP NONE loses no number")
                    .at(at));
            }
        };
        Ok(again)
    }

    fn integer_kind(&mut self) -> Result<IntegerKind> {
        use crate::postgres::types::Type;
        let other = || SqlError::new("22023", "sequence type must be smallint, integer, or bigint");
        if OTHER_TYPES.contains(&&*self.token.value()) {
            return Err(other());
        }
        match self.type_name()? {
            Type::Int2 => Ok(IntegerKind::Small),
            Type::Int4 => Ok(IntegerKind::Integer),
            Type::Int8 => Ok(IntegerKind::Big),
            _ => Err(other()),
        }
    }
}

/// Types that PostgreSQL has, and that no value here is of.
const OTHER_TYPES: [&str; 10] = [
    "numeric", "decimal", "dec", "real", "float", "float4", "float8", "double", "money", "interval",
];
