"""What the search of the index knows of each problem, and which problems are related."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from grader.bank.index import own_bank
from grader.integrations.catalogue.entries import CatalogueEntry
from grader.text.markdown import plain_text

RELATED = 5
_CONCEPT_WEIGHT = 3
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def fold_words(texts: Iterable[str]) -> set[str]:
    """Returns the words of *texts* in lowercase ASCII; compounds whole and in pieces.

    >>> sorted(fold_words(["FlashAttention", "all-reduce"]))
    ['all', 'allreduce', 'attention', 'flash', 'flashattention', 'reduce']
    """
    folded: set[str] = set()
    for text in texts:
        plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
        for word in _WORD.findall(plain):
            pieces = re.split(r"[-'’]", _HUMP.sub("-", word))
            folded |= {piece.lower() for piece in (*pieces, "".join(pieces))}
    return folded


def title_words(entry: CatalogueEntry) -> str:
    """Returns the folded words of the title and the id, separated by spaces."""
    return " ".join(sorted(fold_words([entry.head.title, entry.head.id])))


def topic_words(entry: CatalogueEntry) -> str:
    """Returns the folded words of the topics, without those in the title or the id."""
    words = fold_words(entry.head.topics)
    return " ".join(sorted(words - fold_words([entry.head.title, entry.head.id])))


def extra_search_words(entry: CatalogueEntry) -> str:
    """Returns the folded words by which a search should find the problem, besides those of its
    title and topics: words of its texts and concepts, and synonyms of the former."""
    first = entry.variants[0].problem
    texts = [first.prompt, *first.assumptions]
    texts += [text for part in first.parts for text in (part.ask, part.options)]
    plain_texts = [*map(plain_text, texts), *(line.label for line in first.given_values)]
    concepts = [text for concept in entry.concepts for text in (concept.topic, concept.sentence)]
    words = fold_words([*plain_texts, *concepts, entry.family])
    title_words = fold_words([entry.head.title, entry.head.id, *entry.head.topics])
    for word in sorted(title_words):
        words |= fold_words([_synonyms().get(word, "")])
    return " ".join(sorted(word for word in words - title_words if len(word) > 1))


def related_problems(
    entry: CatalogueEntry, entries: Sequence[CatalogueEntry]
) -> tuple[CatalogueEntry, ...]:
    """Returns the problems that share the most concepts and topics with *entry*."""
    scored = [(_similarity(entry, other), other) for other in entries if other is not entry]
    scored.sort(key=lambda pair: -pair[0])
    return tuple(other for score, other in scored[:RELATED] if score)


def _similarity(entry: CatalogueEntry, other: CatalogueEntry) -> int:
    concepts = set(entry.head.concepts) & set(other.head.concepts)
    topics = set(entry.head.topics) & set(other.head.topics)
    return _CONCEPT_WEIGHT * len(concepts) + len(topics)


@lru_cache(maxsize=1)
def _synonyms() -> Mapping[str, str]:
    """Returns other words that a person may search for, by a word of a title or of topics."""
    file = own_bank() / "templates" / "catalogue" / "other-words.json"
    words: Mapping[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return words
