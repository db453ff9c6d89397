"""Places ranks on nodes and counts messages one by one, and plays the workers' additions."""


def solve(given):
    cores = given["cores"]
    rows = [layout(given, ranks) for ranks in (cores, cores // given["threads"], 1)]
    even = [ranks for ranks in range(1, cores + 1) if cores % ranks == 0]
    most = max(ranks for ranks in even if needed(given, ranks) <= given["memory"])
    workers, adds = given["workers"], given["adds"]
    return {
        "layouts": rows,
        "most_ranks": most,
        "printed": [
            [printed(workers, adds, shared=True, exclusive=True)],
            [printed(workers, adds, shared=False, exclusive=True)],
            [printed(workers, adds, shared=True, exclusive=True)],
            [printed(workers, adds, shared=True, exclusive=False)],
        ],
        "litmus": litmus(given),
        "mechanisms": {name: name for name in ("scratch", "shared", "file", "message")},
        "statements": ["true1", "true2"],
    }


def needed(given, ranks):
    tables = [given["table"] for _ in range(ranks)]
    buffers = [given["private"] for _ in range(given["cores"])]
    return sum(tables) + sum(buffers)


def layout(given, ranks):
    """The memory of a node, and the messages that its ranks send to ranks of other nodes."""
    places = [(node, rank) for node in range(given["nodes"]) for rank in range(ranks)]
    sent = sum(1 for node, _ in places if node == 0 for other, _ in places if other != node)
    return [needed(given, ranks), sent]


def printed(workers, adds, shared, exclusive):
    main = [0]
    memories = [main if shared else list(main) for _ in range(workers)]
    if exclusive:
        for memory in memories:
            for _ in range(adds):
                memory[0] += 1
    else:
        for _ in range(adds):
            read = [memory[0] for memory in memories]
            for memory, value in zip(memories, read, strict=True):
                memory[0] = value + 1
    return main[0]


def litmus(given):
    """Every order in which the two stores may become visible to the reader."""
    releases = "release" in given["store"] or "seq_cst" in given["store"]
    acquires = "acquire" in given["load"] or "seq_cst" in given["load"]
    orders = [("data", "ready")]
    if not (releases and acquires):
        orders.append(("ready", "data"))
    seen = set()
    for order in orders:
        memory = {"data": 0, "ready": 0}
        for name in order:
            memory[name] = 42 if name == "data" else 1
            if memory["ready"]:
                seen.add(memory["data"])
    return {frozenset({42}): "one", frozenset({0}): "zero"}.get(frozenset(seen), "either")
