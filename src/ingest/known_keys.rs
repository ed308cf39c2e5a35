//! Tells of most messages of a large import that the store has no copy of them, without asking for each.

use crate::error::Result;
use crate::record::Fingerprint;
use crate::store::Store;

/// The number of messages from which on the keys of all are read: asking for each costs less for fewer.
const MANY: usize = 4096;

/// The keys of the fingerprints in a store.
#[derive(Clone, Default)]
pub(super) struct KnownKeys {
    /// The number of messages that were asked for.
    asked: usize,
    /// The keys, as of a state of the store to which only this process has added.
    keys: Option<(KeyFilter, i64)>,
}

impl KnownKeys {
    /// Which of some messages, which the store has, may have a copy in it. Of those that are copies of each
    /// other, the first need not be among them. Fails if the store cannot be read.
    pub(super) fn may_have_copies<'a>(
        &mut self,
        store: &mut dyn Store,
        new: impl ExactSizeIterator<Item = &'a Fingerprint>,
    ) -> Result<Vec<bool>> {
        let all = vec![true; new.len()];
        if self.keys.is_none() && self.asked + new.len() < MANY {
            self.asked += new.len();
            return Ok(all);
        }
        let Some(version) = store.foreign_version()? else { return Ok(all) };
        match &mut self.keys {
            Some((keys, known)) if *known == version => Ok(new.map(|one| keys.check_and_add(one)).collect()),
            Some(_) => {
                *self = KnownKeys::default();
                Ok(all)
            }
            None => {
                let mut keys = KeyFilter::default();
                store.fingerprint_keys(&mut |key| keys.add(key))?;
                self.keys = Some((keys, version));
                Ok(all)
            }
        }
    }
}

/// A Bloom filter (Bloom, 1970) of 8 MB: of a million keys, it takes one in 80 000 others for one of them.
#[derive(Clone)]
struct KeyFilter(Box<[u64]>);

/// The number of bits, a power of two, and of those that a key sets.
const BITS: u64 = 1 << 26;
const BITS_OF_KEY: u64 = 4;

impl Default for KeyFilter {
    fn default() -> KeyFilter {
        KeyFilter(vec![0; (BITS / 64) as usize].into())
    }
}

impl KeyFilter {
    /// Whether a message of a fingerprint near this one was added before; adds this one.
    fn check_and_add(&mut self, fingerprint: &Fingerprint) -> bool {
        let is_known = fingerprint.near_keys().into_iter().any(|key| self.has(key));
        self.add(fingerprint.key());
        is_known
    }

    fn has(&self, key: i64) -> bool {
        places(key).all(|(word, bit)| self.0[word] & bit != 0)
    }

    fn add(&mut self, key: i64) {
        places(key).for_each(|(word, bit)| self.0[word] |= bit);
    }
}

/// The words and bits of a key, which is a part of a digest: its halves are the hashes of double hashing.
fn places(key: i64) -> impl Iterator<Item = (usize, u64)> {
    let key = key.cast_unsigned();
    let (first, step) = (key >> 32, key & u64::from(u32::MAX) | 1);
    (0..BITS_OF_KEY).map(move |n| {
        let place = first.wrapping_add(n.wrapping_mul(step)) % BITS;
        ((place / 64) as usize, 1 << (place % 64))
    })
}
