//! The words of `KBF.CREATE`, and the parameters that they stand for.

use acsm_filters::HashKey;
use acsm_filters::kv::{CodeChoice, Decoding, KbfParameters, KvSpec};

use crate::arguments::{Arguments, shown, syntax, unexpected, upper};
use crate::error::CommandError;

/// The parameters that these arguments ask for.
pub fn parameters(mut arguments: Arguments<'_>) -> Result<KbfParameters, CommandError> {
    let mut spec = KvSpec::new(1, 1);
    let (mut values, mut capacity, mut cells, mut hashes) = (None, None, None, None);
    let mut seen: Vec<String> = vec![];
    while let Some(word) = arguments.next() {
        let name = upper(word);
        if seen.contains(&name) {
            return Err(syntax(format!("{name} comes twice")));
        }
        match name.as_str() {
            "VALUES" => values = Some(arguments.number_of("VALUES", 1)?),
            "CAPACITY" => capacity = Some(arguments.number_of("CAPACITY", 1)?),
            "CELLS" => cells = Some(arguments.number_of("CELLS", 1)?),
            "HASHES" => hashes = Some(arguments.number_of("HASHES", 1)?),
            "ERROR" => spec.rate = rate(arguments.value_of("ERROR")?)?,
            "HASHKEY" => spec.hash_key = hash_key(arguments.value_of("HASHKEY")?)?,
            "CODES" => spec.codes = codes(arguments.value_of("CODES")?)?,
            "DECODE" => spec.decoding = decoding(arguments.value_of("DECODE")?)?,
            "NOSALT" => spec.salted = false,
            _ => return Err(unexpected(word)),
        }
        seen.push(name);
    }
    let Some(values) = values else { return Err(syntax("VALUES is missing".to_owned())) };
    spec.values = usize::try_from(values).unwrap_or(usize::MAX);
    match (cells, hashes, capacity) {
        (None, None, Some(capacity)) => {
            Ok(KbfParameters::new(&KvSpec { pairs: capacity, ..spec })?)
        }
        (Some(cells), Some(hashes), capacity) => {
            let hashes = usize::try_from(hashes).unwrap_or(usize::MAX);
            let computed = KbfParameters::with_cells(&spec, cells, hashes)?;
            Ok(KbfParameters { capacity: capacity.unwrap_or(computed.capacity), ..computed })
        }
        (None, None, None) => Err(syntax("CAPACITY, or CELLS and HASHES, is missing".to_owned())),
        _ => Err(syntax("CELLS and HASHES belong together".to_owned())),
    }
}

/// Arguments that give exactly these parameters, on any server: nothing is computed from them.
pub fn arguments(parameters: &KbfParameters) -> Vec<String> {
    let KbfParameters { values, hashes, capacity, rate, hash_key, .. } = *parameters;
    let (cells, codes) = (parameters.cells(), parameters.family.name().to_ascii_uppercase());
    let decode = decoding_name(parameters.decoding).to_ascii_uppercase();
    let text = format!(
        "VALUES {values} CELLS {cells} HASHES {hashes} CAPACITY {capacity} ERROR {rate:e} \
         HASHKEY {:032x} CODES {codes} DECODE {decode}",
        hash_key.bits()
    );
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    if !parameters.salted {
        words.push("NOSALT".to_owned());
    }
    words
}

fn rate(given: &[u8]) -> Result<f64, CommandError> {
    let rate = std::str::from_utf8(given).ok().and_then(|text| text.parse().ok());
    rate.ok_or_else(|| syntax(format!("ERROR {} is not a number", shown(given))))
}

fn hash_key(given: &[u8]) -> Result<HashKey, CommandError> {
    let is_hex = given.len() == 32 && given.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(given).ok().filter(|_| is_hex);
    match text.and_then(|text| u128::from_str_radix(text, 16).ok()) {
        Some(bits) => Ok(HashKey::from_bits(bits)),
        None => Err(syntax("HASHKEY is not 32 hexadecimal digits".to_owned())),
    }
}

fn codes(given: &[u8]) -> Result<CodeChoice, CommandError> {
    match upper(given).as_str() {
        "ALGEBRAIC" => Ok(CodeChoice::Algebraic),
        "GREEDY" => Ok(CodeChoice::Greedy),
        _ => Err(syntax(format!("CODES {} is neither ALGEBRAIC nor GREEDY", shown(given)))),
    }
}

fn decoding(given: &[u8]) -> Result<Decoding, CommandError> {
    let all = [Decoding::Joint, Decoding::Option1, Decoding::Option2, Decoding::Literal];
    let name = upper(given).to_ascii_lowercase();
    let found = all.into_iter().find(|&decoding| decoding_name(decoding) == name);
    found.ok_or_else(|| syntax(format!("DECODE {} is not JOINT, 1, 2 or LITERAL", shown(given))))
}

/// The name of a decoding, as `acsm kv` has it.
pub const fn decoding_name(decoding: Decoding) -> &'static str {
    match decoding {
        Decoding::Joint => "joint",
        Decoding::Option1 => "1",
        Decoding::Option2 => "2",
        Decoding::Literal => "literal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<KbfParameters, String> {
        let words: Vec<&[u8]> = text.split_whitespace().map(str::as_bytes).collect();
        parameters(Arguments::new(&words)).map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_are_computed_or_given() {
        let sized = parse("VALUES 3000 CAPACITY 10000").unwrap();
        assert_eq!(sized, KbfParameters::new(&KvSpec::new(10_000, 3000)).unwrap());
        let given = parse("values 100 cells 1000 hashes 3 capacity 77 error 1e-2 nosalt").unwrap();
        assert_eq!((given.cells(), given.hashes, given.capacity), (1008, 3, 77));
        assert_eq!((given.values, given.rate, given.salted), (128, 0.01, false));
        let computed = parse("VALUES 100 CELLS 1000 HASHES 3").unwrap();
        assert!(computed.capacity > 0 && computed.capacity != 77);
    }

    #[test]
    fn arguments_give_the_same_parameters_again() {
        for text in [
            "VALUES 3000 CAPACITY 10000",
            "VALUES 20000 CAPACITY 123 ERROR 0.00037 DECODE LITERAL",
            "VALUES 4213 CELLS 100 HASHES 7 CODES GREEDY DECODE 2 NOSALT",
            "VALUES 5 CAPACITY 9 HASHKEY 0f0e0d0c0b0a09080706050403020100 DECODE 1",
        ] {
            let first = parse(text).unwrap();
            assert_eq!(parse(&arguments(&first).join(" ")), Ok(first), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (text, what) in [
            ("", "syntax error: VALUES is missing"),
            ("VALUES 3", "syntax error: CAPACITY, or CELLS and HASHES, is missing"),
            ("VALUES 3 CELLS 3", "syntax error: CELLS and HASHES belong together"),
            ("VALUES 3 CAPACITY 3 HASHES 3", "syntax error: CELLS and HASHES belong together"),
            ("VALUES 0 CAPACITY 3", "syntax error: VALUES '0' is not a number from 1 on"),
            ("VALUES 3 CAPACITY 3 ERROR x", "syntax error: ERROR 'x' is not a number"),
            (
                "VALUES 3 CAPACITY 3 ERROR NaN",
                "an error rate of NaN; it must be from 1e-12 up to 0.5",
            ),
            ("VALUES 3 HASHKEY +1", "syntax error: HASHKEY is not 32 hexadecimal digits"),
            ("VALUES 3 CODES x", "syntax error: CODES 'x' is neither ALGEBRAIC nor GREEDY"),
            ("VALUES 3 DECODE x", "syntax error: DECODE 'x' is not JOINT, 1, 2 or LITERAL"),
            ("x", "syntax error: 'x' is not expected here"),
        ] {
            assert_eq!(parse(text).unwrap_err(), format!("ERR {what}"), "{text}");
        }
        let most = i64::MAX;
        for text in [
            format!("VALUES {most} CAPACITY 3"),
            format!("VALUES 3 CAPACITY {most}"),
            format!("VALUES 3 CELLS {most} HASHES 3"),
            format!("VALUES 3 CELLS 3 HASHES {most}"),
        ] {
            assert!(parse(&text).is_err(), "{text}");
        }
    }
}
