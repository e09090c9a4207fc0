//! What `mint snowflake` does differently for ids of 64 bits and for wider ones: the number, its generator, its texts.

use std::sync::Arc;

use mintage::{
    ClockPolicy, FieldsText, Layout, LayoutError, MintError, Snowflake, SnowflakeText, Timestamp,
    WideSnowflake,
};

use crate::sink::TextForm;

/// A text form, and who makes the numbers that it writes.
pub(crate) trait Width: TextForm<Id: Copy + Default> {
    /// Makes them without a reservation.
    type Generator;

    /// A generator that nothing guards.
    fn generator(
        layout: Arc<Layout>,
        worker: u64,
        policy: ClockPolicy,
    ) -> Result<Self::Generator, LayoutError>;

    /// Fills the front of `out`, and says how many.
    fn mint_many(
        generator: &Self::Generator,
        now: Timestamp,
        out: &mut [Self::Id],
    ) -> Result<usize, MintError>;

    /// The id of a number that a layout of this width made.
    fn id(number: u128) -> Self::Id;
}

impl Width for SnowflakeText {
    type Generator = Snowflake;

    fn generator(layout: Arc<Layout>, worker: u64, policy: ClockPolicy) -> Result<Snowflake, LayoutError> {
        Snowflake::unguarded(layout, worker)?.clock_policy(policy)
    }

    fn mint_many(generator: &Snowflake, now: Timestamp, out: &mut [u64]) -> Result<usize, MintError> {
        generator.mint_many(now, out)
    }

    fn id(number: u128) -> u64 {
        number as u64
    }
}

/// A text form of ids of any layout.
#[derive(Clone, Debug)]
pub(crate) struct WideForm {
    form: Form,
    layout: Layout,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Number(SnowflakeText),
    Fields(FieldsText),
}

impl WideForm {
    /// The form called `name`, which the parser let pass, of ids of `layout`.
    pub(crate) fn new(name: &str, layout: &Layout) -> WideForm {
        let number = SnowflakeText::from_name(name).map(Form::Number);
        let fields = || FieldsText::from_name(name).map(Form::Fields);
        WideForm {
            form: number
                .or_else(fields)
                .expect("the parser admits only known names"),
            layout: layout.clone(),
        }
    }
}

impl TextForm for WideForm {
    type Id = u128;

    fn write(&self, id: &u128, buffer: &mut Vec<u8>) {
        match self.form {
            Form::Number(form) => form.write_wide(*id, self.layout.bits(), buffer),
            Form::Fields(form) => form.write(*id, &self.layout, buffer),
        }
    }

    fn write_lines(&self, ids: &[u128], buffer: &mut Vec<u8>) {
        for id in ids {
            self.write(id, buffer);
            buffer.push(b'\n');
        }
    }
}

impl Width for WideForm {
    type Generator = WideSnowflake;

    fn generator(
        layout: Arc<Layout>,
        worker: u64,
        policy: ClockPolicy,
    ) -> Result<WideSnowflake, LayoutError> {
        WideSnowflake::unguarded(layout, worker)?.clock_policy(policy)
    }

    fn mint_many(generator: &WideSnowflake, now: Timestamp, out: &mut [u128]) -> Result<usize, MintError> {
        generator.mint_many(now, out)
    }

    fn id(number: u128) -> u128 {
        number
    }
}
