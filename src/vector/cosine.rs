//! The cosine of two vectors: estimated from four-bit codes, or exact.
//!
//! A vector is rotated (`rotate`) before it is quantized, so that no number stands out and the steps are as
//! small as possible. A rotation changes no cosine.

/// A vector, rotated, normalized to length 1 and quantized uniformly: `x ≈ scale · (2·code - 15)`.
pub(crate) struct Quantized {
    /// The largest magnitude divided by 15; 0 for a vector of zeros.
    pub(crate) scale: f32,
    /// Two numbers a byte: the first half of the vector in the lower four bits, the second half in the upper.
    pub(crate) codes: Vec<u8>,
}

impl Quantized {
    /// The code of a vector of any length (norm).
    pub(crate) fn new(vector: &[f32]) -> Quantized {
        let rotated = rotate(vector);
        let scale = largest(&rotated) / 15.0;
        if scale == 0.0 {
            return Quantized { scale, codes: vec![0; width(vector.len())] };
        }
        let code = |x: &f32| (x / (2.0 * scale) + 8.0).clamp(0.0, 15.0) as u8;
        let (lower, upper) = rotated.split_at(width(rotated.len()));
        let upper = upper.iter().map(code).chain([0]);
        let codes = lower.iter().map(code).zip(upper).map(|(lower, upper)| lower | upper << 4).collect();
        Quantized { scale, codes }
    }
}

/// The number of bytes in the code of this many numbers.
pub(crate) fn width(dim: usize) -> usize {
    dim.div_ceil(2)
}

/// A vector that others are compared with.
pub(crate) struct QuantizedQuery {
    numbers: Vec<f64>,
    length: f64,
    /// The vector, rotated and quantized to 8 bits: `x ≈ scale · code`, with 127 steps to the largest
    /// magnitude.
    scale: f32,
    lower: Vec<i8>,
    /// As long as `lower`.
    upper: Vec<i8>,
    /// 15 times the sum of the codes.
    offset: i32,
}

impl QuantizedQuery {
    /// Prepares a vector of any length (norm).
    pub(crate) fn new(vector: &[f32]) -> QuantizedQuery {
        let rotated = rotate(vector);
        let scale = largest(&rotated) / 127.0;
        let code = |x: &f32| if scale == 0.0 { 0 } else { (x / scale).round() as i8 };
        let mut lower: Vec<i8> = rotated.iter().map(code).collect();
        let mut upper = lower.split_off(width(lower.len()));
        upper.resize(lower.len(), 0);
        QuantizedQuery {
            numbers: vector.iter().map(|x| f64::from(*x)).collect(),
            length: length(vector),
            scale,
            offset: 15 * lower.iter().chain(&upper).map(|code| i32::from(*code)).sum::<i32>(),
            lower,
            upper,
        }
    }

    /// The cosine with a stored vector (f32, little-endian), -1 to 1; 0 if either is zero.
    pub(crate) fn cosine(&self, stored: &[u8]) -> f64 {
        self.cosine_with(stored.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)))
    }

    /// The cosine with the numbers of a stored vector.
    #[inline(always)]
    pub(crate) fn cosine_with(&self, numbers: impl Iterator<Item = f32>) -> f64 {
        let (mut dot, mut square) = (0.0, 0.0);
        for (x, y) in self.numbers.iter().zip(numbers) {
            let y = f64::from(y);
            dot += x * y;
            square += y * y;
        }
        let lengths = self.length * f64::sqrt(square);
        if lengths > 0.0 { (dot / lengths).clamp(-1.0, 1.0) } else { 0.0 }
    }

    /// The dot products of some vectors with each code of a block: each code is read once for all vectors.
    #[allow(unsafe_code)] // The one loop that every search runs over all vectors: AVX2 does it ten times as fast.
    pub(crate) fn products<const N: usize>(
        queries: [&QuantizedQuery; N],
        block: &[u8],
        products: &mut Vec<[i32; N]>,
    ) {
        products.clear();
        let width = queries.first().map_or(1, |query| query.lower.len().max(1));
        let codes = block.chunks_exact(width);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { products_avx2(queries, codes, products) };
        }
        products.extend(codes.map(|code| queries.map(|query| query.product(code, 0))));
    }

    /// The dot product with a code, from byte `from` on.
    #[inline(always)]
    fn product(&self, code: &[u8], from: usize) -> i32 {
        let bytes = self.lower[from..].iter().zip(&self.upper[from..]).zip(&code[from..]);
        let of = |code: u8, query: i8| i32::from(code) * i32::from(query);
        bytes.map(|((lower, upper), byte)| of(byte & 15, *lower) + of(byte >> 4, *upper)).sum()
    }

    /// The cosine of the codes, and its error bound. Rounding errors are uniform within half a step, so that
    /// the error of a dot product with a vector of length 1 is sub-Gaussian with variance step²/12, and the
    /// errors of both vectors together exceed 2·√(step² + step²) once in 10¹⁰ (2·exp(-2²·12/2)); with up to
    /// eight numbers never.
    pub(crate) fn estimate(&self, product: i32, scale: f32) -> (f32, f32) {
        let whole = 2.0 * scale;
        let product = 2 * product - self.offset;
        (product as f32 * scale * self.scale, 2.0 * (whole * whole + self.scale * self.scale).sqrt())
    }
}

fn length(vector: &[f32]) -> f64 {
    vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt()
}

fn largest(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0, |largest, x| largest.max(x.abs()))
}

/// The number of rotations. Some models make numbers ten times as large as the others, in the same dimensions
/// of all vectors; two rotations spread them evenly.
const ROTATIONS: u64 = 2;

/// The vector, normalized to length 1 and rotated pseudo-randomly: random signs are applied, then a Hadamard
/// transform to the first numbers and to the last ones, a power of two of each. (Ailon and Chazelle 2009, The
/// fast Johnson-Lindenstrauss transform.)
fn rotate(vector: &[f32]) -> Vec<f32> {
    // In f64, so that huge and tiny numbers are not lost.
    let length = Some(length(vector)).filter(|length| *length > 0.0).unwrap_or(1.0);
    let mut rotated: Vec<f32> = vector.iter().map(|x| (f64::from(*x) / length) as f32).collect();
    let Some(power) = vector.len().checked_ilog2() else { return rotated };
    let width = 1 << power;
    for round in 0..ROTATIONS {
        for (at, x) in rotated.iter_mut().enumerate() {
            if random_sign(round << 32 | at as u64) {
                *x = -*x;
            }
        }
        transform(&mut rotated[..width]);
        if width < vector.len() {
            let last = vector.len() - width;
            transform(&mut rotated[last..]);
        }
    }
    rotated
}

/// Whether the number at a position changes its sign: the highest bit of splitmix64 (Steele, Lea and Flood
/// 2014).
fn random_sign(number: u64) -> bool {
    let mut x = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) >> 63 == 1
}

/// The Hadamard transform of a power of two numbers, which keeps lengths.
fn transform(numbers: &mut [f32]) {
    let mut half = 1;
    while half < numbers.len() {
        for pair in numbers.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (x, y) in left.iter_mut().zip(right) {
                (*x, *y) = (*x + *y, *x - *y);
            }
        }
        half *= 2;
    }
    let scale = 1.0 / (numbers.len() as f32).sqrt();
    for x in numbers.iter_mut() {
        *x *= scale;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn products_avx2<const N: usize>(
    queries: [&QuantizedQuery; N],
    codes: std::slice::ChunksExact<u8>,
    products: &mut Vec<[i32; N]>,
) {
    products.extend(codes.map(|code| product_avx2(queries, code)));
}

/// The dot products of some vectors with one code, 64 numbers at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
#[allow(unsafe_code)] // Loads of whole registers.
fn product_avx2<const N: usize>(queries: [&QuantizedQuery; N], code: &[u8]) -> [i32; N] {
    use std::arch::x86_64::*;
    // SAFETY: the arrays have the 32 bytes that are loaded.
    let load = |numbers: &[i8; 32]| unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) };
    let four_bits = _mm256_set1_epi8(15);
    let ones = _mm256_set1_epi16(1);
    let parts = queries.map(|query| (query.lower.as_chunks::<32>().0, query.upper.as_chunks::<32>().0));
    let mut sums = [_mm256_setzero_si256(); N];
    let bytes = code.as_chunks::<32>().0;
    for (at, bytes) in bytes.iter().enumerate() {
        // SAFETY: the array has the 32 bytes that are loaded.
        let both = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
        let lower = _mm256_and_si256(both, four_bits);
        let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(both), four_bits);
        for (sum, part) in sums.iter_mut().zip(&parts) {
            // At most 4 · 15 · 127, which fits into sixteen bits.
            let pairs = _mm256_add_epi16(
                _mm256_maddubs_epi16(lower, load(&part.0[at])),
                _mm256_maddubs_epi16(upper, load(&part.1[at])),
            );
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, ones));
        }
    }
    let mut products = [0; N];
    for ((product, sum), query) in products.iter_mut().zip(sums).zip(queries) {
        let half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
        let pair = _mm_add_epi32(half, _mm_shuffle_epi32::<0b00_00_11_10>(half));
        *product = _mm_cvtsi128_si32(_mm_add_epi32(pair, _mm_shuffle_epi32::<1>(pair)));
        *product += query.product(code, 32 * bytes.len());
    }
    products
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(length: usize, seed: usize) -> Vec<f32> {
        (0..length).map(|at| ((at * 7 + seed * 13) % 29) as f32 - 14.0).collect()
    }

    #[test]
    fn batched_and_simd_estimates_equal_single_and_scalar_ones() {
        for length in [1, 15, 16, 17, 63, 64, 65, 384, 1000] {
            let queries = [1, 2, 3, 4].map(|seed| QuantizedQuery::new(&numbers(length, seed)));
            let block: Vec<u8> =
                (5..12).flat_map(|seed| Quantized::new(&numbers(length, seed)).codes).collect();
            let (mut four, mut one) = (Vec::new(), Vec::new());
            QuantizedQuery::products(queries.each_ref(), &block, &mut four);
            for (at, query) in queries.iter().enumerate() {
                QuantizedQuery::products([query], &block, &mut one);
                assert_eq!(four.iter().map(|products| [products[at]]).collect::<Vec<_>>(), one, "{length}");
                let codes = block.chunks_exact(width(length));
                assert_eq!(codes.map(|code| [query.product(code, 0)]).collect::<Vec<_>>(), one, "{length}");
            }
            assert_eq!(one.len(), 7);
        }
    }

    #[test]
    fn an_exact_cosine_lies_within_the_error_bound() {
        for length in [1, 2, 3, 8, 100, 384, 1024] {
            let standing_out = |seed| {
                let mut vector = numbers(length, seed);
                vector[length / 3] = 200.0 + seed as f32;
                vector
            };
            let query = QuantizedQuery::new(&standing_out(1));
            for seed in 2..40 {
                let times = |factor: f32| numbers(length, seed).iter().map(|x| x * factor).collect();
                let plain = times(1.0);
                for vector in [standing_out(seed), plain, times(1e37), times(1e-43), vec![0.0; length]] {
                    let Quantized { scale, codes } = Quantized::new(&vector);
                    let mut products = Vec::new();
                    QuantizedQuery::products([&query], &codes, &mut products);
                    let (near, off) = query.estimate(products[0][0], scale);
                    let exact = query.cosine_with(vector.iter().copied());
                    assert!(
                        (f64::from(near) - exact).abs() <= f64::from(off),
                        "{length}: {near} {exact} {off}"
                    );
                    assert!(length < 100 || off < 0.12, "{length}: {off}");
                }
            }
        }
    }
}
