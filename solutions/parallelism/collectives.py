"""Runs every collective on lists, one for each rank."""


def solve(given):
    ranks = [[given[f"{name}{i}"] for i in range(4)] for name in "abcd"]
    rank = given["rank"]
    results = [
        all_reduce(ranks, sum),
        all_reduce(ranks, max),
        reduce_scatter(ranks),
        all_gather(ranks),
        all_to_all(ranks),
    ]
    averaged = [total / 4 for total in all_reduce(ranks, sum)[rank]]
    wanted = all_reduce(ranks, sum)
    return {
        "results": [[len(found[rank]), found[rank][-1]] for found in results],
        "step": given["weight"] - given["rate"] * averaged[0],
        "same_result": [name for name, run in SEQUENCES.items() if run(ranks) == wanted],
        "which": {
            "norm": "all_reduce",
            "weights": "all_gather",
            "sharded_gradient": "reduce_scatter",
            "experts": "all_to_all",
            "start": "broadcast",
        },
    }


def chunks(buffer):
    size = len(buffer) // 4
    return [buffer[i * size : (i + 1) * size] for i in range(4)]


def all_reduce(ranks, combine):
    return [[combine(column) for column in zip(*ranks, strict=True)] for _ in ranks]


def reduce_scatter(ranks):
    return chunks_of_rank(all_reduce(ranks, sum))


def chunks_of_rank(ranks):
    return [chunks(buffer)[rank] for rank, buffer in enumerate(ranks)]


def all_gather(ranks):
    return [[value for buffer in ranks for value in buffer] for _ in ranks]


def all_to_all(ranks):
    return [[value for buffer in ranks for value in chunks(buffer)[rank]] for rank in range(4)]


def broadcast(ranks):
    return [list(ranks[0]) for _ in ranks]


def reduce(ranks):
    return [all_reduce(ranks, sum)[0], *ranks[1:]]


SEQUENCES = {
    "scatter_gather": lambda ranks: all_gather(reduce_scatter(ranks)),
    "reduce_broadcast": lambda ranks: broadcast(reduce(ranks)),
    "exchange": lambda ranks: all_gather([[sum(found)] for found in all_to_all(ranks)]),
    "broadcast_reduce": lambda ranks: reduce(broadcast(ranks)),
    "gather_scatter": lambda ranks: reduce_scatter(all_gather(ranks)),
    "scatter_only": lambda ranks: broadcast(reduce_scatter(ranks)),
}
