//! The cosines of many vectors with each other: the product of a matrix with its transpose, by blocks of
//! rows.
//!
//! The product is in `f32`, and may differ between processors in the last digits; it only finds candidates,
//! with a tolerance. Their exact cosines are in `f64`.

use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

/// The numbers that are multiplied at once.
const LANES: usize = 8;
/// The rows and the columns of a tile, whose sums stay in registers.
const TILE_ROWS: usize = 2;
const TILE_COLUMNS: usize = 4;
/// More than the greatest error of a cosine in `f32`, for vectors of any dimension that models have.
const TOLERANCE: f64 = 1e-4;

/// The least number of columns that is worth a thread.
const MIN_COLUMNS_PER_THREAD: usize = 1024;

/// The rows that are compared with all others at a time: they stay in the cache meanwhile.
pub const BLOCK_ROWS: usize = 64;

/// Vectors of one dimension, each normalized to length 1.
#[derive(Clone, Debug, Default)]
pub struct UnitVectors {
    /// The numbers of a vector, filled up with zeros to whole lanes.
    width: usize,
    numbers: Vec<f32>,
    /// The lengths after rounding; 0 for a vector of zeros.
    lengths: Vec<f64>,
}

impl UnitVectors {
    /// Takes vectors, which must be of one dimension.
    pub fn new<'a>(vectors: impl IntoIterator<Item = &'a [f32]>) -> UnitVectors {
        let mut all = UnitVectors::default();
        for vector in vectors {
            all.width = vector.len().next_multiple_of(LANES);
            let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
            let begin = all.numbers.len();
            let unit = |x: &f32| if length > 0.0 { (f64::from(*x) / length) as f32 } else { 0.0 };
            all.numbers.extend(vector.iter().map(unit));
            all.numbers.resize(begin + all.width, 0.0);
            let square: f64 = all.numbers[begin..].iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
            all.lengths.push(square.sqrt());
        }
        all
    }

    /// The numbers of a vector.
    pub fn row(&self, at: usize) -> &[f32] {
        &self.numbers[at * self.width..][..self.width]
    }

    /// The cosine of two vectors, -1 to 1; 0 if either is zero.
    pub fn cosine(&self, one: usize, other: usize) -> f64 {
        let lengths = self.lengths[one] * self.lengths[other];
        if lengths <= 0.0 {
            return 0.0;
        }
        let mut sums = [0.0; LANES];
        let (one, other) = (self.row(one).as_chunks::<LANES>().0, self.row(other).as_chunks::<LANES>().0);
        for (x, y) in one.iter().zip(other) {
            for lane in 0..LANES {
                sums[lane] += f64::from(x[lane]) * f64::from(y[lane]);
            }
        }
        (sums.iter().sum::<f64>() / lengths).clamp(-1.0, 1.0)
    }

    /// For each of some rows those of the columns, by their positions in `columns`, whose cosine may be above
    /// a threshold. The columns are shared among threads.
    pub fn candidates(&self, rows: &[usize], columns: &[usize], threshold: f64) -> Vec<Vec<usize>> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let share = columns.len().div_ceil(threads).max(MIN_COLUMNS_PER_THREAD);
        let mut shares = columns.chunks(share).enumerate();
        let (_, first) = shares.next().unwrap_or((0, columns));
        thread::scope(|scope| {
            let start = |(at, columns)| {
                let look = move || self.candidates_among(rows, columns, threshold);
                (at * share, columns, thread::Builder::new().spawn_scoped(scope, look))
            };
            let others: Vec<_> = shares.map(start).collect();
            let mut found = self.candidates_among(rows, first, threshold);
            for (begin, columns, other) in others {
                // The share of a thread that cannot be started is left to this one.
                let near = match other.map(ScopedJoinHandle::join) {
                    Ok(near) => near.unwrap_or_else(|panic| resume_unwind(panic)),
                    Err(_) => self.candidates_among(rows, columns, threshold),
                };
                for (found, near) in found.iter_mut().zip(near) {
                    found.extend(near.into_iter().map(|column| begin + column));
                }
            }
            found
        })
    }

    #[allow(unsafe_code)] // The loop that takes all the time of clustering: AVX2 and FMA do it several times as fast.
    fn candidates_among(&self, rows: &[usize], columns: &[usize], threshold: f64) -> Vec<Vec<usize>> {
        let mut found = vec![Vec::new(); rows.len()];
        let least = (threshold - TOLERANCE) as f32;
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: the processor has what the function is compiled for.
            unsafe { self.candidates_avx2(rows, columns, least, &mut found) };
            return found;
        }
        self.multiply::<false>(rows, columns, least, &mut found);
        found
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn candidates_avx2(&self, rows: &[usize], columns: &[usize], least: f32, found: &mut [Vec<usize>]) {
        self.multiply::<true>(rows, columns, least, found);
    }

    /// Notes for each row the columns with a product of at least `least`. The last rows and columns that fill
    /// no tile are filled up with their last one.
    #[inline(always)]
    fn multiply<const FUSED: bool>(
        &self,
        rows: &[usize],
        columns: &[usize],
        least: f32,
        found: &mut [Vec<usize>],
    ) {
        for (column_tile, columns) in columns.chunks(TILE_COLUMNS).enumerate() {
            let of_columns: [&[[f32; LANES]]; TILE_COLUMNS] = self.tile(columns);
            for (row_tile, rows) in rows.chunks(TILE_ROWS).enumerate() {
                let products = products::<FUSED>(self.tile::<TILE_ROWS>(rows), of_columns);
                for (row, products) in products.iter().take(rows.len()).enumerate() {
                    for (column, product) in products.iter().take(columns.len()).enumerate() {
                        if *product >= least {
                            found[row_tile * TILE_ROWS + row].push(column_tile * TILE_COLUMNS + column);
                        }
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn tile<const N: usize>(&self, rows: &[usize]) -> [&[[f32; LANES]]; N] {
        std::array::from_fn(|at| self.row(rows[at.min(rows.len() - 1)]).as_chunks().0)
    }
}

/// The dot products of each row with each column; `FUSED` where the processor multiplies and adds in one
/// step.
#[inline(always)]
fn products<const FUSED: bool>(
    rows: [&[[f32; LANES]]; TILE_ROWS],
    columns: [&[[f32; LANES]]; TILE_COLUMNS],
) -> [[f32; TILE_COLUMNS]; TILE_ROWS] {
    let mut sums = [[[0.0_f32; LANES]; TILE_COLUMNS]; TILE_ROWS];
    let length = rows[0].len();
    let (rows, columns) = (rows.map(|row| &row[..length]), columns.map(|column| &column[..length]));
    for at in 0..length {
        for (row, sums) in rows.iter().zip(&mut sums) {
            for (column, sums) in columns.iter().zip(sums) {
                for lane in 0..LANES {
                    let (x, y) = (row[at][lane], column[at][lane]);
                    sums[lane] = if FUSED { x.mul_add(y, sums[lane]) } else { sums[lane] + x * y };
                }
            }
        }
    }
    sums.map(|sums| sums.map(|lanes| lanes.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_all_pairs_above_the_threshold() {
        let mut state = 1_u64;
        let mut number = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        for dim in [1, 3, 8, 100] {
            let vectors: Vec<Vec<f32>> = (0..37)
                .map(|at| {
                    let factor = [1.0, 1e30, 1e-30, 0.0][at % 4];
                    (0..dim).map(|_| number() * factor).collect()
                })
                .collect();
            let all = UnitVectors::new(vectors.iter().map(Vec::as_slice));
            let (rows, columns): (Vec<usize>, Vec<usize>) = ((0..7).collect(), (3..37).collect());
            for threshold in [-1.0, 0.0, 0.3, 0.9] {
                let found = all.candidates(&rows, &columns, threshold);
                for row in &rows {
                    for (at, column) in columns.iter().enumerate() {
                        let (x, y) = (&vectors[*row], &vectors[*column]);
                        let dot = |x: &[f32], y: &[f32]| -> f64 {
                            x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
                        };
                        let lengths = (dot(x, x) * dot(y, y)).sqrt();
                        let wanted = if lengths > 0.0 { dot(x, y) / lengths } else { 0.0 };
                        let cosine = all.cosine(*row, *column);
                        assert!((cosine - wanted).abs() < 1e-6, "{dim}: {cosine}, not {wanted}");
                        let is_found = found[*row].contains(&at);
                        assert!(is_found || cosine <= threshold, "{dim} {row} {column}: {cosine}");
                        assert!(!is_found || cosine > threshold - 2.0 * TOLERANCE, "{dim}: {cosine}");
                    }
                }
            }
        }
    }
}
