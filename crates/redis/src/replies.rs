//! Answers as the protocol has them.

use std::ffi::c_long;

use acsm_filters::kv::slab::{Slab, Written};
use acsm_filters::kv::{Answer, Write};
use valkey_module::{Context, ValkeyValue, raw};

use crate::create::decoding_name;
use crate::error::CommandError;

/// In a packed answer, for an item that is absent.
const ABSENT: u32 = u32::MAX;
/// For an item with any value.
const UNDECIDED: u32 = u32::MAX - 1;
/// For an item with several candidates, which are listed apart.
const SEVERAL: u32 = u32::MAX - 2;

/// What became of a write: null if it was a repeat.
pub fn written<T>(written: Written<T>, reply: impl FnOnce(T) -> ValkeyValue) -> ValkeyValue {
    match written {
        Written::Applied(result) => reply(result),
        Written::Repeat => ValkeyValue::Null,
    }
}

pub fn integer(number: u64) -> ValkeyValue {
    ValkeyValue::Integer(number as i64)
}

fn integers(numbers: Vec<u32>) -> ValkeyValue {
    ValkeyValue::Array(numbers.into_iter().map(|number| integer(number.into())).collect())
}

/// One element for each answer.
pub fn answer(answer: Answer<u32>) -> ValkeyValue {
    match answer {
        Answer::Absent => ValkeyValue::Null,
        Answer::Found(value) => integer(value.into()),
        Answer::OneOf(values) => integers(values),
        Answer::Undecided => ValkeyValue::Array(vec![]),
    }
}

/// Answers in one string, and the candidates of those that have several.
#[derive(Debug, Default)]
pub struct PackedAnswers {
    bytes: Vec<u8>,
    candidates: Vec<ValkeyValue>,
}

impl PackedAnswers {
    pub fn for_items(count: usize) -> PackedAnswers {
        PackedAnswers { bytes: Vec::with_capacity(4 * count), candidates: vec![] }
    }

    #[inline(always)] // into the loop over many items
    pub fn push(&mut self, answer: Answer<u32>) {
        let word = match answer {
            Answer::Absent => ABSENT,
            Answer::Found(value) => value,
            Answer::Undecided => UNDECIDED,
            Answer::OneOf(values) => {
                self.candidates.push(integers(values));
                SEVERAL
            }
        };
        self.bytes.extend(word.to_le_bytes());
    }

    pub fn reply(self) -> ValkeyValue {
        let candidates = ValkeyValue::Array(self.candidates);
        ValkeyValue::Array(vec![ValkeyValue::StringBuffer(self.bytes), candidates])
    }
}

/// What became of each item of an update or deletion.
pub fn outcomes(outcomes: &[Write], is_packed: bool) -> ValkeyValue {
    let number = |outcome: &Write| match outcome {
        Write::Done => 1i8,
        Write::Absent => 0,
        Write::Undecided => -1,
    };
    let numbers = outcomes.iter().map(number);
    match is_packed {
        true => ValkeyValue::StringBuffer(numbers.map(|number| number as u8).collect()),
        false => {
            ValkeyValue::Array(numbers.map(|number| ValkeyValue::Integer(number.into())).collect())
        }
    }
}

/// A value of `KBF.INFO`.
enum Field {
    Integer(u64),
    Float(f64),
    Text(String),
    /// Numbers by numbers.
    Map(Vec<(u64, u64)>),
}

/// Replies with everything about a slab: a map in the order of the documentation, which no type of the
/// library keeps.
pub fn info(ctx: &Context, slab: &Slab<'_>, bytes: usize) -> Result<ValkeyValue, CommandError> {
    let parameters = slab.parameters();
    let (clients, evicted) = slab.clients().map_err(CommandError::about("the value of the key"))?;
    let clients = clients.iter().map(|client| (client.id, client.sequence)).collect();
    let fields = [
        ("items", Field::Integer(slab.items())),
        ("capacity", Field::Integer(parameters.capacity)),
        ("error", Field::Float(parameters.rate)),
        ("values", Field::Integer(parameters.values.into())),
        ("cells", Field::Integer(parameters.cells() as u64)),
        ("hashes", Field::Integer(parameters.hashes.into())),
        ("cell_bits", Field::Integer(parameters.cell_bits.into())),
        ("codes", Field::Text(parameters.family.name().to_owned())),
        ("decode", Field::Text(decoding_name(parameters.decoding).to_owned())),
        ("salted", Field::Integer(parameters.salted.into())),
        ("hash_key", Field::Text(format!("{:032x}", parameters.hash_key.bits()))),
        ("saturations", Field::Integer(slab.saturations())),
        ("bytes", Field::Integer(bytes as u64)),
        ("evicted", Field::Integer(evicted)),
        ("clients", Field::Map(clients)),
    ];
    raw::reply_with_map(ctx.get_raw(), fields.len() as c_long);
    for (name, field) in fields {
        ctx.reply(Ok(ValkeyValue::BulkString(name.to_owned())));
        match field {
            Field::Integer(number) => ctx.reply(Ok(integer(number))),
            Field::Float(number) => ctx.reply(Ok(ValkeyValue::Float(number))),
            Field::Text(text) => ctx.reply(Ok(ValkeyValue::BulkString(text))),
            Field::Map(entries) => {
                let status = raw::reply_with_map(ctx.get_raw(), entries.len() as c_long);
                for (key, value) in entries {
                    ctx.reply(Ok(integer(key)));
                    ctx.reply(Ok(integer(value)));
                }
                status
            }
        };
    }
    Ok(ValkeyValue::NoReply)
}
