"""The formula by which rsv-search --hybrid ranks (src/search/hybrid.rs, src/store/evidence.rs), and rankings without
one of its parts: the ablations of recall.py. They start from the scores by words and the cosines that it prints."""

from __future__ import annotations

import datetime
import functools
import re
from dataclasses import dataclass
from typing import Callable

from recall_sets import ALL, Conversation, Question, Ranking, Scores, best, fts5

# The constants of src/ranking/weights.rs.
NEIGHBOURS = (0.4, 0.2)
ANSWERED = 0.4
SHORT = 300
ROLE = 0.3
NAMED_TIME = 1.5
MIN_CANDIDATES = 40

MONTHS = "january february march april may june july august september october november december".split()


@dataclass(eq=False)
class Evidence:
    """The scores of the messages of a conversation for a question."""

    question: Question
    words: Scores
    cosines: Scores
    # The number of candidates by words, and by meaning.
    candidates: int = MIN_CANDIDATES

    @property
    def conversation(self) -> Conversation:
        return self.question.conversation

    @functools.cached_property
    def seeds(self) -> set[int]:
        """The candidates by words and by meaning. The last of those by words may be others than the tool's, which
        takes them by their BM25."""
        return set(best(self.words)[: self.candidates]) | set(best(self.cosines)[: self.candidates])

    @functools.cached_property
    def steps(self) -> set[int]:
        """The messages from which a step leads to the next one: those around a seed."""
        reach, last = len(NEIGHBOURS), self.question.before - 1
        return {at for seed in self.seeds for at in range(max(0, seed - reach), min(last, seed + reach))}

    @functools.cached_property
    def pool(self) -> set[int]:
        """The messages that are ranked: the seeds and their neighbours."""
        return self.seeds | self.steps | {at + 1 for at in self.steps}

    def neighbour(self, at: int, step: int) -> int:
        """The message this many steps after one, or before it if negative; -1 if it is not known."""
        between = range(at, at + step) if step > 0 else range(at + step, at)
        return at + step if self.steps.issuperset(between) else -1

    def size(self, at: int) -> int:
        return max(1, len(self.conversation.text(at).encode()))

    def shortness(self, at: int) -> float:
        return min(1.0, SHORT / self.size(at))

    def role(self, at: int) -> str:
        return self.conversation.messages[at]["role"]

    def role_factors(self) -> dict[str, float]:
        """A message counts less if those of its role are longer than others."""
        sizes: dict[str, list] = {}
        for at in self.pool:
            sizes.setdefault(self.role(at), []).append(self.size(at))
        mean = sum(map(sum, sizes.values())) / max(1, len(self.pool))
        return {role: (mean * len(some) / sum(some)) ** ROLE for role, some in sizes.items()}

    def is_of_named_time(self) -> Callable[[int], bool]:
        """Whether a message is of the months and years that the question names."""
        words = re.findall(r"[^\W_]+", self.question.text.lower())
        months = {n for word in words if len(word) > 2 for n, name in enumerate(MONTHS, 1) if name.startswith(word)}
        years = {int(word) for word in words if re.fullmatch(r"(19|20)\d\d", word)}

        def is_of_it(at: int) -> bool:
            seconds = self.conversation.messages[at]["timestamp"] / 1000
            then = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
            return (not months or then.month in months) and (not years or then.year in years)

        return is_of_it if months or years else lambda at: False


def relative(evidence: Evidence) -> Scores:
    """The score by words and the cosine, each relative to the best one."""
    pool = evidence.pool
    words = {at: evidence.words.get(at, 0.0) for at in pool}
    cosines = {at: max(0.0, evidence.cosines.get(at, 0.0)) for at in pool}
    most, nearest = max(words.values(), default=0.0) or 1.0, max(cosines.values(), default=0.0) or 1.0
    return {at: words[at] / most + cosines[at] / nearest for at in pool}


def reciprocal(evidence: Evidence) -> Scores:
    """Reciprocal rank fusion (Cormack, Clarke and Buettcher 2009)."""
    scores = dict.fromkeys(evidence.pool, 0.0)
    for part in (evidence.words, evidence.cosines):
        for place, at in enumerate(best(part), 1):
            if at in scores:
                scores[at] += 1 / (60 + place)
    return scores


def ranking(
    evidence: Evidence,
    fused: Callable[[Evidence], Scores] = relative,
    role_counts: bool = True,
    time_counts: bool = True,
    neighbours: tuple[float, ...] = NEIGHBOURS,
    answered: float = ANSWERED,
    length_counts: bool = True,
) -> Ranking:
    """The messages with a score above 0, best first."""
    own = fused(evidence)
    factors = evidence.role_factors() if role_counts else {}
    is_of_named_time = evidence.is_of_named_time() if time_counts else lambda at: False
    for at in own:
        own[at] *= factors.get(evidence.role(at), 1.0) * (NAMED_TIME if is_of_named_time(at) else 1.0)

    def lent(at: int, step: int, part: float) -> float:
        before, after = evidence.neighbour(at, -step), evidence.neighbour(at, step)
        asks = step == 1 and before >= 0 and evidence.conversation.text(before).rstrip().endswith(("?", "？", "؟"))
        more = answered * evidence.shortness(before) if asks else 0.0
        return max(own.get(before, 0.0) * (part + more), own.get(after, 0.0) * part)

    scores = {}
    for at in own:
        lift = sum(lent(at, step, part) for step, part in enumerate(neighbours, 1))
        scores[at] = own[at] + lift * (evidence.shortness(at) if length_counts else 1.0)
    return best({at: score for at, score in scores.items() if score > 0})


def without_meaning(evidence: Evidence) -> Ranking:
    return ranking(Evidence(evidence.question, evidence.words, {}))


def words_alone(evidence: Evidence) -> Ranking:
    return best(evidence.words)


def without_words(evidence: Evidence) -> Ranking:
    return ranking(Evidence(evidence.question, {}, evidence.cosines))


def with_bm25(evidence: Evidence) -> Ranking:
    return ranking(Evidence(evidence.question, fts5(evidence.question), evidence.cosines))


def with_all_candidates(evidence: Evidence) -> Ranking:
    return ranking(Evidence(evidence.question, evidence.words, evidence.cosines, candidates=ALL))


AS_IT_SHIPS, WITH_ALL = "the formula as it ships", "all messages as candidates"
ABLATIONS: dict[str, Callable[[Evidence], Ranking]] = {
    AS_IT_SHIPS: ranking,
    "without meaning": without_meaning,
    "  words alone, each message for itself": words_alone,
    "without words": without_words,
    "words by FTS5's BM25 of whole messages": with_bm25,
    "reciprocal rank fusion of the two": functools.partial(ranking, fused=reciprocal),
    "without roles": functools.partial(ranking, role_counts=False),
    "without neighbours": functools.partial(ranking, neighbours=()),
    "  neighbours at one step only": functools.partial(ranking, neighbours=NEIGHBOURS[:1]),
    "  a question lends no more than others": functools.partial(ranking, answered=0.0),
    "  long messages are lent as much": functools.partial(ranking, length_counts=False),
    "without named months and years": functools.partial(ranking, time_counts=False),
    WITH_ALL: with_all_candidates,
}
