//! Flow keys in a snapshot: what an exact table saves of each flow.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use acsm_filters::snapshot::{Decoder, Encoder, Persist, SnapshotError};

use super::FlowKey;

impl Persist for FlowKey {
    fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
        for address in [self.src, self.dst] {
            match address {
                IpAddr::V4(address) => {
                    out.u8(4);
                    out.bytes(&address.octets());
                }
                IpAddr::V6(address) => {
                    out.u8(6);
                    out.bytes(&address.octets());
                }
            }
        }
        for number in [self.src_port, self.dst_port, self.vlan[0], self.vlan[1]] {
            out.u16(number);
        }
    }

    fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError> {
        self.src = decode_address(input)?;
        self.dst = decode_address(input)?;
        self.src_port = input.u16()?;
        self.dst_port = input.u16()?;
        self.vlan = [input.u16()?, input.u16()?];
        Ok(())
    }
}

fn decode_address(input: &mut Decoder<'_>) -> Result<IpAddr, SnapshotError> {
    let version =
        input.checked("the version of an address", Decoder::u8, |v| [4, 6].contains(v))?;
    Ok(match version {
        4 => Ipv4Addr::from(input.array::<4>()?).into(),
        _ => Ipv6Addr::from(input.array::<16>()?).into(),
    })
}

#[cfg(test)]
mod tests {
    use acsm_filters::snapshot::{SectionKind, SnapshotReader, SnapshotWriter};
    use acsm_filters::{Backend, Epoch, Exact, FlowId, Lookup, State, Store, StoreSpec};

    use super::*;

    #[test]
    fn a_table_of_keys_is_the_same_after_loading() {
        let sizing = StoreSpec { flows: 16, ..StoreSpec::new(Backend::Exact, 6) }.sizing().unwrap();
        let empty = || Exact::<FlowKey>::growing(&sizing, true).unwrap();
        let keys = [("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2"), ("10.0.0.1", "::1")];
        let keys = keys.map(|(src, dst)| {
            let [src, dst] = [src, dst].map(|text| text.parse().unwrap());
            FlowKey { src, dst, src_port: 443, dst_port: 51_234, vlan: [7, 0] }
        });
        let mut table = empty();
        for (n, key) in (0..).zip(keys) {
            let place = table.locate(FlowId(n), key);
            table.insert(&place, State::new(n as usize).unwrap(), Epoch(0).stamp());
        }
        let mut out = SnapshotWriter::new(vec![]).unwrap();
        out.save(SectionKind::STORE, &table).unwrap();
        let saved = out.finish().unwrap();
        let mut input = SnapshotReader::new(&saved[..]).unwrap();
        let mut loaded = input.load(SectionKind::STORE, empty()).unwrap();
        for (n, key) in (0..).zip(keys) {
            let answer = |loaded: &mut Exact<FlowKey>, key| {
                let place = loaded.locate(FlowId(n), key);
                loaded.lookup(&place, Epoch(1)).answer
            };
            let state = State::new(n as usize).unwrap();
            assert_eq!(answer(&mut loaded, key), Lookup::Known(state));
            assert_eq!(answer(&mut loaded, FlowKey { vlan: [0; 2], ..key }), Lookup::Absent);
        }
    }
}
