"""Fills pools block by block; the expected results of the code count distinct objects."""

import math
from collections import Counter
from fractions import Fraction


def blocks_in_use(events, block_size):
    tables, lengths, users, fresh, found = {}, {}, {}, 0, []
    for kind, name, *rest in events:
        if kind == "add":
            count = -(-rest[0] // block_size)
            tables[name] = list(range(fresh, fresh + count))
            lengths[name] = rest[0]
            users.update(dict.fromkeys(tables[name], 1))
            fresh += count
        elif kind == "fork":
            tables[rest[0]], lengths[rest[0]] = list(tables[name]), lengths[name]
            for block in tables[name]:
                users[block] += 1
        elif kind == "append":
            table = tables[name]
            if lengths[name] % block_size == 0:
                table.append(fresh)
                users[fresh] = 1
                fresh += 1
            elif users[table[-1]] > 1:
                users[table[-1]] -= 1
                table[-1] = fresh
                users[fresh] = 1
                fresh += 1
            lengths[name] += 1
        else:
            for block in tables.pop(name):
                users[block] -= 1
                if not users[block]:
                    del users[block]
            del lengths[name]
        found.append(len(users))
    return found


def blocks_in_use_right_from_tables(events, block_size):
    """Without counts of users: asks all tables each time."""
    tables, lengths, found = {}, {}, []
    names = iter(range(10**9))
    for event in events:
        match tuple(event):
            case ("add", s, n):
                tables[s] = tuple(next(names) for _ in range((n + block_size - 1) // block_size))
                lengths[s] = n
            case ("fork", s, t):
                tables[t], lengths[t] = tables[s], lengths[s]
            case ("append", s):
                *front, last = tables[s] or (None,)
                others = Counter(b for name, table in tables.items() if name != s for b in table)
                if lengths[s] % block_size == 0:
                    tables[s] = (*tables[s], next(names))
                elif others[last]:
                    tables[s] = (*front, next(names))
                lengths[s] += 1
            case ("free", s):
                del tables[s], lengths[s]
        found.append(len(set().union(*tables.values())) if tables else 0)
    return found


def blocks_in_use_right_pool(events, block_size):
    """A free list, and blocks as lists of tokens."""
    pool, free, tables, results = [], [], {}, []

    def new(content):
        if free:
            index = free.pop()
            pool[index] = [content, 1]
        else:
            index = len(pool)
            pool.append([content, 1])
        return index

    for event in events:
        kind, s = event[:2]
        if kind == "add":
            left, tables[s] = event[2], []
            while left > 0:
                tables[s].append(new(min(left, block_size)))
                left -= block_size
        elif kind == "fork":
            tables[event[2]] = tables[s][:]
            for index in tables[s]:
                pool[index][1] += 1
        elif kind == "append":
            if not tables[s] or pool[tables[s][-1]][0] == block_size:
                tables[s].append(new(1))
            else:
                content, users = pool[tables[s][-1]]
                if users > 1:
                    pool[tables[s][-1]][1] -= 1
                    tables[s][-1] = new(content)
                pool[tables[s][-1]][0] += 1
        else:
            for index in tables.pop(s):
                pool[index][1] -= 1
                if pool[index][1] == 0:
                    free.append(index)
        results.append(len(pool) - len(free))
    return results


def blocks_in_use_expected(events, block_size):
    """A block is the object that holds its tokens; every place of a sequence leads to one."""
    places, found = {}, []
    for kind, name, *rest in events:
        if kind == "add":
            places[name] = []
            for place in range(rest[0]):
                places[name].append([] if place % block_size == 0 else places[name][-1])
        elif kind == "fork":
            places[rest[0]] = list(places[name])
        elif kind == "append":
            own = places[name]
            begun = len(own) % block_size
            elsewhere = any(
                one is own[-1] for s, row in places.items() if s != name for one in row if begun
            )
            if begun and elsewhere:
                copied = []
                own[-begun:] = [copied] * begun
            own.append(own[-1] if begun else [])
        else:
            del places[name]
        found.append(len({id(one) for row in places.values() for one in row}))
    return found


def _drawn(rng, count, block_size, forks):
    """Valid events: appends most of all, names used again, and a few forks of forks."""
    events, lengths = [], {}
    for _ in range(count):
        names = sorted(lengths)
        spare = [f"s{i}" for i in range(9) if f"s{i}" not in lengths]
        kind = rng.choice(["add", "fork", "append", "append", "append", "append", "free"])
        if not names or (kind == "add" and spare):
            name = spare[int(rng.integers(len(spare)))]
            lengths[name] = int(rng.integers(0, 4 * block_size))
            events.append(("add", name, lengths[name]))
            continue
        name = names[int(rng.integers(len(names)))]
        if kind == "fork" and forks and spare:
            lengths[spare[0]] = lengths[name]
            events.append(("fork", name, spare[0]))
        elif kind == "free":
            del lengths[name]
            events.append(("free", name))
        else:
            lengths[name] += 1
            events.append(("append", name))
    return events


def blocks_in_use_cases(rng, given):
    size = given["block"]

    def case(events, block_size=size):
        return {"events": events, "block_size": block_size}

    def appends(name, count):
        return [("append", name)] * count

    yield "without forks", case([])
    yield "without forks", case([("add", "a", 0), *appends("a", 3)], 2)
    yield "without forks", case([("add", "a", size), *appends("a", 1), ("add", "b", 2 * size)])
    yield "without forks", case([("add", "a", size - 1), *appends("a", 2), ("free", "a")])
    for block_size in (1, 3, 4):
        yield "without forks", case(_drawn(rng, 40, block_size, False), block_size)

    yield "copies", case([("add", "a", 5), ("fork", "a", "b"), *appends("b", 4)], 4)
    yield (
        "copies",
        case([("add", "a", 8), ("fork", "a", "b"), *appends("b", 2), *appends("a", 2)], 4),
    )
    triple = [("add", "a", 6), ("fork", "a", "b"), ("fork", "a", "c")]
    yield "copies", case([*triple, ("append", "a"), ("append", "b"), ("append", "c")], 4)
    yield "copies", case([*triple, ("fork", "c", "d"), *appends("d", 3), *appends("c", 3)], 4)
    yield "copies", case([("add", "a", 0), ("fork", "a", "b"), *appends("a", 1), *appends("b", 2)])
    yield "copies", case([("add", "a", size + 1), ("fork", "a", "b"), *appends("b", size)])

    yield "freed sequences", case([*triple, ("free", "a"), ("append", "b"), ("append", "c")], 4)
    yield "freed sequences", case([*triple[:2], ("free", "b"), ("append", "a"), ("free", "a")], 4)
    yield (
        "freed sequences",
        case(
            [*triple[:2], ("free", "a"), ("add", "a", 9), ("fork", "b", "c"), *appends("c", 3)], 4
        ),
    )
    for block_size, count in ((3, 60), (4, 80), (5, 120)):
        yield "freed sequences", case(_drawn(rng, count, block_size, True), block_size)


def _variant(events, block_size, *, copy="shared", release="counted", full="new"):
    """A wrong version: what differs is named by its options."""
    tables, lengths, users, fresh, found = {}, {}, Counter(), 0, []
    for kind, name, *rest in events:
        if kind == "add":
            count = rest[0] // block_size + 1 if full == "extra" else -(-rest[0] // block_size)
            tables[name], lengths[name] = list(range(fresh, fresh + count)), rest[0]
            users.update(tables[name])
            fresh += count
        elif kind == "fork":
            tables[rest[0]], lengths[rest[0]] = list(tables[name]), lengths[name]
            if copy == "at fork" and lengths[name] % block_size:
                tables[rest[0]][-1] = fresh
                fresh += 1
            if copy == "everything":
                tables[rest[0]] = list(range(fresh, fresh + len(tables[name])))
                fresh += len(tables[name])
            users.update(tables[rest[0]])
        elif kind == "append":
            table = tables[name]
            if lengths[name] % block_size == 0 and not (full == "extra" and lengths[name] == 0):
                if copy == "full as well" and table and users[table[-1]] > 1:
                    users[table[-1]] -= 1
                    table[-1] = fresh
                    users[fresh] += 1
                    fresh += 1
                table.append(fresh)
                users[fresh] += 1
                fresh += 1
            elif copy != "never" and table and users[table[-1]] > 1:
                if copy != "old kept":
                    users[table[-1]] -= 1
                table[-1] = fresh
                users[fresh] += 1
                fresh += 1
            lengths[name] += 1
        else:
            for block in tables.pop(name):
                users[block] = 0 if release == "at once" else users[block] - 1
                if release == "never":
                    users[block] += 1
        found.append(sum(count > 0 for count in users.values()))
    return found


def blocks_in_use_wrong_never_copies(events, block_size):
    return _variant(events, block_size, copy="never")


def blocks_in_use_wrong_copies_at_fork(events, block_size):
    return _variant(events, block_size, copy="at fork")


def blocks_in_use_wrong_copies_everything(events, block_size):
    return _variant(events, block_size, copy="everything")


def blocks_in_use_wrong_copies_full_blocks(events, block_size):
    return _variant(events, block_size, copy="full as well")


def blocks_in_use_wrong_every_user_copies(events, block_size):
    """The count of the old block stays, so that the last user copies as well."""
    return _variant(events, block_size, copy="old kept")


def blocks_in_use_wrong_frees_shared_blocks(events, block_size):
    return _variant(events, block_size, release="at once")


def blocks_in_use_wrong_never_frees(events, block_size):
    return _variant(events, block_size, release="never")


def blocks_in_use_wrong_block_too_many(events, block_size):
    return _variant(events, block_size, full="extra")


def blocks_in_use_wrong_tokens(events, block_size):
    """Blocks from lengths alone, as if nothing were shared."""
    lengths, found = {}, []
    for kind, name, *rest in events:
        if kind == "add":
            lengths[name] = rest[0]
        elif kind == "fork":
            lengths[rest[0]] = lengths[name]
        elif kind == "append":
            lengths[name] += 1
        else:
            del lengths[name]
        found.append(sum(-(-n // block_size) for n in lengths.values()))
    return found


def increasing(before, after):
    """What increases when blocks of another size store a sequence of 3,000 tokens, on average over
    lengths and prefixes."""

    def measures(block):
        lengths = range(1, 64 * block + 1)
        return {
            "waste": sum(-n % block for n in lengths) / len(lengths),
            "private-prefix": sum(n % block for n in lengths) / len(lengths),
            "copying": block,
            "table": -(-3000 // block),
            "external": 0,  # any free block serves any sequence
            "token": 1,
        }

    small, large = measures(before), measures(after)
    return [name for name in small if large[name] > small[name]]


def solve(given):
    block = given["block"]
    length = given["system"] + given["question"] + given["output"]
    token = Fraction(str(given["token_cache"])) * 1000
    memory = Fraction(str(given["pool"])) * 10**9

    room = math.floor(memory / token)  # whole tokens, whoever holds them
    reserved = 0
    while (reserved + 1) * given["longest"] <= room:
        reserved += 1
    free = 0
    while (free + 1) * block <= room:
        free += 1

    def sequences(free, begun):
        """Allocates block by block, after *begun* tokens that lie in shared blocks."""
        count = 0
        while True:
            for _ in range(begun, length, block):
                if free == 0:
                    return count
                free -= 1
            count += 1

    prefix = 0
    while prefix + block <= given["system"]:
        prefix += block
    empty = [block - last for last in range(1, block + 1)]
    return {
        "contiguous": reserved,
        "unused": 100
        * sum(place >= length for place in range(given["longest"]))
        / given["longest"],
        "in_blocks": sequences(free, 0),
        "waste": float(token) / 1000 * sum(empty) / len(empty),
        "with_sharing": sequences(free - prefix // block, prefix),
        "other_blocks": increasing(block, 2 * block if given["doubled"] else block // 2),
    }
