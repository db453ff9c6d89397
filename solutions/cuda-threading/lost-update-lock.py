"""A locked withdrawal; a result is right if some sequence of complete withdrawals has it."""

import itertools


def withdraw(account, lock, amount):
    with lock:
        if account.balance < amount:
            return False
        account.balance -= amount
        account.paid += 1
        return True


def withdraw_right_by_hand(account, lock, amount):
    lock.acquire()
    try:
        before = account.balance
        enough = before >= amount
        if enough:
            account.paid = account.paid + 1
            account.balance = before - amount
    finally:
        lock.release()
    return enough


def withdraw_right_one_way_out(account, lock, amount):
    lock.acquire()
    done = False
    if not account.balance < amount:
        account.balance -= amount
        account.paid += 1
        done = True
    lock.release()
    return done


def withdraw_expected(balance, amounts):
    return ...  # several ends may be right


def withdraw_form(inputs, result):
    return ()  # where the order of steps leads is told in words


def withdraw_holds(inputs, result):
    balance, amounts = inputs["balance"], inputs["amounts"]
    ends = set()
    for order in itertools.permutations(range(len(amounts))):
        left, told = balance, {}
        for n in order:
            told[n] = left >= amounts[n]
            left -= amounts[n] if told[n] else 0
        ends.add((left, sum(told.values()), *(told[n] for n in range(len(amounts)))))
    if result["raises"]:
        yield "in some order of steps, an exception is raised"
    if result["stops"]:
        yield "in some order of steps, a thread waits for the lock forever"
    found = {tuple(end) for end in result["ends"]}
    if found - ends:
        yield "some order of steps leads to a result that no sequence of complete withdrawals has"
    if ends - found:
        yield "a result of a sequence of complete withdrawals can't be reached"


def withdraw_cases(rng, given):
    first, second = given["first"], given["second"]

    def case(balance, *amounts):
        return {"balance": int(balance), "amounts": [int(a) for a in amounts]}

    yield "one thread", case(first, second)
    yield "one thread", case(first, first)
    yield "one thread", case(second, first)
    yield "two threads", case(first + second, first, second)
    yield "two threads", case(first + second - 1, first, second)
    yield "two threads", case(first, first, first)
    yield "two threads", case(0, first, second)
    yield "three threads", case(100, *rng.integers(34, 60, 3))
    yield "three threads", case(60, 50, 40, 5)


def withdraw_wrong_no_lock(account, lock, amount):
    if account.balance < amount:
        return False
    account.balance -= amount
    account.paid += 1
    return True


def withdraw_wrong_asks_outside(account, lock, amount):
    if account.balance < amount:
        return False
    with lock:
        account.balance -= amount
        account.paid += 1
    return True


def withdraw_wrong_reads_outside(account, lock, amount):
    balance = account.balance
    with lock:
        if balance < amount:
            return False
        account.balance = balance - amount
        account.paid += 1
        return True


def withdraw_wrong_keeps_the_lock(account, lock, amount):
    lock.acquire()
    if account.balance < amount:
        return False
    account.balance -= amount
    account.paid += 1
    lock.release()
    return True


def withdraw_wrong_two_holds(account, lock, amount):
    with lock:
        enough = account.balance >= amount
    if not enough:
        return False
    with lock:
        account.balance -= amount
        account.paid += 1
    return True


def withdraw_wrong_counts_outside(account, lock, amount):
    with lock:
        enough = account.balance >= amount
        if enough:
            account.balance -= amount
    if enough:
        account.paid += 1
    return enough


def withdraw_wrong_its_own_lock_twice(account, lock, amount):
    with lock:
        if account.balance < amount:
            return False
        with lock:
            account.balance -= amount
            account.paid += 1
        return True


def solve(given):
    """Let two threads read and write in every order; a thread is what it still has to do."""
    times = given["times"]
    start = (0, (times, None), (times, None))
    seen, waiting, ends = {start}, [start], set()
    while waiting:
        value, *threads = waiting.pop()
        if all(left == 0 for left, _ in threads):
            ends.add(value)
        for n, (left, held) in enumerate(threads):
            if left == 0:
                continue
            after = list(threads)
            after[n] = (left, value) if held is None else (left - 1, None)
            state = (value if held is None else held + 1, *after)
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return {"final_values": len(ends), "interpreter_lock": "between"}
