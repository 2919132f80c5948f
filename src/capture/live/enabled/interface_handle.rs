//! A libpcap handle on one interface: opened, read frame by frame, and reopened after the interface
//! was away.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pcap::{Active, Capture, Precision};

use super::super::counts::{InterfaceCounters, KernelCounter};
use super::super::{Change, LiveCounts, LiveOptions};
use super::interfaces::{message_of, open_error};
use super::linux_sockets::{FanoutGroup, merging_offloads};
use crate::capture::{FilterError, LinkType, LiveError};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// How often an interface that is away is tried again.
const RETRY_NANOS: u64 = NANOS_PER_SEC;
/// The drop counters of the kernel are read after this many frames, and when the link is idle.
const FRAMES_PER_COUNT: u32 = 4096;

/// How long frames take from the interface to us.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeliveryDelay {
    /// The kernel delivers a block of frames after this time, full or not.
    block_millis: i32,
    /// The longest time from the capture of a frame until it can be read: twice the block time, and
    /// some reserve. No frame from before that can still come.
    pub max_nanos: u64,
}

impl DeliveryDelay {
    /// Short where frames have to be merged. Otherwise blocks are larger: then the buffer of the
    /// kernel holds more frames while they are not read.
    pub fn of(options: &LiveOptions) -> DeliveryDelay {
        match options.interfaces.len() > 1 || options.capture_threads > 1 {
            true => DeliveryDelay { block_millis: 20, max_nanos: NANOS_PER_SEC / 8 },
            false => DeliveryDelay { block_millis: 100, max_nanos: NANOS_PER_SEC / 4 },
        }
    }
}

/// A copy of a frame: the next one of an interface, or the one that was read last.
#[derive(Debug, Default)]
pub(super) struct HeldFrame {
    pub time: Timestamp,
    pub wire_bytes: u32,
    pub bytes: Vec<u8>,
    /// Whether this is a frame not read yet.
    pub is_present: bool,
}

/// Which interface to open, its counters, and the sockets it is shared with.
pub(super) struct HandleConfig {
    /// The number of the interface in the options.
    pub interface: usize,
    pub counts: Arc<LiveCounts>,
    /// The sockets that share the interface, with several capture threads.
    pub group: Option<Arc<FanoutGroup>>,
}

/// A handle on one interface.
pub(super) struct InterfaceHandle {
    name: String,
    config: HandleConfig,
    /// `None` while the interface is away.
    handle: Option<Capture<Active>>,
    pub link_type: LinkType,
    /// Its next frame.
    pub head: HeldFrame,
    /// Frames are left out until the first one from this time on: before it, the sockets that share
    /// the interface got them, too.
    not_before: Timestamp,
    retry_at: Timestamp,
    kernel_drops: KernelCounter,
    interface_drops: KernelCounter,
    frames_until_count: u32,
    /// The longest frame that the interface can carry; longer ones were merged by the system.
    max_frame_bytes: u32,
}

impl InterfaceHandle {
    /// Opens an interface of `options`.
    pub fn open(options: &LiveOptions, config: HandleConfig) -> Result<InterfaceHandle, LiveError> {
        let name = options.interfaces.get(config.interface).cloned().unwrap_or_default();
        let handle = open(options, &name, config.group.as_deref())?;
        let opened = InterfaceHandle {
            link_type: link_type(&handle),
            max_frame_bytes: max_frame_bytes(&name),
            name,
            config,
            handle: Some(handle),
            head: HeldFrame::default(),
            not_before: Timestamp::default(),
            retry_at: Timestamp::default(),
            kernel_drops: KernelCounter::default(),
            interface_drops: KernelCounter::default(),
            frames_until_count: FRAMES_PER_COUNT,
        };
        opened.counters().map(InterfaceCounters::opened);
        opened.report_merging(options.on_change);
        Ok(opened)
    }

    fn report_merging(&self, on_change: fn(Change<'_>)) {
        let Some(handle) = &self.handle else { return };
        let offloads = merging_offloads(handle.as_fd(), &self.name);
        if !offloads.is_empty() && self.counters().is_some_and(InterfaceCounters::note_merging) {
            on_change(Change::Merging { interface: &self.name, offloads: &offloads });
        }
    }

    /// The handle to wait for; `None` while the interface is away.
    pub fn handle(&self) -> Option<&Capture<Active>> {
        self.handle.as_ref()
    }

    /// Whether the interface is down or removed.
    pub fn is_away(&self) -> bool {
        self.handle.is_none()
    }

    /// Drops so far are not counted.
    pub fn forget_drops(&mut self) {
        if let Some(Ok(stat)) = self.handle.as_mut().map(Capture::stats) {
            self.kernel_drops.growth(stat.dropped);
            self.interface_drops.growth(stat.if_dropped);
        }
    }

    /// Leaves out frames captured before `start`.
    pub fn begin_at(&mut self, start: Timestamp) {
        self.not_before = start;
    }

    /// Reads the next frame into `head`, if there is one and `head` is free.
    #[inline]
    pub fn read_head(&mut self, on_change: fn(Change<'_>)) {
        while let (false, Some(handle)) = (self.head.is_present, &mut self.handle) {
            match handle.next_packet() {
                Ok(packet) => {
                    self.head.time = time_of(packet.header);
                    self.head.wire_bytes = packet.header.len;
                    self.head.bytes.clear();
                    self.head.bytes.extend_from_slice(packet.data);
                    if self.head.time >= self.not_before {
                        // From here on nothing is left out, even if the clock is set back.
                        self.not_before = Timestamp::default();
                        self.head.is_present = true;
                    }
                    self.inspect_head(on_change);
                }
                Err(pcap::Error::TimeoutExpired | pcap::Error::NoMorePackets) => return,
                Err(error) => self.lose(&message_of(&error), on_change),
            }
        }
    }

    #[inline]
    fn inspect_head(&mut self, on_change: fn(Change<'_>)) {
        if self.head.wire_bytes > self.max_frame_bytes {
            self.max_frame_bytes = u32::MAX;
            if self.counters().is_some_and(InterfaceCounters::note_merging) {
                on_change(Change::Merged { interface: &self.name });
            }
        }
        self.frames_until_count = self.frames_until_count.saturating_sub(1);
        if self.frames_until_count == 0 {
            self.read_drops();
        }
    }

    /// Reads the drop counters of the kernel.
    pub fn read_drops(&mut self) {
        self.frames_until_count = FRAMES_PER_COUNT;
        let Some(Ok(stat)) = self.handle.as_mut().map(Capture::stats) else { return };
        let kernel = self.kernel_drops.growth(stat.dropped);
        let interface = self.interface_drops.growth(stat.if_dropped);
        if let Some(counts) = self.counters() {
            counts.kernel_drops.fetch_add(kernel, Ordering::Relaxed);
            counts.interface_drops.fetch_add(interface, Ordering::Relaxed);
        }
    }

    /// Tries to reopen an interface that has disappeared, at most once per second.
    pub fn reopen(&mut self, options: &LiveOptions, now: Timestamp) {
        if self.handle.is_some() || now < self.retry_at {
            return;
        }
        self.retry_at = now.plus(RETRY_NANOS);
        let group = self.config.group.as_deref();
        let Ok(handle) = open(options, &self.name, group) else { return };
        if group.is_some() {
            self.begin_at((options.clock)());
        }
        self.link_type = link_type(&handle);
        self.handle = Some(handle);
        if self.counters().is_some_and(InterfaceCounters::opened) {
            (options.on_change)(Change::Back { interface: &self.name });
        }
    }

    #[cold]
    fn lose(&mut self, why: &str, on_change: fn(Change<'_>)) {
        self.read_drops();
        self.handle = None;
        // The counters of a new handle begin at 0.
        (self.kernel_drops, self.interface_drops) = Default::default();
        if self.counters().is_some_and(InterfaceCounters::lost) {
            on_change(Change::Gone { interface: &self.name, why });
        }
    }

    fn counters(&self) -> Option<&InterfaceCounters> {
        self.config.counts.interface(self.config.interface)
    }
}

fn open(
    options: &LiveOptions,
    name: &str,
    group: Option<&FanoutGroup>,
) -> Result<Capture<Active>, LiveError> {
    let wrong = |error: pcap::Error| open_error(name, &message_of(&error));
    let int = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    let mut handle = Capture::from_device(name)
        .map_err(wrong)?
        .promisc(options.promiscuous)
        .snaplen(int(options.snaplen_bytes))
        .buffer_size(int(options.buffer_bytes))
        .timeout(DeliveryDelay::of(options).block_millis)
        .precision(Precision::Nano)
        .open()
        .and_then(Capture::setnonblock)
        .map_err(wrong)?;
    if let Some(expression) = &options.filter {
        handle.filter(expression, true).map_err(|error| FilterError::Expression {
            expression: expression.clone(),
            message: message_of(&error),
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

/// Bytes of link headers and tags beyond the MTU.
const HEADERS_BYTES: u32 = 64;

/// The longest frame of an interface: its MTU and headers. Unlimited where the MTU is unknown.
fn max_frame_bytes(name: &str) -> u32 {
    // Names come from the user: none may lead to another directory.
    let is_plain = !name.contains('/') && !name.starts_with('.');
    let mtu = is_plain.then(|| std::fs::read_to_string(format!("/sys/class/net/{name}/mtu")));
    let mtu = mtu.and_then(Result::ok).and_then(|text| text.trim().parse::<u32>().ok());
    mtu.map_or(u32::MAX, |mtu| mtu.saturating_add(HEADERS_BYTES))
}

fn link_type(handle: &Capture<Active>) -> LinkType {
    let number = u16::try_from(handle.get_datalink().0).unwrap_or(u16::MAX);
    match LinkType(number) {
        // The one link type whose number in libpcap (DLT_) differs from that in files.
        LinkType::RAW_BSD | LinkType::RAW_OPENBSD => LinkType::RAW,
        other => other,
    }
}

/// With nanosecond precision, the microseconds field of libpcap holds nanoseconds.
#[inline]
fn time_of(header: &pcap::PacketHeader) -> Timestamp {
    let secs = u64::try_from(header.ts.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(header.ts.tv_usec).unwrap_or(0);
    Timestamp::new(secs, nanos)
}
