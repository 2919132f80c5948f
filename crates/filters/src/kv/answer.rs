//! What a query answers, and what became of a write.

/// The answer about a key.
///
/// The value of a key that is in the store is always among the candidates: `Found` is one candidate,
/// `OneOf` several, and `Undecided` stands for all values. An absent key is usually `Absent`, and any other
/// answer is a false positive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
    /// The key is not in the store.
    Absent,
    /// The key has this value, or is absent.
    Found(T),
    /// The key has one of these values, two or more in ascending order of their index, or is absent.
    OneOf(Vec<T>),
    /// The key has any value, or is absent.
    Undecided,
}

impl<T> Answer<T> {
    /// The most candidates that are listed.
    pub const ONE_OF_MAX: usize = 64;

    /// The value, if there is one candidate.
    pub fn found(self) -> Option<T> {
        match self {
            Answer::Found(value) => Some(value),
            _ => None,
        }
    }

    /// The same with each value replaced.
    pub(super) fn map<U>(self, value: impl Fn(T) -> U) -> Answer<U> {
        match self {
            Answer::Absent => Answer::Absent,
            Answer::Found(found) => Answer::Found(value(found)),
            Answer::OneOf(several) => Answer::OneOf(several.into_iter().map(value).collect()),
            Answer::Undecided => Answer::Undecided,
        }
    }
}

impl<T: PartialEq> Answer<T> {
    /// Whether the key can have this value.
    pub fn allows(&self, value: &T) -> bool {
        match self {
            Answer::Absent => false,
            Answer::Found(found) => found == value,
            Answer::OneOf(several) => several.contains(value),
            Answer::Undecided => true,
        }
    }
}

impl Answer<u32> {
    /// The answer for these candidates, in ascending order.
    pub(super) fn of(mut candidates: impl Iterator<Item = u32>) -> Answer<u32> {
        let Some(first) = candidates.next() else { return Answer::Absent };
        let Some(second) = candidates.next() else { return Answer::Found(first) };
        let mut found = vec![first, second];
        found.extend(candidates.take(Self::ONE_OF_MAX - 1));
        if found.len() > Self::ONE_OF_MAX { Answer::Undecided } else { Answer::OneOf(found) }
    }

    /// What two filters say about a key that is in one of them at most.
    pub fn or(self, other: Answer<u32>) -> Answer<u32> {
        let candidates = |answer: &Answer<u32>| match answer {
            Answer::Absent => Some(vec![]),
            Answer::Found(value) => Some(vec![*value]),
            Answer::OneOf(values) => Some(values.clone()),
            Answer::Undecided => None,
        };
        match (candidates(&self), candidates(&other)) {
            (Some(mut all), Some(more)) => {
                all.extend(more);
                all.sort_unstable();
                all.dedup();
                Answer::of(all.into_iter())
            }
            _ => Answer::Undecided,
        }
    }
}

/// What became of an update or a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// It was done.
    Done,
    /// The key is not in the store; nothing was written.
    Absent,
    /// The key's value is not decided, and both operations need it; nothing was written, and the key
    /// keeps its value.
    Undecided,
}
