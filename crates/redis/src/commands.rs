//! The commands: arguments, the slab of the key, the operation, replication, the reply.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use acsm_filters::kv::slab::{self, CodesCache, Slab, SlabMut, Written};
use valkey_module::key::ValkeyKeyWritable;
use valkey_module::{Context, KeyType, ValkeyResult, ValkeyString, ValkeyValue};
use valkey_module_macros::command;

use crate::arguments::{Allowed, Arguments, unexpected, upper};
use crate::create;
use crate::error::CommandError;
use crate::replies::{self, integer};

/// Codes of values, for all slabs of the server.
static CODES: Mutex<CodesCache> = Mutex::new(CodesCache::new());

/// What errors call the bytes of the key.
const VALUE: &str = "the value of the key";

/// A command that reads, with panics caught.
fn reading(
    ctx: &Context,
    args: &[ValkeyString],
    read: impl FnOnce(&[u8], Arguments<'_>, &mut CodesCache) -> Result<ValkeyValue, CommandError>,
) -> ValkeyResult {
    caught(args, |name, arguments| {
        let key = ctx.open_key(name);
        match key.key_type() {
            KeyType::Empty => return Err(CommandError::NoKey),
            KeyType::String => {}
            _ => return Err(CommandError::WrongType),
        }
        let bytes = key.read()?.ok_or(CommandError::NoKey)?;
        read(bytes, arguments, &mut CODES.lock().unwrap_or_else(PoisonError::into_inner))
    })
    .unwrap_or_else(internal_error)
}

/// A command that writes, with panics caught. It is replicated unless it is refused or a repeat, and
/// also if it panics: whatever it wrote until then, a replica writes as well.
fn writing(
    ctx: &Context,
    args: &[ValkeyString],
    write: impl FnOnce(
        &ValkeyKeyWritable,
        Arguments<'_>,
        &mut CodesCache,
    ) -> Result<ValkeyValue, CommandError>,
) -> ValkeyResult {
    let result = caught(args, |name, arguments| {
        let key = ctx.open_key_writable(name);
        match key.key_type() {
            KeyType::Empty => return Err(CommandError::NoKey),
            KeyType::String => {}
            _ => return Err(CommandError::WrongType),
        }
        write(&key, arguments, &mut CODES.lock().unwrap_or_else(PoisonError::into_inner))
    });
    if !matches!(result, Some(Err(_) | Ok(ValkeyValue::Null))) {
        ctx.replicate_verbatim();
    }
    result.unwrap_or_else(internal_error)
}

/// Runs a command with its key and the arguments after it; `None` if it panics.
fn caught(
    args: &[ValkeyString],
    run: impl FnOnce(&ValkeyString, Arguments<'_>) -> Result<ValkeyValue, CommandError>,
) -> Option<ValkeyResult> {
    let run = || {
        let [_, key, rest @ ..] = args else { return Err(CommandError::NoKey) };
        let rest: Vec<&[u8]> = rest.iter().map(ValkeyString::as_slice).collect();
        run(key, Arguments::new(&rest))
    };
    let result = catch_unwind(AssertUnwindSafe(run)).ok()?;
    Some(result.map_err(CommandError::reply))
}

fn internal_error() -> ValkeyResult {
    let what = "a defect of the module: its log has the place";
    Err(CommandError::Invalid(what.to_owned()).reply())
}

#[command({
    name: "kbf.create",
    flags: [Write, DenyOOM],
    arity: -6,
    summary: "Creates an empty key-value Bloom filter",
    complexity: "O(m) for m cells",
    since: "1.0.0",
    key_spec: [{
        flags: [Overwrite, Insert],
        begin_search: Index({ index: 1 }),
        find_keys: Range({ last_key: 0, steps: 1, limit: 0 })
    }]
})]
fn create(ctx: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    caught(&args, |name, arguments| {
        let parameters = create::parameters(arguments)?;
        let bytes = slab::create(&parameters).map_err(|error| CommandError::Slab { error })?;
        let key = ctx.open_key_writable(name);
        if !key.is_empty() {
            return Err(CommandError::KeyExists);
        }
        let words = create::arguments(&parameters);
        let mut replicated: Vec<&[u8]> = vec![name.as_slice()];
        replicated.extend(words.iter().map(String::as_bytes));
        key.as_string_dma()?.write(&bytes)?;
        ctx.replicate("kbf.create", replicated.as_slice());
        Ok(ValkeyValue::SimpleStringStatic("OK"))
    })
    .unwrap_or_else(internal_error)
}

#[command({
    name: "kbf.insert",
    flags: [Write],
    arity: -4,
    summary: "Adds items with their values",
    complexity: "O(N * k) for N items and k hashes",
    since: "1.0.0",
    key_spec: [{
        flags: [ReadWrite, Insert],
        begin_search: Index({ index: 1 }),
        find_keys: Range({ last_key: 0, steps: 1, limit: 0 })
    }]
})]
fn insert(ctx: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    writing(ctx, &args, |key, arguments, codes| {
        let allowed = Allowed { batch: true, below: false };
        let (options, items) = arguments.options_and_items(allowed)?;
        let mut bytes = key.as_string_dma()?;
        let mut slab = SlabMut::open(&mut bytes, codes).map_err(CommandError::about(VALUE))?;
        let pairs = items.pairs(slab.parameters().hash_key)?;
        let written = slab.insert(options.batch, &pairs).map_err(CommandError::about(VALUE))?;
        Ok(replies::written(written, integer))
    })
}

#[command({
    name: "kbf.query",
    flags: [ReadOnly],
    arity: -4,
    summary: "The values of items",
    complexity: "O(N * k) for N items and k hashes",
    since: "1.0.0",
    key_spec: [{
        flags: [ReadOnly, Access],
        begin_search: Index({ index: 1 }),
        find_keys: Range({ last_key: 0, steps: 1, limit: 0 })
    }]
})]
fn query(ctx: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    reading(ctx, &args, |bytes, arguments, codes| {
        let allowed = Allowed { batch: false, below: true };
        let (options, items) = arguments.options_and_items(allowed)?;
        let slab = Slab::open(bytes, codes).map_err(CommandError::about(VALUE))?;
        let digests = items.digests(slab.parameters().hash_key)?;
        let below = options.below.unwrap_or(u32::MAX);
        if items.is_packed() {
            let mut answers = replies::PackedAnswers::for_items(digests.len());
            slab.query(below, &digests, |answer| answers.push(answer))?;
            Ok(answers.reply())
        } else {
            let mut answers = Vec::with_capacity(digests.len());
            slab.query(below, &digests, |answer| answers.push(replies::answer(answer)))?;
            Ok(ValkeyValue::Array(answers))
        }
    })
}

#[command({
    name: "kbf.update",
    flags: [Write],
    arity: -4,
    summary: "Changes the values of items",
    complexity: "O(N * k) for N items and k hashes",
    since: "1.0.0",
    key_spec: [{
        flags: [ReadWrite, Update, Access],
        begin_search: Index({ index: 1 }),
        find_keys: Range({ last_key: 0, steps: 1, limit: 0 })
    }]
})]
fn update(ctx: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    writing(ctx, &args, |key, arguments, codes| {
        let allowed = Allowed { batch: true, below: true };
        let (options, items) = arguments.options_and_items(allowed)?;
        let mut bytes = key.as_string_dma()?;
        let mut slab = SlabMut::open(&mut bytes, codes).map_err(CommandError::about(VALUE))?;
        let pairs = items.pairs(slab.parameters().hash_key)?;
        let below = options.below.unwrap_or(u32::MAX);
        let mut outcomes = Vec::with_capacity(pairs.len());
        let written = slab.update(options.batch, below, &pairs, |outcome| outcomes.push(outcome));
        let written = written.map_err(CommandError::about(VALUE))?;
        Ok(replies::written(written, |()| replies::outcomes(&outcomes, items.is_packed())))
    })
}

#[command({
    name: "kbf.delete",
    flags: [Write],
    arity: -4,
    summary: "Removes items and their values",
    complexity: "O(N * k) for N items and k hashes",
    since: "1.0.0",
    key_spec: [{
        flags: [ReadWrite, Delete, Access],
        begin_search: Index({ index: 1 }),
        find_keys: Range({ last_key: 0, steps: 1, limit: 0 })
    }]
})]
fn delete(ctx: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    writing(ctx, &args, |key, arguments, codes| {
        let allowed = Allowed { batch: true, below: true };
        let (options, items) = arguments.options_and_items(allowed)?;
        let mut bytes = key.as_string_dma()?;
        let mut slab = SlabMut::open(&mut bytes, codes).map_err(CommandError::about(VALUE))?;
        let digests = items.digests(slab.parameters().hash_key)?;
        let below = options.below.unwrap_or(u32::MAX);
        let mut outcomes = Vec::with_capacity(digests.len());
        let written = slab.delete(options.batch, below, &digests, |outcome| outcomes.push(outcome));
        let written = written.map_err(CommandError::about(VALUE))?;
        Ok(replies::written(written, |()| replies::outcomes(&outcomes, items.is_packed())))
    })
}

#[command({
    name: "kbf.join",
    flags: [Write],
    arity: -4,
    summary: "Adds all pairs of another slab, whose bytes are given",
    complexity: "O(m) for m cells",
    since: "1.0.0",
    key_spec: [{
        flags: [ReadWrite, Update],
        begin_search: Index({ index: 1 }),
        find_keys: Range({ last_key: 0, steps: 1, limit: 0 })
    }]
})]
fn join(ctx: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    writing(ctx, &args, |key, arguments, codes| {
        let (batch, other) = arguments.batch_and("VALUE")?;
        let other = Slab::open(other, codes).map_err(CommandError::about("the value given"))?;
        let mut bytes = key.as_string_dma()?;
        let mut slab = SlabMut::open(&mut bytes, codes).map_err(CommandError::about(VALUE))?;
        let written = slab.join(batch, &other).map_err(CommandError::about(VALUE))?;
        Ok(replies::written(written, integer))
    })
}

#[command({
    name: "kbf.compress",
    flags: [Write],
    arity: -2,
    summary: "Halves the cells of a slab",
    complexity: "O(m) for m cells",
    since: "1.0.0",
    key_spec: [{
        flags: [ReadWrite, Update],
        begin_search: Index({ index: 1 }),
        find_keys: Range({ last_key: 0, steps: 1, limit: 0 })
    }]
})]
fn compress(ctx: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    writing(ctx, &args, |key, arguments, codes| {
        let batch = arguments.batch()?;
        let mut bytes = key.as_string_dma()?;
        let written = slab::compressed(&bytes, batch, codes).map_err(CommandError::about(VALUE))?;
        if let Written::Applied(half) = &written {
            bytes.write(half)?;
        }
        Ok(replies::written(written, |half| integer(half.len() as u64)))
    })
}

#[command({
    name: "kbf.info",
    flags: [ReadOnly],
    arity: -2,
    summary: "Parameters and counts of a slab, and the last batch of each client",
    complexity: "O(1)",
    since: "1.0.0",
    key_spec: [{
        flags: [ReadOnly, Access],
        begin_search: Index({ index: 1 }),
        find_keys: Range({ last_key: 0, steps: 1, limit: 0 })
    }]
})]
fn info(ctx: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    reading(ctx, &args, |bytes, mut arguments, codes| {
        let client = match arguments.next() {
            None => None,
            Some(word) if upper(word) == "CLIENT" => Some(arguments.number_of("CLIENT", 1)?),
            Some(word) => return Err(unexpected(word)),
        };
        arguments.finish()?;
        let slab = Slab::open(bytes, codes).map_err(CommandError::about(VALUE))?;
        match client {
            Some(client) => {
                let last = slab.last_sequence(client).map_err(CommandError::about(VALUE))?;
                Ok(integer(last))
            }
            None => replies::info(ctx, &slab, bytes.len()),
        }
    })
}
