//! Eight bytes at once, for text in which the bytes that matter are a few words apart.
//!
//! Vectors are too wide for that: each find ends one, and the place in it has to be looked for again.

/// Eight bytes of a text, the first one lowest.
#[derive(Clone, Copy)]
pub(super) struct Lanes(u64);

/// Some of eight bytes: the highest bit of each of their lanes.
#[derive(Clone, Copy)]
pub(super) struct Chosen(u64);

impl Lanes {
    /// The eight bytes from here on, if there are as many.
    pub fn at(text: &[u8], at: usize) -> Option<Self> {
        let bytes = text.get(at..)?.first_chunk()?;
        Some(Self(u64::from_le_bytes(*bytes)))
    }

    /// The bytes of ASCII from `least` on.
    pub fn from(self, least: u8) -> Chosen {
        debug_assert!((1..=0x7f).contains(&least), "only ASCII can be asked for");
        // No sum is larger than its lane: what each byte is added to is at most 0x7f.
        let sums = (self.0 & !HIGH) + EACH * u64::from(0x80 - least);
        Chosen(sums & !self.0 & HIGH)
    }

    /// The bytes of ASCII below `bound`.
    pub fn below(self, bound: u8) -> Chosen {
        Chosen(!self.from(bound).0 & !self.0 & HIGH)
    }

    /// The bytes of ASCII that are this one.
    pub fn equal(self, byte: u8) -> Chosen {
        Self(self.0 ^ (EACH * u64::from(byte))).below(1)
    }
}

impl Chosen {
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The place of the first one.
    pub fn first(self) -> Option<usize> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as usize / 8)
    }
}

pub(super) const WIDTH: usize = 8;
const EACH: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

#[cfg(test)]
mod tests {
    use super::*;

    fn places(chosen: Chosen) -> Vec<usize> {
        (0..WIDTH).filter(|place| chosen.0 >> (place * 8 + 7) & 1 != 0).collect()
    }

    #[test]
    fn every_byte_is_told_from_every_other_one() {
        for byte in 0..=u8::MAX {
            // Neighbours of all kinds, so that a carry would show.
            for other in [0, 1, 0x1f, 0x20, 0x7f, 0x80, 0xff] {
                let lanes = Lanes(u64::from_le_bytes([other, byte, other, 0, 0xff, 0, 0xff, 0]));
                for bound in 1..=0x7f {
                    let has = |chosen: Chosen| places(chosen).contains(&1);
                    assert_eq!(has(lanes.from(bound)), byte.is_ascii() && byte >= bound);
                    assert_eq!(has(lanes.below(bound)), byte < bound);
                    assert_eq!(has(lanes.equal(bound)), byte == bound);
                }
            }
        }
    }

    #[test]
    fn the_first_place_is_the_first_byte() {
        let lanes = Lanes::at(b"_ab1cd2ef", 1).expect("eight bytes");
        let digits = lanes.from(b'0').without(lanes.from(b'9' + 1));
        assert_eq!(places(digits), [2, 5]);
        assert_eq!(digits.first(), Some(2));
        assert_eq!(digits.and(lanes.equal(b'2')).first(), Some(5));
        assert_eq!(lanes.below(1).first(), None);
        assert!(Lanes::at(b"_ab1cd2ef", 2).is_none());
    }
}
