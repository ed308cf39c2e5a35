//! Clusters of similar memories, for consolidation: memories of one partition, category and outcome, each of
//! which is similar to each other one (complete link).

use crate::error::Result;
use crate::memory::{self, PriorRule, is_active};
use crate::record::{
    MEMORY, Object, Origin, Record, STRATEGY, Scopes, StoredRecord, VectorFormat, unexpected, write_vector,
};
use crate::store::{Select, Store, Walk};
use crate::text;
use crate::vector::{BLOCK_ROWS, UnitVectors};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// The rule for the clusters of a store.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClusterRule {
    /// Every cosine of two members is above it.
    pub threshold: f64,
    /// The greatest number of clusters, of the whole run.
    pub max: Option<usize>,
    /// A partition whose newest consolidated strategy is younger is passed over.
    pub window: Option<Duration>,
    /// Whether the mean of the members' vectors is computed.
    pub centroid: bool,
    pub prior: PriorRule,
}

/// Memories that are similar to each other, by time and id.
#[derive(Clone, PartialEq, Debug)]
pub struct Cluster {
    /// At least two; their derived members are set.
    pub members: Vec<StoredRecord>,
    /// The mean and the least cosine of all pairs.
    pub average_similarity: f64,
    pub min_similarity: f64,
    /// The mean of the members' vectors, each normalized.
    pub centroid: Option<Vec<f32>>,
}

impl Cluster {
    /// Appends the cluster as a line, without a line end.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"kind\":\"cluster\",\"members\":[");
        for (at, member) in self.members.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            member.write(out);
        }
        let (average, min) = (memory::decimal(self.average_similarity), memory::decimal(self.min_similarity));
        let similarities = format!("],\"average_similarity\":{average},\"min_similarity\":{min}");
        out.extend_from_slice(similarities.as_bytes());
        if let Some(centroid) = &self.centroid {
            out.extend_from_slice(b",\"centroid\":");
            write_vector(centroid, VectorFormat::Numbers, out);
        }
        out.push(b'}');
    }
}

/// The counts of a search for clusters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClusterSums {
    /// The number of active memories.
    pub examined: usize,
    /// The number of these that have no vector, and so cannot be compared.
    pub unembedded: usize,
    pub clusters: usize,
    /// The number of memories in clusters.
    pub clustered: usize,
    /// The partitions that were passed over.
    pub passed_over: usize,
}

impl ClusterSums {
    /// The counts as a line.
    pub fn to_object(&self) -> Object {
        let mut line = Object::default();
        line.set_text("kind", "totals");
        for (name, count) in [
            ("examined", self.examined),
            ("clusters", self.clusters),
            ("clustered", self.clustered),
            ("unembedded", self.unembedded),
            ("passed_over", self.passed_over),
        ] {
            line.set(name, count.to_string());
        }
        line
    }

    /// The counts in words: `examined 4 memories, found 1 cluster of 3 memories`.
    pub fn to_text(&self) -> String {
        let counted = |count: usize, noun| text::counted(count as u64, noun);
        let mut note = format!("examined {}", counted(self.examined, "memory"));
        note.push_str(&format!(", found {}", counted(self.clusters, "cluster")));
        if self.clusters > 0 {
            note.push_str(&format!(" of {}", counted(self.clustered, "memory")));
        }
        if self.passed_over > 0 {
            let partitions = counted(self.passed_over, "partition");
            note.push_str(&format!(", passed over {partitions} consolidated within the window"));
        }
        note
    }
}

/// Visits the clusters of some scopes, partition by partition, each by the time of its first member. Vectors
/// are those of `model`; `now` is in milliseconds since 1970, UTC. Fails if the threshold is no cosine, or
/// the store or `on_cluster` fails.
pub fn clusters(
    store: &mut dyn Store,
    model: &str,
    scopes: &[Scopes],
    rule: &ClusterRule,
    now: i64,
    on_cluster: &mut dyn FnMut(Cluster) -> Result<()>,
) -> Result<ClusterSums> {
    if !(0.0..=1.0).contains(&rule.threshold) {
        return Err(unexpected("--threshold", "a cosine from 0 to 1", &rule.threshold.to_string()));
    }
    let mut sums = ClusterSums::default();
    for scopes in areas(store, scopes)? {
        if rule.max.is_some_and(|max| sums.clusters >= max) {
            break;
        }
        let Candidates { memories, vectors } = Candidates::read(store, model, scopes)?;
        if rule.window.is_some_and(|window| is_recent(&memories, window, now)) {
            sums.passed_over += 1;
            continue;
        }
        let mut groups: BTreeMap<(String, String), Vec<StoredRecord>> = BTreeMap::new();
        for memory in derived(store, memories, rule.prior)?.into_iter().filter(is_active) {
            sums.examined += 1;
            if vectors.contains_key(&memory.id) {
                groups.entry((memory.category(), memory.member_text("outcome"))).or_default().push(memory);
            } else {
                sums.unembedded += 1;
            }
        }
        for group in groups.into_values() {
            let most = rule.max.map_or(usize::MAX, |max| max - sums.clusters);
            for mut cluster in clusters_of(group, &vectors, rule, most) {
                memory::derive(store, &mut cluster.members, rule.prior)?;
                sums.clusters += 1;
                sums.clustered += cluster.members.len();
                on_cluster(cluster)?;
            }
        }
    }
    Ok(sums)
}

/// The parts of a store within which memories are compared: partitions, in the order of their names, or
/// narrower selections.
fn areas(store: &mut dyn Store, scopes: &[Scopes]) -> Result<Vec<Scopes>> {
    let mut areas = Vec::new();
    for scopes in scopes {
        if matches!(scopes, Scopes::All | Scopes::Matching(_)) {
            let stored = store.scopes(None)?.into_iter().map(|(scope, _)| scope);
            let chosen = stored.filter(|scope| scopes.contains(scope));
            let partitions: BTreeSet<String> = chosen.map(|scope| scope.partition).collect();
            areas.extend(partitions.into_iter().map(Scopes::Partition));
        } else if !areas.contains(scopes) {
            areas.push(scopes.clone());
        }
    }
    Ok(areas)
}

/// Memories by time and id, and the vectors of those that have one, by their ids.
struct Candidates {
    memories: Vec<StoredRecord>,
    vectors: HashMap<String, Vec<f32>>,
}

impl Candidates {
    fn read(store: &mut dyn Store, model: &str, scopes: Scopes) -> Result<Candidates> {
        let mut found = Candidates { memories: Vec::new(), vectors: HashMap::new() };
        let which = Select::records(vec![&MEMORY], scopes);
        store.walk(&Walk { embeddings: true, ..Walk::records(which) }, &mut |record| {
            match record {
                Record::Stored(memory) => found.memories.push(memory),
                Record::Embedding(embedding) if embedding.model == model => {
                    found.vectors.insert(embedding.of, embedding.vector);
                }
                Record::Embedding(_) | Record::Link(_) | Record::Tombstone(_) => {}
            }
            Ok(())
        })?;
        found.memories.sort_by(|one, other| (one.timestamp, &one.id).cmp(&(other.timestamp, &other.id)));
        Ok(found)
    }
}

/// Sets the derived members but `updated_at`.
fn derived(
    store: &mut dyn Store,
    mut memories: Vec<StoredRecord>,
    rule: PriorRule,
) -> Result<Vec<StoredRecord>> {
    memory::derive_untimed(store, &mut memories, rule)?;
    Ok(memories)
}

/// Whether the newest consolidated strategy is younger than the window.
fn is_recent(memories: &[StoredRecord], window: Duration, now: i64) -> bool {
    let consolidated =
        |memory: &&StoredRecord| Origin::of(memory) == Origin::Consolidated && memory.category() == STRATEGY;
    let newest = memories.iter().filter(consolidated).map(|memory| memory.timestamp).max();
    newest.is_some_and(|newest| i128::from(now) - i128::from(newest) < window.as_millis().cast_signed())
}

/// The clusters of a group, greedily: each memory that is in no cluster yet takes those after it that are
/// similar to all that it has taken. The vectors have one dimension and any length (norm).
fn clusters_of(
    group: Vec<StoredRecord>,
    vectors: &HashMap<String, Vec<f32>>,
    rule: &ClusterRule,
    most: usize,
) -> Vec<Cluster> {
    let units = UnitVectors::new(group.iter().map(|memory| vectors[&memory.id].as_slice()));
    let mut is_taken = vec![false; group.len()];
    let mut found: Vec<(Vec<usize>, Vec<f64>)> = Vec::new();
    let mut open: Vec<usize> = (0..group.len()).collect();
    while !open.is_empty() && found.len() < most {
        let rows = open.len().min(BLOCK_ROWS);
        let candidates = units.candidates(&open[..rows], &open, rule.threshold);
        for (at, near) in candidates.into_iter().enumerate() {
            let seed = open[at];
            if is_taken[seed] || found.len() >= most {
                continue;
            }
            let (mut members, mut cosines) = (vec![seed], Vec::new());
            for other in near.into_iter().filter(|near| *near > at).map(|near| open[near]) {
                if is_taken[other] {
                    continue;
                }
                let own: Vec<f64> = members.iter().map(|member| units.cosine(*member, other)).collect();
                if own.iter().all(|cosine| *cosine > rule.threshold) {
                    members.push(other);
                    cosines.extend(own);
                }
            }
            if members.len() > 1 {
                for member in &members {
                    is_taken[*member] = true;
                }
                found.push((members, cosines));
            }
        }
        open.drain(..rows);
        open.retain(|at| !is_taken[*at]);
    }
    let dim = group.first().map_or(0, |memory| vectors[&memory.id].len());
    let mut group: Vec<Option<StoredRecord>> = group.into_iter().map(Some).collect();
    let cluster = |(members, cosines): (Vec<usize>, Vec<f64>)| Cluster {
        average_similarity: cosines.iter().sum::<f64>() / cosines.len() as f64,
        min_similarity: cosines.iter().copied().fold(1.0, f64::min),
        centroid: rule.centroid.then(|| centroid(&units, &members, dim)),
        members: members.iter().filter_map(|member| group[*member].take()).collect(),
    };
    found.into_iter().map(cluster).collect()
}

/// The mean of some vectors of this dimension.
fn centroid(units: &UnitVectors, members: &[usize], dim: usize) -> Vec<f32> {
    let mut sums = vec![0.0; dim];
    for member in members {
        sums.iter_mut().zip(units.row(*member)).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    sums.into_iter().map(|sum| (sum / members.len() as f64) as f32).collect()
}
