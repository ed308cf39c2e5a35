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
        let (mut dot, mut square) = (0.0, 0.0);
        for (x, bytes) in self.numbers.iter().zip(stored.as_chunks().0) {
            let y = f64::from(f32::from_le_bytes(*bytes));
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
    products.extend(
        block.chunks_exact(query.len().max(1)).map(|codes| {
            query.iter().zip(codes).map(|(x, y)| i32::from(*x) * i32::from(*y as i8)).sum::<i32>()
        }),
    );
}
