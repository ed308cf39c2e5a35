//! The arithmetic: rows of the table in, vectors of texts out.

use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut1, Axis, s};
use std::{io, iter};

/// The dimension of the vectors, of tokens and of texts.
pub(super) const DIM: usize = 512;
/// The numbers that a convolution makes of each token.
const BRANCH: usize = 256;
/// The convolutions: how many neighbouring tokens they see, and how many of these stand before.
const BRANCHES: [(usize, usize); 3] = [(2, 0), (3, 1), (5, 2)];
/// The numbers of a token, when those of the convolutions stand beside its own.
const FEATURES: usize = DIM + BRANCHES.len() * BRANCH;
/// The width of the network over the sum.
const HIDDEN: usize = 320;
/// Tokens share the range of their 6 bits with those of the same remainder by this number.
const RANGES: usize = 17;
/// Keeps a division from being one by zero.
const EPSILON: f32 = 1e-12;

/// All numbers of the layers.
pub(super) const LAYER_NUMBERS: usize = {
    let [(a, _), (b, _), (c, _)] = BRANCHES;
    let convolutions = 2 * (a + b + c) * BRANCH * BRANCH;
    let branches = 3 * (DIM * BRANCH + 5 * BRANCH);
    let network = 2 * DIM * HIDDEN + HIDDEN * HIDDEN + 2 * HIDDEN * DIM + DIM * DIM;
    2 * RANGES + convolutions + branches + 2 * FEATURES + FEATURES * DIM + DIM + network
};

/// A token: its id, and its row of the table.
pub(super) struct Token {
    pub(super) id: u32,
    pub(super) row: [u8; DIM],
}

/// The layers.
pub(super) struct Layers {
    /// The first number of each range of the table, and the distance of two.
    low: Array1<f32>,
    step: Array1<f32>,
    branches: Vec<Branch>,
    norm: Norm,
    sum: Dense,
    /// The network: layers with connections that leave one out.
    d0: Array2<f32>,
    d1: Array2<f32>,
    d2: Array2<f32>,
    d3: Array2<f32>,
    p1: Array2<f32>,
    p3: Array2<f32>,
}

/// Two convolutions, and the layers that prepare a token for them.
struct Branch {
    width: usize,
    before: usize,
    projection: Dense,
    norm: Norm,
    first: Dense,
    second: Dense,
}

/// Weights of the shape inputs × outputs, and what is added.
struct Dense {
    weights: Array2<f32>,
    bias: Array1<f32>,
}

/// Brings rows to mean 0 and variance 1, and scales and shifts them.
struct Norm {
    scale: Array1<f32>,
    shift: Array1<f32>,
}

/// The names of the arrays in the package, in the order of the numbers in the file of the model.
pub(super) fn array_names() -> Vec<String> {
    let branch = |(n, _)| {
        ["proj#", "proj_b#", "ln_g#", "ln_b#", "w1_#", "b1_#", "w2_#", "b2_#"]
            .map(|name| name.replace('#', &format!("{n}")))
    };
    let rest = ["ln_g", "ln_b", "cnn_W", "cnn_b", "d0", "d1", "d2", "d3", "p1", "p3"];
    let names = ["lo", "scale"].map(str::to_owned).into_iter();
    names.chain(BRANCHES.into_iter().flat_map(branch)).chain(rest.map(str::to_owned)).collect()
}

impl Layers {
    /// Takes the layers, `LAYER_NUMBERS` numbers, from a function that reads as many as it is asked for.
    /// Fails if `read` does.
    pub(super) fn read(read: &mut dyn FnMut(usize) -> io::Result<Vec<f32>>) -> io::Result<Layers> {
        let mut reader = Reader(read);
        let (low, step) = (reader.vector(RANGES)?, reader.vector(RANGES)?);
        let mut branches = Vec::new();
        for (width, before) in BRANCHES {
            branches.push(Branch {
                width,
                before,
                projection: reader.dense(DIM, BRANCH)?,
                norm: reader.norm(BRANCH)?,
                first: reader.dense(width * BRANCH, BRANCH)?,
                second: reader.dense(width * BRANCH, BRANCH)?,
            });
        }
        Ok(Layers {
            low,
            step,
            branches,
            norm: reader.norm(FEATURES)?,
            sum: reader.dense(FEATURES, DIM)?,
            d0: reader.matrix(DIM, HIDDEN)?,
            d1: reader.matrix(HIDDEN, HIDDEN)?,
            d2: reader.matrix(HIDDEN, DIM)?,
            d3: reader.matrix(DIM, DIM)?,
            p1: reader.matrix(DIM, HIDDEN)?,
            p3: reader.matrix(HIDDEN, DIM)?,
        })
    }

    /// The vectors of texts, of `DIM` numbers and length 1, given all tokens and the number of each text's.
    /// No text is empty.
    pub(super) fn embed(&self, tokens: &[Token], lengths: &[usize]) -> Vec<Vec<f32>> {
        let mut features = Array2::zeros((tokens.len(), FEATURES));
        for (token, mut row) in tokens.iter().zip(features.rows_mut()) {
            let (low, step) = (self.low[token.id as usize % RANGES], self.step[token.id as usize % RANGES]);
            for (x, code) in row.iter_mut().zip(&token.row) {
                *x = f32::from(*code) * step + low;
            }
        }
        for (n, branch) in self.branches.iter().enumerate() {
            let added = branch.apply(features.slice(s![.., ..DIM]), lengths);
            let first = DIM + n * BRANCH;
            features.slice_mut(s![.., first..first + BRANCH]).assign(&added);
        }
        self.norm.apply(&mut features);
        let mut sums = Array2::zeros((lengths.len(), FEATURES));
        for ((first, length), mut sum) in starts(lengths).zip(lengths).zip(sums.rows_mut()) {
            let texts = features.slice(s![first..first + length, ..]);
            sum.assign(&texts.sum_axis(Axis(0)));
            sum /= *length as f32;
        }
        let mut mean = self.sum.apply(sums.view());
        for (mut row, length) in mean.rows_mut().into_iter().zip(lengths) {
            row *= (*length as f32).sqrt();
        }
        let vectors = self.network(&mean);
        vectors.rows().into_iter().map(|row| row.to_vec()).collect()
    }

    /// The network over the sums of texts; the vectors have length 1.
    fn network(&self, mean: &Array2<f32>) -> Array2<f32> {
        let y0 = relu(mean.dot(&self.d0));
        let y1 = relu(mean.dot(&self.p1) + y0.dot(&self.d1));
        let y2 = relu(y1.dot(&self.d2));
        let mut vectors = (y1.dot(&self.p3) + y2.dot(&self.d3)).mapv_into(f32::tanh);
        for mut row in vectors.rows_mut() {
            let length = row.dot(&row).max(EPSILON).sqrt();
            row /= length;
        }
        vectors
    }
}

impl Branch {
    /// The numbers that the convolutions add to each token, given those of the tokens.
    fn apply(&self, tokens: ArrayView2<f32>, lengths: &[usize]) -> Array2<f32> {
        let mut x = self.projection.apply(tokens);
        self.norm.apply(&mut x);
        let first = relu(self.first.apply(self.windows(&x, lengths).view())) + &x;
        relu(self.second.apply(self.windows(&first, lengths).view())) + &first
    }

    /// Each token's row and its neighbours' as one row; zeros stand for those outside of the text.
    fn windows(&self, x: &Array2<f32>, lengths: &[usize]) -> Array2<f32> {
        let mut windows = Array2::zeros((x.nrows(), self.width * BRANCH));
        for (first, length) in starts(lengths).zip(lengths) {
            for at in 0..*length {
                for n in 0..self.width {
                    let Some(other) = (at + n).checked_sub(self.before).filter(|other| other < length) else {
                        continue;
                    };
                    let place = s![first + at, n * BRANCH..(n + 1) * BRANCH];
                    windows.slice_mut(place).assign(&x.row(first + other));
                }
            }
        }
        windows
    }
}

impl Dense {
    fn apply(&self, x: ArrayView2<f32>) -> Array2<f32> {
        x.dot(&self.weights) + &self.bias
    }
}

impl Norm {
    fn apply(&self, rows: &mut Array2<f32>) {
        for mut row in rows.rows_mut() {
            center(&mut row);
            let variance = row.dot(&row) / row.len() as f32;
            row /= (variance + EPSILON).sqrt();
            row *= &self.scale;
            row += &self.shift;
        }
    }
}

/// Brings the mean of a row to 0.
fn center(row: &mut ArrayViewMut1<f32>) {
    let mean = row.sum() / row.len() as f32;
    *row -= mean;
}

fn relu(x: Array2<f32>) -> Array2<f32> {
    x.mapv_into(|x| x.max(0.0))
}

/// Where the tokens of each text begin.
fn starts(lengths: &[usize]) -> impl Iterator<Item = usize> {
    iter::once(0).chain(lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    }))
}

/// Reads one array after another.
struct Reader<'a>(&'a mut dyn FnMut(usize) -> io::Result<Vec<f32>>);

impl Reader<'_> {
    fn vector(&mut self, length: usize) -> io::Result<Array1<f32>> {
        Ok((self.0)(length)?.into())
    }

    fn matrix(&mut self, rows: usize, columns: usize) -> io::Result<Array2<f32>> {
        let numbers = self.vector(rows * columns)?;
        numbers.into_shape_with_order((rows, columns)).map_err(io::Error::other)
    }

    fn dense(&mut self, inputs: usize, outputs: usize) -> io::Result<Dense> {
        Ok(Dense { weights: self.matrix(inputs, outputs)?, bias: self.vector(outputs)? })
    }

    fn norm(&mut self, length: usize) -> io::Result<Norm> {
        Ok(Norm { scale: self.vector(length)?, shift: self.vector(length)? })
    }
}
