//! acsm's parser against etherparse's, on random stacks of headers, cut and damaged at random.

use acsm::capture::LinkType;
use acsm_test_support::parser_oracle;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::capture::frames::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Ipv4, TCP};

/// A segment with random flags and options, or something that is no TCP.
fn transport() -> impl Strategy<Value = (u8, Vec<u8>)> {
    prop_oneof![
        8 => (4u8..16, any::<u8>()).prop_map(|(offset, flags)| (TCP, frames::tcp_with(offset, flags))),
        1 => Just((frames::UDP, frames::udp(53, 5353, &frames::tcp()))),
        1 => (any::<u8>(), vec(any::<u8>(), 0..40)),
    ]
}

fn ipv4() -> impl Strategy<Value = Vec<u8>> {
    let fragment =
        prop_oneof![6 => Just(0), 2 => Just(0x4000), 1 => Just(0x2000), 1 => any::<u16>()];
    let length = prop_oneof![8 => Just(None), 1 => Just(Some(0)), 1 => (0u16..2000).prop_map(Some)];
    (transport(), 0usize..=10, fragment, length, any::<bool>()).prop_map(
        |((protocol, payload), option_words, fragment, total_length, is_authenticated)| {
            let (protocol, payload) = match is_authenticated {
                true => (51, frames::authentication(protocol, &payload)),
                false => (protocol, payload),
            };
            let options = vec![1; 4 * option_words];
            let header = Ipv4 { options, fragment, total_length, ..Ipv4::new(protocol) };
            header.build(&payload)
        },
    )
}

fn ipv6() -> impl Strategy<Value = Vec<u8>> {
    let extension = (select(vec![0u8, 43, 44, 51, 60, 135]), 0u8..3, select(vec![0u16, 1, 8, 0]));
    let length = prop_oneof![8 => Just(None), 1 => (0u16..2000).prop_map(Some)];
    (transport(), vec(extension, 0..4), length).prop_map(
        |((protocol, payload), extensions, length)| {
            let (mut next, mut payload) = (protocol, payload);
            for (kind, words, offset) in extensions {
                payload = match kind {
                    44 => frames::fragment_header(next, offset, &payload),
                    51 => frames::authentication(next, &payload),
                    _ => frames::extension(next, words, &payload),
                };
                next = kind;
            }
            let length = length.unwrap_or(payload.len() as u16);
            frames::ipv6_of_length(next, length, &payload)
        },
    )
}

/// A frame of Ethernet or raw IP. Now and then the EtherType is not the packet's.
fn frame() -> impl Strategy<Value = (LinkType, Vec<u8>)> {
    let packet = prop_oneof![
        ipv4().prop_map(|packet| (ETHERTYPE_IPV4, packet)),
        ipv6().prop_map(|packet| (ETHERTYPE_IPV6, packet)),
    ];
    let tags = vec((select(vec![0x8100u16, 0x88a8, 0x9100]), 0u16..4096), 0..5);
    (packet, tags, any::<bool>(), 0usize..20).prop_map(
        |((mut ethertype, mut bytes), tags, is_raw, padding)| {
            if is_raw {
                return (LinkType::RAW, bytes);
            }
            for (tpid, id) in tags {
                bytes = frames::vlan(id, ethertype, &bytes);
                ethertype = tpid;
            }
            let frame = frames::ethernet(ethertype, &bytes);
            (LinkType::ETHERNET, frames::concat(&[&frame, &vec![0; padding]]))
        },
    )
}

/// Bytes to overwrite and where to cut the capture.
fn damage() -> impl Strategy<Value = (Vec<(Index, u8)>, Option<Index>)> {
    (vec((any::<Index>(), any::<u8>()), 0..4), proptest::option::of(any::<Index>()))
}

fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

#[test]
fn acsm_and_etherparse_agree() {
    const CASES: u32 = 10_000;
    let answered = std::cell::Cell::new(0u32);
    let outcome = runner(CASES).run(&(frame(), damage()), |((link_type, mut bytes), damage)| {
        let (overwrites, cut) = damage;
        for (index, byte) in overwrites {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        let is_answered = parser_oracle::check(link_type, &bytes).is_none();
        answered.set(answered.get() + u32::from(is_answered));
        Ok(())
    });
    outcome.unwrap();
    assert!(answered.get() > CASES / 2, "the oracle answered only {} times", answered.get());
}

#[test]
fn the_fast_path_gives_what_the_walker_gives() {
    let link_types = select(vec![1u16, 12, 14, 101, 228, 229, 113, 276, 0, 108, 9, 105, 127, 239]);
    let outcome = runner(10_000).run(&(link_types, vec(any::<u8>(), 0..120)), |(link, bytes)| {
        parser_oracle::check(LinkType(link), &bytes);
        Ok(())
    });
    outcome.unwrap();
}
