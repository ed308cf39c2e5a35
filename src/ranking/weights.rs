//! Every weight and threshold by which records are ranked, with its reason. Those of messages were chosen by
//! `scripts/bench recall`, those of documents by `scripts/bench tree`; constants from the literature name it.

/// The weights of the records of a kind: a kind differs from another by its row alone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Weighting {
    /// The constants of Okapi BM25.
    pub(crate) k1: f64,
    pub(crate) b: f64,
    /// Whether a text that holds half of a question is worth less than half.
    pub(crate) counts_share: bool,
    /// Without a model, the least share of a question's words that a recalled record holds, weighed by their
    /// rarity.
    pub(crate) min_share: f64,
}

impl Default for Weighting {
    fn default() -> Weighting {
        MESSAGES
    }
}

/// BM25 as in Anserini (Yang, Fang and Lin 2017): texts are short, and their length means little.
pub(crate) const MESSAGES: Weighting = Weighting { k1: 0.9, b: 0.4, counts_share: true, min_share: 0.2 };
/// As messages; but there are few, and their confidence is known, so that less of the question is enough.
pub(crate) const MEMORIES: Weighting = Weighting { min_share: 0.1, ..MESSAGES };
/// BM25 as in Robertson and Zaragoza (2009): a section that says a rare word often is about it, though it
/// says nothing of the other words of the question.
pub(crate) const DOCUMENTS: Weighting = Weighting { k1: 1.2, b: 0.75, counts_share: false, min_share: 0.1 };
/// The weight of a word that only contains the token.
pub(crate) const SUBSTRING: f32 = 0.5;

/// A text of a conversation is scored by the best of its passages of this many words, since a long answer
/// holds most words of any question somewhere.
pub(crate) const WINDOW: usize = 100;
/// The power of a role's mean length in a factor for its records: what is told in few words, as users do,
/// answers more often than one part of a long text.
pub(crate) const ROLE: f64 = 0.3;

/// The weight of a cosine among memories and documents, against 1 for the words. In a conversation both weigh
/// 1.
pub(crate) const MEANING: f64 = 0.7;
/// The factor for a record of the time that the question names.
pub(crate) const NAMED_TIME: f64 = 1.5;

/// The greatest distance at which a neighbour contributes to a score.
pub(crate) const NEIGHBOUR_REACH: usize = 2;
/// The part of a neighbour's own score that it contributes, at one step and at two.
pub(crate) const NEIGHBOURS: [f64; NEIGHBOUR_REACH] = [0.4, 0.2];
/// A short record that ends in a question contributes this beyond that to the next record, which answers it.
pub(crate) const ANSWERED: f64 = 0.4;
/// The bytes up to which a text is short. A longer one asks less, and gets less from its neighbours: it has
/// words enough of its own to be found by.
pub(crate) const SHORT: f64 = 300.0;
/// Words count whole beside meaning if some record holds this share of the question's: of fewer, as where it
/// is in another language than the texts, they count in proportion.
pub(crate) const TRUSTED_SHARE: f64 = 0.2;
/// In the relevance of a record, the weight of the share of the question's words that it holds, against the
/// position of its cosine between the floor and 1.
pub(crate) const SHARE_OF_WORDS: f64 = 0.5;
/// The least number of candidates that words and meaning find each; if more hits are wanted, as many.
pub(crate) const MIN_CANDIDATES: usize = 40;

/// The least relevance of a recalled record, by meaning: in a scope of one record, and what is added for each
/// tenfold of it, since among many records one resembles any question by chance. Chosen on conversations with
/// questions that they answer, questions of other conversations and general ones.
pub(crate) const MIN_RELEVANCE: f64 = 0.05;
pub(crate) const RELEVANCE_PER_TENFOLD: f64 = 0.09;
/// The number of records in a scope from which on that threshold is constant.
pub(crate) const SATURATION: usize = 1000;
/// The score of a recalled record is at least this part of the best one's: those below share only a common
/// word with the question.
pub(crate) const SCORE_FLOOR: f64 = 0.3;
/// With selective recall the n-th of at most N messages needs this part of the best score, times n/N.
pub(crate) const BAR_SLOPE: f64 = 0.85;
/// With selective recall, a message is kept if its relevance is this part of the threshold that some message
/// reaches: if memory has to do with the question, the messages beside the most relevant one often do, too.
pub(crate) const COMPANION_THRESHOLD: f64 = 0.8;

/// The part of a score that remains after a step along a link.
pub(crate) const HOP: f64 = 0.5;
/// The strength of the link between two records of a conversation that follow each other in time.
pub(crate) const NEXT_IN_TIME: f64 = 0.5;

/// The factor for a consolidated memory.
pub(crate) const CONSOLIDATED: f64 = 1.2;

/// The number of nodes of a tree that have a score of their own: the least, and that for each wanted hit.
pub(crate) const MIN_NODES: usize = 50;
pub(crate) const NODES_PER_HIT: usize = 3;
/// The weight of the words of the context, against those of the question.
pub(crate) const CONTEXT: f64 = 0.3;
/// The greatest scores for neighbours, and for words in titles and headings, against 1 for the words.
pub(crate) const PAIRS: f64 = 0.4;
pub(crate) const HEADINGS: f64 = 0.2;
/// The factor for a directory without a text of its own.
pub(crate) const OUTLINE: f64 = 0.5;
/// The share of a node's own score in its score in a recursive search.
pub(crate) const OWN_SHARE: f64 = 0.9;
/// The number of the best directories from which a recursive search starts, beside the targets.
pub(crate) const START_DIRECTORIES: usize = 3;
/// The number of directories after which a recursive search ends if they changed nothing.
pub(crate) const STABLE_ROUNDS: usize = 3;
/// In the choice of a document's sentences, the weight of a pair of neighbours, against 1 for a word.
pub(crate) const PASSAGE_PAIR: f64 = 0.4;

/// The weight of the similarity of a related message in its priority for the window; the rest is recency.
pub(crate) const PRIORITY_OF_SIMILARITY: f64 = 0.7;
