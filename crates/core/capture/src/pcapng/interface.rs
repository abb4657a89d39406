//! Interface description blocks with time resolution, name and addresses.

use crate::byte_order::ByteOrder;
use crate::links::{self, Link};
use model::{InterfaceAddresses, Timestamp};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Clone, Copy)]
pub(super) struct Interface {
    pub link: Option<&'static Link>,
    /// 0 for no limit.
    pub snap_length: u32,
    resolution: Resolution,
    /// Seconds to add to each timestamp (if_tsoffset).
    offset: i64,
}

/// Units of a timestamp per second (if_tsresol).
#[derive(Clone, Copy)]
enum Resolution {
    /// Whole nanoseconds per unit.
    Nanoseconds(u64),
    PerSecond(u128),
}

pub(super) struct Description {
    pub link: u16,
    pub addresses: InterfaceAddresses,
}

impl Interface {
    pub fn parse(body: &[u8], order: ByteOrder, number: usize) -> Option<(Self, Description)> {
        let link = order.u16_at(body, 0)?;
        let snap_length = order.u32_at(body, 4)?;
        let mut interface = Self {
            link: links::find(link),
            snap_length,
            resolution: Resolution::Nanoseconds(1000),
            offset: 0,
        };
        let mut addresses = InterfaceAddresses {
            name: format!("number {number}"),
            addresses: Vec::new(),
        };
        let mut options = body.get(8..).unwrap_or_default();
        while let (Some(code), Some(length)) = (order.u16_at(options, 0), order.u16_at(options, 2)) {
            let Some(value) = options.get(4..4 + usize::from(length)) else {
                break;
            };
            match code {
                0 => break,
                OPTION_NAME => addresses.name = name(value),
                OPTION_IPV4 | OPTION_IPV6 if addresses.addresses.len() < MAX_ADDRESSES => {
                    addresses.addresses.extend(address(code, value));
                }
                _ => interface.option(code, value, order),
            }
            options = options
                .get(4 + usize::from(length).next_multiple_of(4)..)
                .unwrap_or_default();
        }
        Some((interface, Description { link, addresses }))
    }

    fn option(&mut self, code: u16, value: &[u8], order: ByteOrder) {
        match (code, value) {
            (OPTION_RESOLUTION, [resolution, ..]) => self.resolution = Resolution::parse(*resolution),
            (OPTION_OFFSET, _) => {
                if let Some(eight) = value.first_chunk::<8>() {
                    self.offset = match order {
                        ByteOrder::Big => i64::from_be_bytes(*eight),
                        ByteOrder::Little => i64::from_le_bytes(*eight),
                    };
                }
            }
            _ => {}
        }
    }

    /// Converts a timestamp of this interface. Saturates at either end of the timeline.
    #[inline]
    pub fn time(&self, units: u64) -> Timestamp {
        let nanoseconds = match self.resolution {
            Resolution::Nanoseconds(each) => u128::from(units) * u128::from(each),
            Resolution::PerSecond(per_second) => u128::from(units) * 1_000_000_000 / per_second,
        };
        let shift = u128::from(self.offset.unsigned_abs()) * 1_000_000_000;
        let moved = if self.offset < 0 {
            nanoseconds.saturating_sub(shift)
        } else {
            nanoseconds + shift
        };
        Timestamp::from_nanos(u64::try_from(moved).unwrap_or(u64::MAX))
    }
}

impl Resolution {
    /// The highest bit distinguishes powers of two from powers of ten. Exponents beyond the range
    /// of 64-bit times are clamped.
    fn parse(value: u8) -> Self {
        let exponent = u32::from(value & 0x7f);
        if value & 0x80 != 0 {
            return Self::PerSecond(1 << exponent.min(64));
        }
        match exponent {
            0..=9 => Self::Nanoseconds(10u64.pow(9 - exponent)),
            _ => Self::PerSecond(10u128.pow(exponent.min(19))),
        }
    }
}

fn name(value: &[u8]) -> String {
    let name = String::from_utf8_lossy(value);
    let printable = name.chars().map(|letter| match letter.is_control() {
        true => '?',
        false => letter,
    });
    printable.take(MAX_NAME_LEN).collect()
}

/// The address of an option; a mask or prefix length follows it.
fn address(code: u16, value: &[u8]) -> Option<IpAddr> {
    match code {
        OPTION_IPV4 => value.first_chunk::<4>().map(|four| Ipv4Addr::from(*four).into()),
        _ => value
            .first_chunk::<16>()
            .map(|bytes| Ipv6Addr::from(*bytes).into()),
    }
}

const OPTION_NAME: u16 = 2;
const OPTION_IPV4: u16 = 4;
const OPTION_IPV6: u16 = 5;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_OFFSET: u16 = 14;
/// Linux has at most 15 letters, Windows about 50.
const MAX_NAME_LEN: usize = 80;
const MAX_ADDRESSES: usize = 64;
