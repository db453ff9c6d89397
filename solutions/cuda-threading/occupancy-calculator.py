"""Occupancy by formula; the other road puts blocks on an SM one by one until one doesn't fit."""

import math


def resident_blocks(threads, registers, shared, sm):
    warps = -(-threads // 32)
    per_warp = -(-registers * 32 // 256) * 256
    per_block = -(-shared // 128) * 128 + 1024
    room = {
        "blocks": sm["blocks"],
        "warps": sm["warps"] // warps,
        "registers": sm["registers"] // per_warp // 4 * 4 // warps,
        "shared": sm["shared"] // per_block,
    }
    least = min(room.values())
    return least, sorted(name for name in room if room[name] == least)


def fitting(name, blocks, threads, registers, shared, sm):
    """Whether one resource has room for so many blocks, by handing it out."""
    warps = sum(1 for _ in range(0, threads, 32))
    if name == "blocks":
        return blocks <= sm["blocks"]
    if name == "warps":
        return blocks * warps <= sm["warps"]
    if name == "shared":
        used = 1024
        while used < 1024 + shared:
            used += 128
        return blocks * used <= sm["shared"]
    used = 0
    while used < registers * 32:
        used += 256
    # Warps are spread over four parts; each must hold its share of the fullest spread.
    room = 0
    while (room + 4) * used <= sm["registers"]:
        room += 4
    return blocks * warps <= room


def resident_blocks_right_one_by_one(threads, registers, shared, sm):
    blocks = 0
    while True:
        tight = [
            name
            for name in ("blocks", "registers", "shared", "warps")
            if not fitting(name, blocks + 1, threads, registers, shared, sm)
        ]
        if tight:
            return [blocks, tight]
        blocks += 1


def resident_blocks_right_with_math(threads, registers, shared, sm):
    warps = math.ceil(threads / 32)
    registers_per_warp = 256 * math.ceil(registers / 8)
    bytes_per_block = 128 * math.ceil(shared / 128) + 1024
    fitting_warps = 4 * math.floor(sm["registers"] / registers_per_warp / 4)
    limits = [
        (sm["blocks"], "blocks"),
        (fitting_warps // warps, "registers"),
        (sm["shared"] // bytes_per_block, "shared"),
        (sm["warps"] // warps, "warps"),
    ]
    fewest = min(limits)[0]
    return fewest, [name for count, name in limits if count == fewest]


SMALL = {"blocks": 16, "warps": 48, "registers": 65536, "shared": 102400}
LARGE = {"blocks": 32, "warps": 64, "registers": 65536, "shared": 233472}


def resident_blocks_cases(rng, given):
    def case(threads, registers, shared, sm):
        return {"threads": threads, "registers": registers, "shared": shared, "sm": sm}

    yield "blocks and warps", case(32, 16, 0, SMALL)
    yield "blocks and warps", case(1, 16, 0, LARGE)
    yield "blocks and warps", case(33, 16, 0, SMALL)
    yield "blocks and warps", case(161, 24, 0, LARGE)
    yield "blocks and warps", case(512, 32, 0, LARGE)
    yield "blocks and warps", case(int(rng.integers(321, 383)), 20, 0, LARGE)
    yield "registers", case(1024, 255, 0, LARGE)
    yield "registers", case(given["threads"], given["registers"], 1024, LARGE)
    yield "registers", case(96, 33, 0, LARGE)
    yield "registers", case(32, 255, 0, {**LARGE, "registers": 32768})
    yield "registers", case(int(rng.integers(100, 500)), int(rng.integers(70, 200)), 64, LARGE)
    yield "shared", case(64, 16, 50688, SMALL)
    yield "shared", case(64, 16, 24577, SMALL)
    yield "shared", case(64, 16, 102400, SMALL)
    yield "shared", case(128, 24, int(rng.integers(20000, 60000)), SMALL)
    for _ in range(6):
        numbers = [int(rng.integers(*ends)) for ends in ((1, 1025), (16, 200), (0, 60000))]
        yield "all limits", case(*numbers, LARGE if rng.random() < 0.5 else SMALL)


def resident_blocks_wrong_threads_not_rounded(threads, registers, shared, sm):
    per_warp = -(-registers * 32 // 256) * 256
    per_block = -(-shared // 128) * 128 + 1024
    room = {
        "blocks": sm["blocks"],
        "warps": sm["warps"] * 32 // threads,
        "registers": sm["registers"] // per_warp // 4 * 4 * 32 // threads,
        "shared": sm["shared"] // per_block,
    }
    least = min(room.values())
    return least, sorted(name for name in room if room[name] == least)


def resident_blocks_wrong_registers_plain(threads, registers, shared, sm):
    warps = -(-threads // 32)
    per_block = -(-shared // 128) * 128 + 1024
    room = {
        "blocks": sm["blocks"],
        "warps": sm["warps"] // warps,
        "registers": sm["registers"] // (registers * threads),
        "shared": sm["shared"] // per_block,
    }
    least = min(room.values())
    return least, sorted(name for name in room if room[name] == least)


def resident_blocks_wrong_not_in_fours(threads, registers, shared, sm):
    warps = -(-threads // 32)
    per_warp = -(-registers * 32 // 256) * 256
    per_block = -(-shared // 128) * 128 + 1024
    room = {
        "blocks": sm["blocks"],
        "warps": sm["warps"] // warps,
        "registers": sm["registers"] // per_warp // warps,
        "shared": sm["shared"] // per_block,
    }
    least = min(room.values())
    return least, sorted(name for name in room if room[name] == least)


def resident_blocks_wrong_nothing_kept_back(threads, registers, shared, sm):
    warps = -(-threads // 32)
    per_warp = -(-registers * 32 // 256) * 256
    room = {
        "blocks": sm["blocks"],
        "warps": sm["warps"] // warps,
        "registers": sm["registers"] // per_warp // 4 * 4 // warps,
        "shared": sm["shared"] // max(1, -(-shared // 128) * 128),
    }
    least = min(room.values())
    return least, sorted(name for name in room if room[name] == least)


def resident_blocks_wrong_one_name(threads, registers, shared, sm):
    warps = -(-threads // 32)
    per_warp = -(-registers * 32 // 256) * 256
    room = {
        "blocks": sm["blocks"],
        "warps": sm["warps"] // warps,
        "registers": sm["registers"] // per_warp // 4 * 4 // warps,
        "shared": sm["shared"] // (-(-shared // 128) * 128 + 1024),
    }
    return min(room.values()), [min(room, key=room.get)]


def best_size(registers, per_thread, sm):
    best, most = 0, 0
    for threads in range(32, 1025, 32):
        blocks, _ = resident_blocks(threads, registers, per_thread * threads, sm)
        if blocks and blocks * threads >= most:
            best, most = threads, blocks * threads
    return best


def best_size_right_downwards(registers, per_thread, sm):
    def resident(size):
        blocks = 0
        names = ("blocks", "registers", "shared", "warps")
        shared = per_thread * size
        while all(fitting(n, blocks + 1, size, registers, shared, sm) for n in names):
            blocks += 1
        return blocks * size

    found = max(range(1024, 0, -32), key=resident)
    return found if resident(found) else 0


def best_size_cases(rng, given):
    def case(registers, per_thread, sm):
        return {"registers": registers, "per_thread": per_thread, "sm": sm}

    yield "no shared memory", case(32, 0, LARGE)
    yield "no shared memory", case(255, 0, LARGE)
    yield "no shared memory", case(given["registers"], 0, SMALL)
    yield "shared memory", case(40, 100, SMALL)
    yield "shared memory", case(given["registers"], 40, LARGE)
    yield "shared memory", case(72, int(rng.integers(300, 900)), LARGE)
    for _ in range(4):
        numbers = int(rng.integers(20, 160)), int(rng.integers(20, 150))
        yield "shared memory", case(*numbers, SMALL)
    yield "nothing fits", case(64, 4000, SMALL)
    yield "nothing fits", case(200, 3300, {**SMALL, "registers": 16384})
    yield "nothing fits", case(64, 1500, SMALL)  # but for the smallest blocks


def best_size_wrong_smallest(registers, per_thread, sm):
    best, most = 0, 0
    for threads in range(32, 1025, 32):
        blocks, _ = resident_blocks(threads, registers, per_thread * threads, sm)
        if blocks * threads > most:
            best, most = threads, blocks * threads
    return best


def best_size_wrong_most_blocks(registers, per_thread, sm):
    def blocks(threads):
        return resident_blocks(threads, registers, per_thread * threads, sm)[0]

    return max(range(1024, 0, -32), key=blocks)


def best_size_wrong_shared_for_one_thread(registers, per_thread, sm):
    best, most = 0, 0
    for threads in range(32, 1025, 32):
        blocks, _ = resident_blocks(threads, registers, per_thread, sm)
        if blocks and blocks * threads >= most:
            best, most = threads, blocks * threads
    return best


def best_size_wrong_powers_of_two(registers, per_thread, sm):
    best, most = 0, 0
    for threads in (32, 64, 128, 256, 512, 1024):
        blocks, _ = resident_blocks(threads, registers, per_thread * threads, sm)
        if blocks and blocks * threads >= most:
            best, most = threads, blocks * threads
    return best


def solve(given):
    """Put blocks on the SM until one doesn't fit; take registers away until one more fits."""
    sm = {
        "blocks": int(given.fact(given["gpu"], "blocks_per_sm", "")),
        "warps": int(given.fact(given["gpu"], "threads_per_sm", "")) // 32,
        "registers": int(given.fact(given["gpu"], "registers_per_sm", "")),
        "shared": int(given.fact(given["gpu"], "shared_memory_per_sm", "B")),
    }

    def resident(registers):
        blocks, kernel = 0, (given["threads"], registers, given["shared_kib"] * 1024)
        while all(fitting(name, blocks + 1, *kernel, sm) for name in sm):
            blocks += 1
        return blocks

    registers = given["registers"]
    while resident(registers) == resident(given["registers"]):
        registers -= 1
    return {"resident": resident(given["registers"]), "registers_for_more": registers}
