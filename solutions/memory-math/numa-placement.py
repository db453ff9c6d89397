"""Places pages one by one, and counts what every thread reads from every node."""

PAGES = 8 * 8 * 30


def solve(given):
    nodes = given["nodes"]
    rows = []
    for placement in (1, 2, 3, 4):
        readers = [page * nodes // PAGES for page in range(PAGES)]  # the node of its thread
        homes = {
            1: [0] * PAGES,
            2: [page % nodes for page in range(PAGES)],
            3: list(readers),
            4: [0] * PAGES,
        }[placement]
        if placement == 4:
            readers = [0] * PAGES
        pairs = list(zip(homes, readers, strict=True))
        waits = [given["local"] if home == reader else given["remote"] for home, reader in pairs]
        rows.append([sum(waits) / PAGES, 1e3 * busiest(given, pairs)])
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        average = middle * given["local"] + (1 - middle) * given["remote"]
        low, high = (middle, high) if average > given["measured"] else (low, middle)
    seen = [("socket", s, n) for s in range(given["sockets"]) for n in range(given["mode"])]
    seen += [("expander", n) for n in range(given["expanders"])]
    return {
        "placements": rows,
        "local_share": 100 * high,
        "node_count": len(seen),
        "pages": pages(given["main"]),
    }


def busiest(given, pairs):
    """The seconds of the busiest memory or link."""
    page = given["size"] / len(pairs)
    times = []
    for node in range(given["nodes"]):
        read = sum(page for home, _ in pairs if home == node)
        sent = sum(page for home, reader in pairs if home == node != reader)
        received = sum(page for home, reader in pairs if home != node == reader)
        times += [read / given["memory"], sent / given["link"], received / given["link"]]
    return max(times)


def pages(main):
    """Runs the statements on two pages for two nodes, with a table of first touches."""
    programs = {
        "empty": [],
        "ones": [(main, 0), (main, 1)],
        "copied": [(main, 0), (main, 1), (0, 0), (1, 1)],
        "own": [(0, 0), (1, 1)],
    }
    found = {"interleaved": "turns"}
    for name, writes in programs.items():
        table = {}
        for node, page in writes:
            table.setdefault(page, node)
        places = set(table.values())
        found[name] = "nowhere" if not places else "main" if places == {main} else "threads"
    return found
