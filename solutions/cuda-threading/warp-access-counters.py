"""Counters for a warp's accesses; the key fills the banks row by row."""

import math


def sectors(addresses, size):
    return len({byte // 32 for a in addresses for byte in range(a, a + size)})


def sectors_right_by_first_and_last(addresses, size):
    touched = set()
    for address in addresses:
        touched.update(range(address // 32, (address + size - 1) // 32 + 1))
    return len(touched)


def sectors_cases(rng, given):
    def case(addresses, size):
        return {"addresses": [int(a) for a in addresses], "size": size}

    lanes = range(32)
    yield "aligned", case([0], 4)
    yield "aligned", case([4 * lane for lane in lanes], 4)
    yield "aligned", case([12 * lane for lane in lanes], 4)
    yield "aligned", case([64] * 32, 8)
    yield "aligned", case([4 * lane for lane in reversed(lanes)], 4)
    yield "aligned", case([16 * lane for lane in lanes], 16)
    yield "aligned", case([4 * place for place in rng.integers(0, 400, 20)], 4)
    yield "across borders", case([4 * lane + 20 for lane in lanes], 4)
    yield "across borders", case([31], 2)
    yield "across borders", case([int(rng.integers(1, 31))], 64)
    yield "across borders", case([25 * lane for lane in lanes], 16)
    yield "across borders", case(rng.integers(0, 2000, 32), 8)


def sectors_wrong_first_byte(addresses, size):
    return len({a // 32 for a in addresses})


def sectors_wrong_by_volume(addresses, size):
    return -(-len(addresses) * size // 32)


def sectors_wrong_by_span(addresses, size):
    return (max(addresses) + size - 1) // 32 - min(addresses) // 32 + 1


def sectors_wrong_for_each_lane(addresses, size):
    return sum((a + size - 1) // 32 - a // 32 + 1 for a in addresses)


def bank_passes(words):
    banks = [word % 32 for word in set(words)]
    return max((banks.count(bank) for bank in banks), default=0)


def bank_passes_right_pass_by_pass(words):
    waiting, passes = list(words), 0
    while waiting:
        delivered = {}
        for word in waiting:
            delivered.setdefault(word % 32, word)
        waiting = [word for word in waiting if delivered[word % 32] != word]
        passes += 1
    return passes


def bank_passes_cases(rng, given):
    def case(words):
        return {"words": [int(w) for w in words]}

    lanes = range(32)
    for stride in (1, 2, 3, 8, 32, 33, 48):
        yield "strides", case([stride * lane for lane in lanes])
    yield "strides", case([64 * lane for lane in range(5)])
    yield "broadcasts", case([11] * 32)
    yield "broadcasts", case([lane // 8 for lane in lanes])
    yield "broadcasts", case([32 * (lane // 8) for lane in lanes])
    yield "broadcasts", case([lane % 2 * 32 for lane in lanes])
    yield "any", case([])
    for _ in range(4):
        yield "any", case(rng.integers(0, 200, int(rng.integers(5, 33))))


def bank_passes_wrong_no_broadcast(words):
    banks = [word % 32 for word in words]
    return max((banks.count(bank) for bank in banks), default=0)


def bank_passes_wrong_by_stride(words):
    stride = abs(words[1] - words[0]) if len(words) > 1 else 1
    return math.gcd(stride, 32) if stride else 1


def bank_passes_wrong_repeats(words):
    return len(set(words)) - len({word % 32 for word in words}) + 1


def bank_passes_wrong_lanes_over_banks(words):
    used = len({word % 32 for word in words})
    return -(-len(set(words)) // used) if used else 0


def least_padding(width, high):
    padding = 0
    while bank_passes([x % high * (width + padding) + x // high for x in range(32)]) > 1:
        padding += 1
    return padding


def least_padding_right_by_formula(width, high):
    if high == 1:
        return 0
    across = 32 // high
    # The distance of rows must be an odd multiple of the patch's width.
    padding = -width % across
    return padding if (width + padding) // across % 2 else padding + across


def least_padding_cases(rng, given):
    def case(width, high):
        return {"width": int(width), "high": int(high)}

    for width in (32, 33, 64, 30, 1, int(rng.integers(2, 200))):
        yield "columns", case(width, 32)
    yield "patches", case(32, 1)
    yield "patches", case(1 + 2 * int(rng.integers(16, 90)), 1)
    yield "patches", case(31, 16)
    yield "patches", case(2 * int(rng.integers(10, 60)), 16)
    for high in (2, 4, 8, 16):
        yield "patches", case(rng.integers(32, 200), high)
        yield "patches", case(64, high)


def least_padding_wrong_also_for_one_row(width, high):
    wide = 32 // high
    return (wide - width) % (2 * wide)


def least_padding_wrong_always_one(width, high):
    return 1


def least_padding_wrong_columns_only(width, high):
    return 1 if width % 2 == 0 else 0


def least_padding_wrong_one_bank_line(width, high):
    return 33 - width % 32 if width % 32 else 1


def least_padding_wrong_never_zero(width, high):
    padding = 1
    while bank_passes([x % high * (width + padding) + x // high for x in range(32)]) > 1:
        padding += 1
    return padding


def solve(given):
    """Try paddings and fill the banks."""
    high = given["high"]
    for padding in range(64):
        banks = {
            (row * (given["width"] + padding) + column) % 32
            for row in range(high)
            for column in range(32 // high)
        }
        if len(banks) == 32:
            return {"padding_here": padding}
    return None
