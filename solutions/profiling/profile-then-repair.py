"""Play both versions call by call; the code keeps the hashes of each different word."""

import numpy as np


def solve(given):
    occurrences = given["documents"] * given["words"]
    hashing = float(f"{occurrences * given['seeds'] * given['letters'] * 70e-6:.2e}")
    merging = float(f"{occurrences * given['seeds'] * 29e-6:.2e}")
    before = after = without = 0.0
    for number in range(occurrences):
        before += hashing / occurrences + merging / occurrences
        without += merging / occurrences
        after += merging / occurrences
        if number < given["vocabulary"]:  # a word that was not seen before
            after += hashing / occurrences
        probability_new = 1 - 1 / given["vocabulary"]
    distinct = round(sum(probability_new**earlier for earlier in range(given["words"])))
    changes = {
        "hashes": without,
        "merge": after - without + sum(without / 2 / occurrences for _ in range(occurrences)),
        "distinct": after - without + given["documents"] * distinct * merging / occurrences,
    }
    return {
        "limit": before / without,
        "gain": before / after,
        "now": min(changes, key=changes.get),
    }


def hashes(word, seeds):
    found = []
    for seed in seeds:
        h = seed
        for letter in word:
            h = (h * 31 + ord(letter)) % 65521
        found.append(h)
    return found


def signatures(documents, seeds):
    kept, found = {}, []
    for words in documents:
        smallest = [65521] * len(seeds)
        for word in words:
            if word not in kept:
                kept[word] = hashes(word, seeds)
            for i, h in enumerate(kept[word]):
                if h < smallest[i]:
                    smallest[i] = h
        found.append(smallest)
    return found


def signatures_right_minimum(documents, seeds):
    kept = {word: hashes(word, seeds) for word in set().union(*documents)}
    none = [65521] * len(seeds)
    return [[min(c) for c in zip(none, *map(kept.get, set(words)))] for words in documents]


def signatures_right_numpy(documents, seeds):
    different = {word: row for row, word in enumerate({w for words in documents for w in words})}
    table = np.full((len(different) + 1, len(seeds)), 65521)
    start = np.array(seeds, dtype=np.int64)
    for word, row in different.items():
        h = start
        for letter in word:
            h = (h * 31 + ord(letter)) % 65521
        table[row] = h
    rows = ([len(different), *map(different.get, words)] for words in documents)
    return [table[one].min(axis=0).tolist() for one in rows]


def signatures_slow_as_given(documents, seeds):
    found = []
    for words in documents:
        smallest = [65521] * len(seeds)
        for word in words:
            for i, h in enumerate(hashes(word, seeds)):
                if h < smallest[i]:
                    smallest[i] = h
        found.append(smallest)
    return found


def signatures_slow_kept_in_vain(documents, seeds):
    # Every occurrence is hashed before the dict notices that it knows the word.
    kept = {word: hashes(word, seeds) for words in documents for word in words}
    none = [65521] * len(seeds)
    return [[min(c) for c in zip(none, *map(kept.get, words))] for words in documents]


def signatures_slow_within_a_document(documents, seeds):
    found = []
    for words in documents:
        smallest = [65521] * len(seeds)
        for word in set(words):
            smallest = list(map(min, smallest, hashes(word, seeds)))
        found.append(smallest)
    return found


def signatures_cases(rng, given):
    def seeds(count):
        return [int(n) for n in rng.integers(0, 65521, size=count)]

    def word(letters):
        return "".join(rng.choice(list("abcdeäz"), size=letters))

    def case(documents, words, vocabulary, count):
        known = [word(int(rng.integers(1, 7))) for _ in range(vocabulary)]
        picked = rng.integers(0, vocabulary, size=(documents, words))
        return {"documents": [[known[i] for i in row] for row in picked], "seeds": seeds(count)}

    yield "edge", {"documents": [], "seeds": seeds(3)}
    yield "edge", {"documents": [[], ["ab"], []], "seeds": seeds(2)}
    yield "edge", {"documents": [["ab", "c"], ["d"]], "seeds": []}
    yield "edge", {"documents": [[""], ["", "abc"]], "seeds": [65520, 7, 0]}
    yield "edge", {"documents": [["žluť", "λ"], ["語", "a"]], "seeds": seeds(3)}
    # The same letters in another order, and the same word again after it was merged with others.
    yield "repeated", {"documents": [["abc"], ["cab"], ["bca"], ["abc", "cab"]], "seeds": seeds(5)}
    yield "repeated", {"documents": [["zz"], ["zz", "ab", "q"], ["zz"], ["q"]], "seeds": seeds(8)}
    for _ in range(4):
        yield "repeated", case(int(rng.integers(3, 9)), 6, 9, int(rng.integers(2, 9)))


def signatures_wrong_letters_of_one_byte(documents, seeds):
    narrow = [["".join(chr(ord(c) & 255) for c in word) for word in words] for words in documents]
    return signatures(narrow, seeds)


def signatures_wrong_changes_what_is_kept(documents, seeds):
    kept, found = {}, []
    for words in documents:
        smallest = [65521] * len(seeds)
        for number, word in enumerate(words):
            if word not in kept:
                kept[word] = hashes(word, seeds)
            if number == 0:
                smallest = kept[word]
            for i, h in enumerate(kept[word]):
                if h < smallest[i]:
                    smallest[i] = h
        found.append(smallest)
    return found


def signatures_wrong_key(documents, seeds):
    kept, found = {}, []
    for words in documents:
        smallest = [65521] * len(seeds)
        for word in words:
            key = "".join(sorted(word))
            if key not in kept:
                kept[key] = hashes(word, seeds)
            smallest = list(map(min, smallest, kept[key]))
        found.append(smallest)
    return found


def signatures_wrong_one_seed(documents, seeds):
    kept, found = {}, []
    for words in documents:
        smallest = [65521] * len(seeds)
        for word in words:
            for i, seed in enumerate(seeds):
                if word not in kept:
                    kept[word] = hashes(word, [seed])[0]
                smallest[i] = min(smallest[i], kept[word])
        found.append(smallest)
    return found


def signatures_wrong_own_hash(documents, seeds):
    return [
        [min((hash((seed, word)) % 65521 for word in words), default=65521) for seed in seeds]
        for words in documents
    ]


def signatures_wrong_not_reset(documents, seeds):
    kept, found = {}, []
    smallest = [65521] * len(seeds)
    for words in documents:
        for word in words:
            if word not in kept:
                kept[word] = hashes(word, seeds)
            smallest = list(map(min, smallest, kept[word]))
        found.append(smallest)
    return found


def signatures_wrong_empty(documents, seeds):
    kept = {word: hashes(word, seeds) for words in documents for word in words}
    return [[min(c) for c in zip(*map(kept.get, words))] for words in documents]
