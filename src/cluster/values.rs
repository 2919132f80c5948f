//! The different values of a store, and their codes: a hash in the cluster, and this client's copy.
//!
//! Codes count from 0 in the order in which values come. A new one is handed out by a script, so that
//! clients never give a code to two values; it is used when a replica has it, as a code that is lost in a
//! failover and handed out again would make answers wrong.

use std::collections::HashMap;

use redis::Value;

use super::error::ClusterError;
use super::layout::{slot_of, values_key};
use super::router::{Request, Router};
use acsm_filters::kv::{KvError, VALUE_BYTES_LIMIT};

/// The codes of the values in ARGV from the second on; those that are new get the next ones.
const SCRIPT: &str = "\
local limit, codes = tonumber(ARGV[1]), {}
for at = 2, #ARGV do
    local code = redis.call('HGET', KEYS[1], ARGV[at])
    if not code then
        code = redis.call('HLEN', KEYS[1])
        if code >= limit then return redis.error_reply('KBFVALUES ' .. limit) end
        redis.call('HSET', KEYS[1], ARGV[at], code)
    end
    codes[#codes + 1] = tonumber(code)
end
return codes";

/// How many values are read or handed out at once.
const PAGE: usize = 1000;

/// This client's copy of the values.
pub struct Values {
    key: String,
    limit: u32,
    list: Vec<Vec<u8>>,
    codes: HashMap<Vec<u8>, u32>,
}

impl Values {
    /// No values yet; there can be `limit`.
    pub fn new(prefix: &str, limit: u32) -> Values {
        Values { key: values_key(prefix), limit, list: vec![], codes: HashMap::new() }
    }

    /// How many are known.
    pub fn count(&self) -> u32 {
        self.list.len() as u32
    }

    /// The value with this code.
    pub fn value(&self, code: u32) -> Option<&[u8]> {
        self.list.get(code as usize).map(Vec::as_slice)
    }

    /// The command that tells how many values there are.
    pub fn count_request(&self) -> Request {
        Request::new(slot_of(&self.key), redis::cmd("HLEN").arg(&self.key))
    }

    /// Reads all values if there are more than are known.
    pub fn refresh(&mut self, router: &mut Router, count: u32) -> Result<(), ClusterError> {
        if count <= self.count() {
            return Ok(());
        }
        let what = || format!("reading {}", self.key);
        let unexpected = || ClusterError::reply(what());
        let mut by_code: Vec<Option<Vec<u8>>> = vec![];
        let mut cursor = b"0".to_vec();
        loop {
            let mut scan = redis::cmd("HSCAN");
            scan.arg(&self.key).arg(cursor.as_slice()).arg("COUNT").arg(PAGE);
            let reply = router.run_one(Request::new(slot_of(&self.key), &scan))?;
            let page = reply.map_err(|error| ClusterError::Refused { what: what(), error })?;
            let (next, pairs): (Vec<u8>, Vec<(Vec<u8>, u32)>) =
                redis::from_redis_value(page).map_err(|_| unexpected())?;
            for (value, code) in pairs {
                let at = code as usize;
                if code >= self.limit {
                    return Err(unexpected());
                }
                by_code.resize(by_code.len().max(at + 1), None);
                by_code[at] = Some(value);
            }
            cursor = next;
            if cursor == b"0" {
                break;
            }
        }
        // A value that is added while the hash is read may be missed, and a later one read.
        self.list = by_code.into_iter().map_while(|value| value).collect();
        let codes = self.list.iter().zip(0..).map(|(value, code)| (value.clone(), code));
        self.codes = codes.collect();
        Ok(())
    }

    /// The codes of values; those that are new get one.
    pub fn codes<'v>(
        &mut self,
        router: &mut Router,
        values: impl Iterator<Item = &'v [u8]> + Clone,
    ) -> Result<Vec<u32>, ClusterError> {
        let mut new: Vec<&[u8]> = vec![];
        let mut seen: HashMap<&[u8], ()> = HashMap::new();
        for value in values.clone().filter(|value| !self.codes.contains_key(*value)) {
            let bytes = value.len();
            if bytes >= VALUE_BYTES_LIMIT {
                return Err(KvError::ValueTooLong { bytes, limit: VALUE_BYTES_LIMIT }.into());
            }
            if seen.insert(value, ()).is_none() {
                new.push(value);
            }
        }
        for page in new.chunks(PAGE) {
            self.assign(router, page)?;
        }
        let code = |value: &[u8]| self.codes.get(value).copied();
        let codes: Option<Vec<u32>> = values.map(code).collect();
        codes.ok_or_else(|| ClusterError::reply(format!("codes of {}", self.key)))
    }

    /// Gives codes to values, and notes them here when a replica has them.
    fn assign(&mut self, router: &mut Router, values: &[&[u8]]) -> Result<(), ClusterError> {
        let mut codes = self.hand_out(router, values)?;
        loop {
            wait_for_replica(router, slot_of(&self.key))?;
            let now = self.hand_out(router, values)?;
            if now == codes {
                break;
            }
            codes = now; // those before were lost in a failover
        }
        for (value, code) in values.iter().zip(codes) {
            let at = code as usize;
            if at > self.list.len() {
                // Other clients have added values in between.
                self.refresh(router, code + 1)?;
            }
            if at == self.list.len() {
                self.list.push(value.to_vec());
            }
            if self.value(code) != Some(*value) {
                return Err(ClusterError::reply(format!("codes of {}", self.key)));
            }
            self.codes.insert(value.to_vec(), code);
        }
        Ok(())
    }

    /// The codes that the cluster has for values; those that are new get one. A repetition changes nothing.
    fn hand_out(&self, router: &mut Router, values: &[&[u8]]) -> Result<Vec<u32>, ClusterError> {
        let mut script = redis::cmd("EVAL");
        script.arg(SCRIPT).arg(1).arg(&self.key).arg(self.limit);
        for value in values {
            script.arg(*value);
        }
        let reply = router.run_one(Request::new(slot_of(&self.key), &script))?;
        let what = || format!("codes of {}", self.key);
        match reply {
            Err(error) if error.code() == "KBFVALUES" => {
                Err(KvError::ValuesInUse { values: self.limit as usize }.into())
            }
            Err(error) => Err(ClusterError::Refused { what: what(), error }),
            Ok(value) => redis::from_redis_value(value).map_err(|_| ClusterError::reply(what())),
        }
    }
}

/// Waits a second at most until a replica of the server of a slot has what this client wrote to it.
pub(super) fn wait_for_replica(router: &mut Router, slot: u16) -> Result<(), ClusterError> {
    let topology = router.topology();
    let owner = topology.owner(slot).map(|owner| &topology.servers[owner]);
    if owner.is_some_and(|server| !server.replicas.is_empty()) {
        let request = Request::new(slot, redis::cmd("WAIT").arg(1).arg(1000));
        match router.run_one(request)? {
            Ok(Value::Int(_)) => {}
            Ok(_) => return Err(ClusterError::reply("waiting for a replica")),
            Err(error) => {
                let what = "waiting for a replica".to_owned();
                return Err(ClusterError::Refused { what, error });
            }
        }
    }
    Ok(())
}
