//! Replies of `KBF.QUERY` and `KBF.INFO`.

use std::collections::HashMap;

use redis::Value;

use acsm_filters::kv::Answer;

/// Codes that stand for answers.
const ABSENT: u32 = 0xffff_ffff;
const UNDECIDED: u32 = 0xffff_fffe;
const SEVERAL: u32 = 0xffff_fffd;

/// The answers of a query with `PACKED`, if there are this number of them.
pub fn answers(reply: Value, count: usize) -> Option<Vec<Answer<u32>>> {
    let (packed, several): (Vec<u8>, Vec<Vec<u32>>) = redis::from_redis_value(reply).ok()?;
    let (codes, rest) = packed.as_chunks();
    if codes.len() != count || !rest.is_empty() {
        return None;
    }
    let mut several = several.into_iter();
    codes
        .iter()
        .map(|code| match u32::from_le_bytes(*code) {
            ABSENT => Some(Answer::Absent),
            UNDECIDED => Some(Answer::Undecided),
            SEVERAL => several.next().map(Answer::OneOf),
            code => Some(Answer::Found(code)),
        })
        .collect()
}

/// Counts of one filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterInfo {
    /// Pairs in it.
    pub items: u64,
    /// Of the whole value.
    pub bytes: u64,
    /// Counters at their maximum.
    pub saturations: u64,
}

impl FilterInfo {
    /// What `KBF.INFO` replies.
    pub fn read(reply: Value) -> Option<FilterInfo> {
        let fields: HashMap<String, Value> = redis::from_redis_value(reply).ok()?;
        let number = |name: &str| match fields.get(name)? {
            Value::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        Some(FilterInfo {
            items: number("items")?,
            bytes: number("bytes")?,
            saturations: number("saturations")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_in_order() {
        let codes = [7, ABSENT, SEVERAL, UNDECIDED, SEVERAL].map(u32::to_le_bytes);
        let packed = Value::BulkString(codes.as_flattened().to_vec());
        let list = |codes: &[i64]| Value::Array(codes.iter().copied().map(Value::Int).collect());
        let reply = Value::Array(vec![packed, Value::Array(vec![list(&[1, 2]), list(&[3, 4, 5])])]);
        let expected = vec![
            Answer::Found(7),
            Answer::Absent,
            Answer::OneOf(vec![1, 2]),
            Answer::Undecided,
            Answer::OneOf(vec![3, 4, 5]),
        ];
        assert_eq!(answers(reply.clone(), 5), Some(expected));
        assert_eq!(answers(reply, 4), None);
        assert_eq!(answers(Value::Okay, 0), None);
    }

    #[test]
    fn info_is_read_by_name() {
        let fields = [("bytes", 9), ("other", -1), ("items", 3), ("saturations", 0)];
        let reply = fields
            .into_iter()
            .flat_map(|(name, number)| [Value::SimpleString(name.to_owned()), Value::Int(number)]);
        let info = FilterInfo::read(Value::Array(reply.collect()));
        assert_eq!(info, Some(FilterInfo { items: 3, bytes: 9, saturations: 0 }));
        assert_eq!(FilterInfo::read(Value::Array(vec![])), None);
    }
}
