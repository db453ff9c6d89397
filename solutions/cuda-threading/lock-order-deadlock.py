"""Transfers in one order of locks, and cycles of the lock-order graph."""

import itertools


def transfer(source, target, amount):
    first, second = sorted((source, target), key=lambda account: account.number)
    with first.lock:
        if first is second:
            return source.money.balance >= amount
        with second.lock:
            if source.money.balance < amount:
                return False
            source.money.balance -= amount
            target.money.balance += amount
            return True


def transfer_right_by_hand(source, target, amount):
    locks = [source.lock]
    if target.number > source.number:
        locks.append(target.lock)
    if target.number < source.number:
        locks.insert(0, target.lock)
    for lock in locks:
        lock.acquire()
    enough = source.money.balance >= amount
    if enough:
        source.money.balance = source.money.balance - amount
        target.money.balance = target.money.balance + amount
    for lock in reversed(locks):
        lock.release()
    return enough


def transfer_right_downwards(source, target, amount):
    if source.number == target.number:
        with source.lock:
            return not source.money.balance < amount
    later, earlier = (source, target) if source.number > target.number else (target, source)
    with later.lock, earlier.lock:
        left = source.money.balance - amount
        if left < 0:
            return False
        source.money.balance = left
        target.money.balance += amount
    return True


def transfer_expected(balances, moves):
    return ...  # several ends may be right


def transfer_form(inputs, result):
    return ()  # where the order of steps leads is told in words


def transfer_holds(inputs, result):
    balances, moves = inputs["balances"], inputs["moves"]
    ends = set()
    for order in itertools.permutations(range(len(moves))):
        now, told = list(balances), {}
        for k in order:
            if len(moves[k]) == 1:  # an audit leaves everything as it was
                told[k] = None
                continue
            a, b, amount = moves[k]
            told[k] = now[a] >= amount
            if told[k]:
                now[a] -= amount
                now[b] += amount
        ends.add((*now, *(told[k] for k in range(len(moves)))))
    if result["raises"]:
        yield "in some order of steps, an exception is raised"
    if result["stops"]:
        yield "in some order of steps, threads wait for locks forever"
    found = {tuple(end) for end in result["ends"]}
    if found - ends:
        yield "some order of steps leads to a result that no sequence of complete transfers has"
    if ends - found:
        yield "a result of a sequence of complete transfers can't be reached"


def transfer_cases(rng, given):
    def case(balances, *moves):
        return {"balances": balances, "moves": [list(move) for move in moves]}

    some = [int(n) for n in rng.integers(20, 60, 4)]
    yield "one thread", case([50, 10], (0, 1, some[0] % 50 + 1))
    yield "one thread", case([50, 10], (1, 0, 11))
    yield "one thread", case([some[1], 0, 5], (0, 2, some[1]))
    yield "opposite", case([50, 50], (0, 1, some[2] % 40 + 1), (1, 0, some[3] % 40 + 1))
    yield "opposite", case([5, some[0]], (0, 1, 8), (1, 0, some[0]))
    yield "opposite", case([9, some[1]], (1, 0, 4), (0, 1, 12))
    yield "ring", case([some[0], some[1], some[2]], (0, 1, 7), (1, 2, 9), (2, 0, 11))
    yield "self-transfer", case([some[3], 3], (0, 0, 5))
    yield "self-transfer", case([some[3], 3], (1, 1, 5))
    yield "self-transfer", case([7, 3], (1, 1, 2), (1, 0, 3))
    yield "self-transfer", case([some[3], 3], (0, 0, 5), (0,))
    yield "opposite", case([some[2], 3], (0, 1, 5), (0,))


def transfer_wrong_source_first(source, target, amount):
    if source is target:
        with source.lock:
            return source.money.balance >= amount
    with source.lock, target.lock:
        if source.money.balance < amount:
            return False
        source.money.balance -= amount
        target.money.balance += amount
        return True


def transfer_wrong_itself_without_a_lock(source, target, amount):
    if source is target:
        return source.money.balance >= amount
    return transfer(source, target, amount)


def transfer_wrong_locks_itself_twice(source, target, amount):
    first, second = sorted((source, target), key=lambda account: account.number)
    with first.lock, second.lock:
        if source.money.balance < amount:
            return False
        source.money.balance -= amount
        target.money.balance += amount
        return True


def transfer_wrong_one_at_a_time(source, target, amount):
    with source.lock:
        if source.money.balance < amount:
            return False
        source.money.balance -= amount
        if source is target:
            target.money.balance += amount
    if source is not target:
        with target.lock:
            before = target.money.balance
        target.money.balance = before + amount
    return True


def transfer_wrong_keeps_locks(source, target, amount):
    first, second = sorted((source, target), key=lambda account: account.number)
    first.lock.acquire()
    if first is not second:
        second.lock.acquire()
    if source.money.balance < amount:
        return False
    source.money.balance -= amount
    target.money.balance += amount
    first.lock.release()
    if first is not second:
        second.lock.release()
    return True


def transfer_wrong_no_locks(source, target, amount):
    if source.money.balance < amount:
        return False
    source.money.balance -= amount
    target.money.balance += amount
    return True


def on_cycles(threads):
    after = {}
    for steps in threads:
        held = set()
        for step in steps:
            kind, lock = step[0], step[1:]
            after.setdefault(lock, set())
            if kind == "+":
                for other in held:
                    after[other].add(lock)
                held.add(lock)
            else:
                held.discard(lock)

    def reached(start):
        seen, waiting = set(), [start]
        while waiting:
            for lock in after[waiting.pop()] - seen:
                seen.add(lock)
                waiting.append(lock)
        return seen

    return sorted(lock for lock in after if lock in reached(lock))


def on_cycles_right_by_squaring(threads):
    names = sorted({step[1:] for steps in threads for step in steps})
    edge = {(a, b): False for a in names for b in names}
    for steps in threads:
        held = []
        for step in steps:
            if step.startswith("-"):
                held.remove(step[1:])
                continue
            for a in held:
                edge[a, step[1:]] = True
            held.append(step[1:])
    for k in names:
        for a in names:
            for b in names:
                edge[a, b] = edge[a, b] or (edge[a, k] and edge[k, b])
    return [name for name in names if edge[name, name]]


def on_cycles_cases(rng, given):
    def case(*texts):
        return {"threads": [text.split() for text in texts]}

    yield "none", case()
    yield "none", case("+a")
    yield "none", case("+a +b +c -b -a -c", "+a +c", "+b +c")
    yield "none", case("+a -a +b", "+b -b +a")
    yield "none", case("+a +b -b -a", "+a +c", "+b +c", "+d +e", "+e +d +a")  # of most
    yield "none", case("+a +b -a +c -b", "+a -a +c -c +a")
    yield "pairs", case("+a +b", "+b +a")
    yield "pairs", case("+x +y +z", "+z +x", "+w +x")
    yield "pairs", case("+a +b -b -a +b +a")
    yield "pairs", case("+in +out -in", "+out +in", "+it +in")
    yield "longer", case("+a +b", "+b +c", "+c +a")
    yield "longer", case("+a +b", "+b +c", "+c +d", "+d +b", "+d +e")
    yield "longer", case("+d +e", "+e +f -e +d", "+a +d")
    yield "longer", case("+a +b", "+b +c", "+c +d", "+d +f", "+f +a", "+f +e")
    yield "longer", case("+a +b", "+b +a", "+b +c", "+c +d", "+d +e", "+e +d")
    for _ in range(5):
        threads = []
        for _thread in range(int(rng.integers(2, 5))):
            held, steps = [], []
            for _step in range(int(rng.integers(3, 9))):
                free = [name for name in "abcdef" if name not in held]
                if not free or (held and rng.random() < 0.4):
                    steps.append("-" + held.pop(int(rng.integers(len(held)))))
                else:
                    held.append(str(rng.choice(free)))
                    steps.append("+" + held[-1])
            threads.append(steps)
        yield "random", {"threads": threads}


def on_cycles_wrong_neighbors_alone(threads):
    # Only the lock that was taken last counts as held.
    edges = set()
    for steps in threads:
        held = []
        for step in steps:
            if step[0] == "+":
                if held:
                    edges.add((held[-1], step[1:]))
                held.append(step[1:])
            else:
                held.remove(step[1:])
    return sorted({a for a, b in edges if (b, a) in edges})


def on_cycles_wrong_names_of_a_letter(threads):
    return on_cycles([[step[:2] for step in steps] for steps in threads])


def on_cycles_wrong_between_cycles(threads):
    # Takes off, again and again, what has no edge in or no edge out.
    edges = set()
    for steps in threads:
        held = []
        for step in steps:
            if step[0] == "+":
                edges |= {(lock, step[1:]) for lock in held}
                held.append(step[1:])
            else:
                held.remove(step[1:])
    left = None
    while left != edges:
        left = edges
        inner = {a for a, _ in edges} & {b for _, b in edges}
        edges = {(a, b) for a, b in edges if a in inner and b in inner}
    return sorted({lock for edge in edges for lock in edge})


def on_cycles_wrong_never_gives_back(threads):
    edges = set()
    for steps in threads:
        held = set()
        for step in steps:
            if step[0] == "+":
                edges |= {(other, step[1:]) for other in held}
                held.add(step[1:])
    for _ in range(6):
        edges |= {(a, d) for a, b in edges for c, d in edges if b == c}
    return sorted({a for a, b in edges if a == b})


def on_cycles_wrong_pairs_only(threads):
    edges = set()
    for steps in threads:
        held = set()
        for step in steps:
            if step[0] == "+":
                edges |= {(other, step[1:]) for other in held}
                held.add(step[1:])
            else:
                held.discard(step[1:])
    return sorted({a for a, b in edges if (b, a) in edges})


def on_cycles_wrong_all_that_reach_one(threads):
    edges = set()
    for steps in threads:
        held = set()
        for step in steps:
            if step[0] == "+":
                edges |= {(other, step[1:]) for other in held}
                held.add(step[1:])
            else:
                held.discard(step[1:])
    for _ in range(6):
        edges |= {(a, d) for a, b in edges for c, d in edges if b == c}
    loops = {a for a, b in edges if a == b}
    return sorted(loops | {a for a, b in edges if b in loops})


def solve(given):
    """Try ever larger pools, each in every state that it can reach; equal threads are sorted."""
    workers, each = given["workers"], given["each"]

    def stuck(pool):
        seen, waiting = {(0,) * workers}, [(0,) * workers]
        while waiting:
            held = waiting.pop()
            if sum(held) == pool and each not in held:
                return True
            for mine in sorted(set(held), reverse=True):  # first where it may get stuck soonest
                if mine < each and sum(held) == pool:
                    continue
                n = held.index(mine)
                after = tuple(sorted((*held[:n], (mine + 1) % (each + 1), *held[n + 1 :])))
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return False

    pool = each
    while stuck(pool):
        pool += 1
    return {"buffers": pool}
