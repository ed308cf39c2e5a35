//! How near two vectors are: at once by their eight-bit codes, and exactly.

/// A vector, brought to length 1, in whole steps of one size: `x ≈ step · codes`.
pub(super) struct Coded {
    /// The 127th part of the largest number; 0 if all are.
    pub(super) step: f32,
    pub(super) codes: Vec<i8>,
}

impl Coded {
    /// The code of a vector of any length.
    pub(super) fn of(vector: &[f32]) -> Coded {
        let step = f64::from(vector.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()))) / 127.0;
        if step == 0.0 {
            return Coded { step: 0.0, codes: vec![0; vector.len()] };
        }
        let codes = vector.iter().map(|x| (f64::from(*x) / step).round() as i8).collect();
        Coded { step: (step / length(vector)) as f32, codes }
    }
}

/// A vector that others are compared with.
pub(super) struct Query {
    numbers: Vec<f64>,
    length: f64,
    step: f32,
    codes: Vec<i16>,
}

impl Query {
    /// Prepares a vector of any length.
    pub(super) fn of(vector: &[f32]) -> Query {
        let Coded { step, codes } = Coded::of(vector);
        Query {
            numbers: vector.iter().map(|x| f64::from(*x)).collect(),
            length: length(vector),
            step,
            codes: codes.into_iter().map(i16::from).collect(),
        }
    }

    /// The cosine with a stored vector (f32, little-endian), -1 to 1; 0 if either is zero.
    pub(super) fn cosine(&self, stored: &[u8]) -> f64 {
        self.cosine_with(stored.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)))
    }

    /// The same with the numbers of a vector.
    #[inline(always)]
    pub(super) fn cosine_with(&self, numbers: impl Iterator<Item = f32>) -> f64 {
        let (mut dot, mut square) = (0.0, 0.0);
        for (x, y) in self.numbers.iter().zip(numbers) {
            let y = f64::from(y);
            dot += x * y;
            square += y * y;
        }
        let lengths = self.length * f64::sqrt(square);
        if lengths > 0.0 { (dot / lengths).clamp(-1.0, 1.0) } else { 0.0 }
    }

    /// The products with a block of codes, one vector after the other.
    #[allow(unsafe_code)] // The one loop that every search runs over all vectors: AVX2 does it five times as fast.
    pub(super) fn products(&self, block: &[u8], products: &mut Vec<i32>) {
        products.clear();
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { products_avx2(&self.codes, block, products) };
        }
        products_anywhere(&self.codes, block, products);
    }

    /// The products of four vectors with a block of codes: each code is read once for all of them, which is three
    /// times as fast where the codes are at hand.
    #[allow(unsafe_code)] // What compares all with all lives in this loop.
    pub(super) fn products_of_four(four: [&Query; 4], block: &[u8], products: &mut Vec<[i32; 4]>) {
        products.clear();
        let queries = four.map(|query| query.codes.as_slice());
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { four_avx2(queries, block, products) };
        }
        let length = queries[0].len().max(1);
        products.extend(block.chunks_exact(length).map(|codes| queries.map(|query| product(query, codes))));
    }

    /// The cosine as the codes have it, and how far it may be off: the rounding of a number is even between
    /// half a step below and above, so that the error of a product with a vector of length 1 is
    /// sub-Gaussian with the variance step²/12, and both vectors' together leave twice √(step² + step²)
    /// once in 10¹⁰ (2·exp(-2²·12/2)). Up to eight numbers never.
    pub(super) fn estimate(&self, product: i32, step: f32) -> (f32, f32) {
        (product as f32 * step * self.step, 2.0 * (step * step + self.step * self.step).sqrt())
    }
}

fn length(vector: &[f32]) -> f64 {
    vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn products_avx2(query: &[i16], block: &[u8], products: &mut Vec<i32>) {
    products_anywhere(query, block, products);
}

/// Written so that the compiler makes it a loop over whole registers; it is compiled for each kind of them.
#[inline(always)]
fn products_anywhere(query: &[i16], block: &[u8], products: &mut Vec<i32>) {
    products.extend(block.chunks_exact(query.len().max(1)).map(|codes| product(query, codes)));
}

#[inline(always)]
fn product(query: &[i16], codes: &[u8]) -> i32 {
    query.iter().zip(codes).map(|(x, y)| i32::from(*x) * i32::from(*y as i8)).sum()
}

/// Sixteen numbers at a time, in registers that are named: left to itself the compiler keeps no code for four.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[allow(unsafe_code)] // Loads and stores of whole registers.
fn four_avx2(queries: [&[i16]; 4], block: &[u8], products: &mut Vec<[i32; 4]>) {
    use std::arch::x86_64::*;
    // SAFETY: the array has the 32 bytes that are loaded.
    let load = |numbers: &[i16; 16]| unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) };
    let length = queries[0].len().max(1);
    let rest = length - length % 16;
    let [p, q, r, s] = queries.map(|query| query.as_chunks::<16>().0);
    products.extend(block.chunks_exact(length).map(|codes| {
        let [mut a, mut b, mut c, mut d] = [_mm256_setzero_si256(); 4];
        for ((((code, p), q), r), s) in codes.as_chunks::<16>().0.iter().zip(p).zip(q).zip(r).zip(s) {
            // SAFETY: the array has the 16 bytes that are loaded.
            let code = _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(code.as_ptr().cast()) });
            a = _mm256_add_epi32(a, _mm256_madd_epi16(load(p), code));
            b = _mm256_add_epi32(b, _mm256_madd_epi16(load(q), code));
            c = _mm256_add_epi32(c, _mm256_madd_epi16(load(r), code));
            d = _mm256_add_epi32(d, _mm256_madd_epi16(load(s), code));
        }
        let halves = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        let sums = _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves));
        let mut products = [0; 4];
        // SAFETY: the array has the 16 bytes that are stored.
        unsafe { _mm_storeu_si128(products.as_mut_ptr().cast(), sums) };
        for (sum, query) in products.iter_mut().zip(queries) {
            *sum += product(&query[rest..], &codes[rest..]);
        }
        products
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_at_once_are_as_one_after_the_other() {
        for length in [1, 15, 16, 17, 384, 1000] {
            let numbers = |seed: usize| -> Vec<f32> {
                (0..length).map(|at| ((at * 7 + seed * 13) % 29) as f32 - 14.0).collect()
            };
            let queries = [1, 2, 3, 4].map(|seed| Query::of(&numbers(seed)));
            let block: Vec<u8> =
                (5..12).flat_map(|seed| Coded::of(&numbers(seed)).codes).map(|code| code as u8).collect();
            let (mut four, mut one) = (Vec::new(), Vec::new());
            let [a, b, c, d] = &queries;
            Query::products_of_four([a, b, c, d], &block, &mut four);
            for (at, query) in queries.iter().enumerate() {
                query.products(&block, &mut one);
                assert_eq!(four.iter().map(|products| products[at]).collect::<Vec<_>>(), one, "{length}");
            }
            assert_eq!(one.len(), 7);
        }
    }
}
