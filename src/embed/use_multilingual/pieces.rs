//! Normalized text into the pieces of the vocabulary: of all ways to split it, the one whose pieces have the
//! greatest sum of scores (the unigram model of SentencePiece, Kudo 2018), found by dynamic programming
//! (Viterbi).

/// The id of the token for an unknown character.
pub(super) const UNKNOWN: u32 = 0;

/// The score of an unknown character, below that of the rarest piece.
const UNKNOWN_PENALTY: f64 = 10.0;

/// The trie of the pieces. The nodes are in breadth-first order, the root first, so that the children of one
/// follow each other.
#[derive(Default)]
pub(super) struct TrieNodes {
    /// The byte that leads to each node, in ascending order among siblings.
    pub(super) labels: Vec<u8>,
    /// The first child of each node, which is where those of the node before end; one number more than nodes.
    pub(super) first_child: Vec<u32>,
    /// The id of the piece that ends at each node, and 1; 0 if none does.
    pub(super) ids: Vec<u32>,
}

/// The vocabulary.
pub(super) struct Pieces {
    trie: TrieNodes,
    scores: Vec<f32>,
    unknown_score: f64,
}

/// A piece of a text.
pub(super) struct Piece {
    pub(super) id: u32,
    /// Where it begins, in bytes.
    pub(super) start: usize,
}

/// The best way to split a text up to a place.
#[derive(Clone, Copy)]
struct Best {
    score: f64,
    /// The last piece.
    start: usize,
    id: u32,
}

impl TrieNodes {
    /// The trie of pieces, whose ids are their places in the list.
    pub(super) fn build(pieces: &[&[u8]]) -> TrieNodes {
        let mut sorted: Vec<(&[u8], u32)> = pieces.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let mut trie = TrieNodes { labels: vec![0], ..TrieNodes::default() };
        // The pieces that begin with what leads to each node of one depth.
        let mut level = vec![&sorted[..]];
        let mut depth = 0;
        while !level.is_empty() {
            let mut below = Vec::new();
            for mut group in level {
                let own = group.split_first().filter(|((piece, _), _)| piece.len() == depth);
                trie.ids.push(own.map_or(0, |((_, id), _)| id + 1));
                group = own.map_or(group, |(_, others)| others);
                trie.first_child.push(trie.labels.len() as u32);
                for children in group.chunk_by(|(a, _), (b, _)| a[depth] == b[depth]) {
                    trie.labels.push(children[0].0[depth]);
                    below.push(children);
                }
            }
            level = below;
            depth += 1;
        }
        trie.first_child.push(trie.labels.len() as u32);
        trie
    }

    /// The child of a node by a byte.
    fn child(&self, node: usize, byte: u8) -> Option<usize> {
        let (first, end) = (self.first_child[node] as usize, self.first_child[node + 1] as usize);
        self.labels[first..end].binary_search(&byte).ok().map(|n| first + n)
    }

    /// Whether every number is within its bounds.
    fn is_sound(&self, pieces: usize) -> bool {
        let nodes = self.labels.len();
        self.ids.len() == nodes
            && self.first_child.len() == nodes + 1
            && self.first_child.is_sorted()
            && self.first_child.last().is_some_and(|last| *last as usize == nodes)
            && self.ids.iter().all(|id| *id as usize <= pieces)
    }
}

impl Pieces {
    /// A vocabulary, with the score of each token; `None` if its parts do not fit each other.
    pub(super) fn new(trie: TrieNodes, scores: Vec<f32>) -> Option<Pieces> {
        let least = scores.iter().copied().fold(f32::INFINITY, f32::min);
        let unknown_score = f64::from(least) - UNKNOWN_PENALTY;
        trie.is_sound(scores.len()).then_some(Pieces { trie, scores, unknown_score })
    }

    /// Splits a normalized text; one of several equal ways is that whose last piece is the longest.
    pub(super) fn split(&self, text: &str) -> Vec<Piece> {
        let unreached = Best { score: f64::NEG_INFINITY, start: 0, id: UNKNOWN };
        let mut best = vec![unreached; text.len() + 1];
        best[0].score = 0.0;
        for (start, c) in text.char_indices() {
            let base = best[start].score;
            let mut reach = |end: usize, id: u32, score: f64| {
                if base + score > best[end].score {
                    best[end] = Best { score: base + score, start, id };
                }
            };
            let mut is_known = false;
            let mut node = 0;
            for (n, byte) in text[start..].bytes().enumerate() {
                let Some(child) = self.trie.child(node, byte) else { break };
                node = child;
                if let Some(id) = self.trie.ids[node].checked_sub(1) {
                    is_known |= n + 1 == c.len_utf8();
                    reach(start + n + 1, id, self.scores[id as usize].into());
                }
            }
            if !is_known {
                reach(start + c.len_utf8(), UNKNOWN, self.unknown_score);
            }
        }
        let mut pieces = Vec::new();
        let mut end = text.len();
        while end > 0 {
            let Best { start, id, .. } = best[end];
            pieces.push(Piece { id, start });
            end = start;
        }
        pieces.reverse();
        pieces
    }
}
