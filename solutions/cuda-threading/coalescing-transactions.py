"""Writes down the byte addresses of all lanes and collects the sectors they touch."""


def sectors(addresses, size):
    """Return how many different 32-byte sectors the bytes of these accesses lie in."""
    return len({byte // 32 for start in addresses for byte in (start, start + size - 1)})


def solve(given):
    """Return each part's answer, found by enumerating addresses."""
    size, fields = given["size"], given["fields"]
    strided = [thread * fields * size for thread in range(32)]
    one_warp = sectors(strided, size)

    # All warps look alike only if each starts on a sector border: count a longer stretch.
    stretch = 1600
    moved = 32 * sectors([thread * fields * size for thread in range(stretch)], size)
    total = moved * given["structures"] * 1_000_000 // stretch

    def shifted(start):
        return max(
            sectors([(start + 32 * warp + lane) * size for lane in range(32)], size)
            for warp in range(3)
        )

    def together(fields_read, address):
        """Sectors of the loads of several fields, each transferred once."""
        bytes_read = {
            address(thread, field) + byte
            for thread in range(32)
            for field in range(fields_read)
            for byte in range(size)
        }
        return len({byte // 32 for byte in bytes_read})

    array = 1 << 20  # far enough apart, and a multiple of a sector
    return {
        "strided_sectors": one_warp,
        "efficiency": 100 * 32 * size / (32 * one_warp),
        "read_time": total / given.fact(given["gpu"], "memory_bandwidth", "GB/s") / 1e3,
        "shifted_sectors": shifted(given["offset"]),
        "more_fields": [
            [
                together(m, lambda thread, field: (thread * fields + field) * size),
                together(m, lambda thread, field: field * array + thread * size),
            ]
            for m in (2, fields)
        ],
    }
