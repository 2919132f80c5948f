//! A handle on one interface: opened, read frame by frame, and opened again when it was away.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pcap::{Active, Capture, Precision};

use super::super::counts::{TapCounts, Unwrapped};
use super::super::{Change, LiveCounts, LiveError, LiveOptions};
use super::fanout::Group;
use super::interfaces::why_not;
use super::offloads::merging_offloads;
use crate::capture::LinkType;
use crate::time::{NANOS_PER_SEC, Timestamp};

/// How long an interface that went away is left alone before it is tried again.
const RETRY_NANOS: u64 = NANOS_PER_SEC;
/// The kernel is asked for its counts after so many frames, or when there are none.
const FRAMES_PER_COUNT: u32 = 4096;

/// How soon frames are with us.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The kernel hands a block of frames over after this time, full or not.
    block_millis: i32,
    /// A frame is with us at the latest so long after it was captured: twice the block time, and some
    /// for being late. What is older cannot be overtaken any more.
    pub latest_nanos: u64,
}

impl Pace {
    /// Where frames wait for each other to be merged, they come soon. Else in larger blocks: of these
    /// the kernel's buffer holds more when nobody takes them.
    pub fn of(options: &LiveOptions) -> Pace {
        match options.interfaces.len() > 1 || options.capture_threads > 1 {
            true => Pace { block_millis: 20, latest_nanos: NANOS_PER_SEC / 8 },
            false => Pace { block_millis: 100, latest_nanos: NANOS_PER_SEC / 4 },
        }
    }
}

/// A frame, copied: the next one of an interface, or the one being looked at.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub time: Timestamp,
    pub wire_bytes: u32,
    pub bytes: Vec<u8>,
    /// Whether there is one.
    pub is_there: bool,
}

/// Which interface to open, and what goes with it.
pub(super) struct TapPlan {
    /// Its number in the options.
    pub at: usize,
    pub counts: Arc<LiveCounts>,
    /// Those who share it, if it is shared.
    pub group: Option<Arc<Group>>,
}

/// A handle on one interface.
pub(super) struct Tap {
    name: String,
    plan: TapPlan,
    /// `None` while the interface is away.
    handle: Option<Capture<Active>>,
    pub link_type: LinkType,
    /// Its next frame.
    pub head: Held,
    /// Until there is one from after it, frames are left out: those that share the interface have
    /// them too.
    not_before: Timestamp,
    retry_at: Timestamp,
    kernel_drops: Unwrapped,
    interface_drops: Unwrapped,
    frames_until_count: u32,
    /// Longer frames cannot have come over the wire as they are.
    longest_bytes: u32,
}

impl Tap {
    /// Opens an interface of `options`.
    pub fn open(options: &LiveOptions, plan: TapPlan) -> Result<Tap, LiveError> {
        let name = options.interfaces.get(plan.at).cloned().unwrap_or_default();
        let handle = open(options, &name, plan.group.as_deref())?;
        let tap = Tap {
            link_type: link_type(&handle),
            longest_bytes: longest_frame(&name),
            name,
            plan,
            handle: Some(handle),
            head: Held::default(),
            not_before: Timestamp::default(),
            retry_at: Timestamp::default(),
            kernel_drops: Unwrapped::default(),
            interface_drops: Unwrapped::default(),
            frames_until_count: FRAMES_PER_COUNT,
        };
        tap.counts().map(TapCounts::opened);
        tap.tell_of_merging(options.on_change);
        Ok(tap)
    }

    fn tell_of_merging(&self, on_change: fn(Change<'_>)) {
        let Some(handle) = &self.handle else { return };
        let offloads = merging_offloads(handle.as_fd(), &self.name);
        if !offloads.is_empty() && self.counts().is_some_and(TapCounts::merged) {
            on_change(Change::Merging { interface: &self.name, offloads: &offloads });
        }
    }

    /// What to wait for; `None` while the interface is away.
    pub fn handle(&self) -> Option<&Capture<Active>> {
        self.handle.as_ref()
    }

    /// Whether there is nothing to wait for.
    pub fn is_away(&self) -> bool {
        self.handle.is_none()
    }

    /// What was dropped so far does not count.
    pub fn forget_drops(&mut self) {
        if let Some(Ok(stat)) = self.handle.as_mut().map(Capture::stats) {
            self.kernel_drops.growth(stat.dropped);
            self.interface_drops.growth(stat.if_dropped);
        }
    }

    /// Leaves out what was captured before `start`.
    pub fn begin_at(&mut self, start: Timestamp) {
        self.not_before = start;
    }

    /// Takes the next frame in, if one has come and none is held yet.
    #[inline]
    pub fn fill(&mut self, on_change: fn(Change<'_>)) {
        while let (false, Some(handle)) = (self.head.is_there, &mut self.handle) {
            match handle.next_packet() {
                Ok(packet) => {
                    self.head.time = time_of(packet.header);
                    self.head.wire_bytes = packet.header.len;
                    self.head.bytes.clear();
                    self.head.bytes.extend_from_slice(packet.data);
                    if self.head.time >= self.not_before {
                        // From here on a clock that is set back leaves nothing out.
                        self.not_before = Timestamp::default();
                        self.head.is_there = true;
                    }
                    self.look_at_head(on_change);
                }
                Err(pcap::Error::TimeoutExpired | pcap::Error::NoMorePackets) => return,
                Err(error) => self.lose(&words(&error), on_change),
            }
        }
    }

    #[inline]
    fn look_at_head(&mut self, on_change: fn(Change<'_>)) {
        if self.head.wire_bytes > self.longest_bytes {
            self.longest_bytes = u32::MAX;
            if self.counts().is_some_and(TapCounts::merged) {
                on_change(Change::Merged { interface: &self.name });
            }
        }
        self.frames_until_count = self.frames_until_count.saturating_sub(1);
        if self.frames_until_count == 0 {
            self.ask_kernel();
        }
    }

    /// Asks the kernel how many frames it dropped.
    pub fn ask_kernel(&mut self) {
        self.frames_until_count = FRAMES_PER_COUNT;
        let Some(Ok(stat)) = self.handle.as_mut().map(Capture::stats) else { return };
        let kernel = self.kernel_drops.growth(stat.dropped);
        let interface = self.interface_drops.growth(stat.if_dropped);
        if let Some(counts) = self.counts() {
            counts.kernel_drops.fetch_add(kernel, Ordering::Relaxed);
            counts.interface_drops.fetch_add(interface, Ordering::Relaxed);
        }
    }

    /// Tries an interface that is away, not more often than once a second.
    pub fn try_again(&mut self, options: &LiveOptions, now: Timestamp) {
        if self.handle.is_some() || now < self.retry_at {
            return;
        }
        self.retry_at = now.plus(RETRY_NANOS);
        let group = self.plan.group.as_deref();
        let Ok(handle) = open(options, &self.name, group) else { return };
        if group.is_some() {
            self.begin_at((options.clock)());
        }
        self.link_type = link_type(&handle);
        self.handle = Some(handle);
        if self.counts().is_some_and(TapCounts::opened) {
            (options.on_change)(Change::Back { interface: &self.name });
        }
    }

    #[cold]
    fn lose(&mut self, why: &str, on_change: fn(Change<'_>)) {
        self.ask_kernel();
        self.handle = None;
        // A new handle counts from the beginning.
        (self.kernel_drops, self.interface_drops) = Default::default();
        if self.counts().is_some_and(TapCounts::lost) {
            on_change(Change::Gone { interface: &self.name, why });
        }
    }

    fn counts(&self) -> Option<&TapCounts> {
        self.plan.counts.tap(self.plan.at)
    }
}

fn open(
    options: &LiveOptions,
    name: &str,
    group: Option<&Group>,
) -> Result<Capture<Active>, LiveError> {
    let wrong = |error: pcap::Error| why_not(name, &words(&error));
    let int = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    let mut handle = Capture::from_device(name)
        .map_err(wrong)?
        .promisc(options.promiscuous)
        .snaplen(int(options.snaplen_bytes))
        .buffer_size(int(options.buffer_bytes))
        .timeout(Pace::of(options).block_millis)
        .precision(Precision::Nano)
        .open()
        .and_then(Capture::setnonblock)
        .map_err(wrong)?;
    if let Some(expression) = &options.filter {
        handle.filter(expression, true).map_err(|error| LiveError::Filter {
            expression: expression.clone(),
            message: words(&error),
        })?;
    }
    if let Some(group) = group {
        group.join(handle.as_fd()).map_err(|error| LiveError::NotShared {
            interface: name.to_owned(),
            message: error.to_string(),
        })?;
    }
    Ok(handle)
}

/// Room for link headers and tags beyond the MTU.
const HEADERS_BYTES: u32 = 64;

/// How long a frame of this interface can be, where the system tells its MTU.
fn longest_frame(name: &str) -> u32 {
    // Names come from the user: none of them may lead elsewhere.
    let is_plain = !name.contains('/') && !name.starts_with('.');
    let mtu = is_plain.then(|| std::fs::read_to_string(format!("/sys/class/net/{name}/mtu")));
    let mtu = mtu.and_then(Result::ok).and_then(|text| text.trim().parse::<u32>().ok());
    mtu.map_or(u32::MAX, |mtu| mtu.saturating_add(HEADERS_BYTES))
}

fn link_type(handle: &Capture<Active>) -> LinkType {
    let number = u16::try_from(handle.get_datalink().0).unwrap_or(u16::MAX);
    match LinkType(number) {
        // The one number that differs between libpcap's own and those in files.
        LinkType::RAW_BSD | LinkType::RAW_OPENBSD => LinkType::RAW,
        other => other,
    }
}

/// With nanosecond precision, libpcap puts nanoseconds where microseconds would be.
#[inline]
fn time_of(header: &pcap::PacketHeader) -> Timestamp {
    let secs = u64::try_from(header.ts.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(header.ts.tv_usec).unwrap_or(0);
    Timestamp::new(secs, nanos)
}

pub(super) fn words(error: &pcap::Error) -> String {
    match error {
        pcap::Error::PcapError(message) => message.clone(),
        other => other.to_string(),
    }
}
