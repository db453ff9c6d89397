"""A list plays the cache; the code goes tile by tile."""


def fetched(pairs, rows, columns, lines, width):
    """Lines that are fetched when B[j, i] = A[i, j] is done in this order."""
    held, count, start = {}, 0, width * rows * columns
    for i, j in pairs:
        for address in (width * (i * columns + j), start + width * (j * rows + i)):
            line = address // 64
            if line in held:
                del held[line]
            else:
                count += 1
                if len(held) >= lines:
                    del held[next(iter(held))]
            held[line] = None
    return count


def solve(given):
    width, lines = given["width"], given["lines"]
    rows, columns, per_line = given["rows"], given["columns"], 64 // width
    # What one band of rows and one tile fetch tells the rest.
    band = [(i, j) for i in range(per_line) for j in range(columns)]
    naive = fetched(band, rows, columns, lines, width) * (rows // per_line)
    tile = [(i, j) for i in range(per_line) for j in range(per_line)]
    tiled = fetched(tile, rows, columns, lines, width)
    largest = max(
        t
        for t in range(per_line, 20 * per_line, per_line)
        if sum(2 * (t // per_line) for _ in range(t)) <= lines
    )
    return {
        "naive": naive,
        "tiled": tiled * (rows // per_line) * (columns // per_line),
        "largest": largest,
    }


def order(rows, columns, tile):
    for top in range(0, rows, tile):
        for left in range(0, columns, tile):
            for i in range(top, min(top + tile, rows)):
                for j in range(left, min(left + tile, columns)):
                    yield i, j


def order_right_sorted(rows, columns, tile):
    pairs = [(i, j) for i in range(rows) for j in range(columns)]
    return sorted(pairs, key=lambda p: (p[1] // tile, p[0] // tile, p[1], p[0]))


def order_right_recursive(rows, columns, tile):
    def cut(top, bottom, left, right):
        if bottom - top <= tile and right - left <= tile:
            yield from ((i, j) for i in range(top, bottom) for j in range(left, right))
        elif bottom - top >= right - left:
            middle = top + tile * ((bottom - top + tile) // (2 * tile))
            yield from cut(top, middle, left, right)
            yield from cut(middle, bottom, left, right)
        else:
            middle = left + tile * ((right - left + tile) // (2 * tile))
            yield from cut(top, bottom, left, middle)
            yield from cut(top, bottom, middle, right)

    if rows and columns:
        yield from cut(0, rows, 0, columns)


def order_expected(rows, columns, tile, what):
    return ...


def order_form(inputs, result):
    if result.ndim != 2 or result.shape[1] != 2 or result.dtype.kind != "i":
        yield "there are not as many pairs as the matrix has elements"


def order_holds(inputs, result):
    rows, columns, tile = inputs["rows"], inputs["columns"], inputs["tile"]
    paired = result.ndim == 2 and result.shape[1] == 2 and result.dtype.kind == "i"
    if not paired or len(result) > 2 * rows * columns:
        yield "there are not as many pairs as the matrix has elements"
        return
    pairs = [tuple(pair) for pair in result.tolist()]
    different = set(pairs)
    if any(not (0 <= i < rows and 0 <= j < columns) for i, j in different):
        yield "a pair lies outside of the matrix"
    elif len(different) < rows * columns:
        yield f"{rows * columns - len(different)} of {rows * columns} pairs are missing"
    elif len(pairs) > len(different):
        yield "a pair comes more than once"
    elif inputs["what"] == "cached":
        room = 2 * tile * (tile // 8 + 1) + 4
        mine = fetched(pairs, rows, columns, room, 8)
        least = fetched(order(rows, columns, tile), rows, columns, room, 8)
        if mine > 1.5 * least:
            yield f"{mine} lines are fetched, where tiles take {least}"


def order_cases(rng, given):
    def case(rows, columns, tile, what):
        return {"rows": int(rows), "columns": int(columns), "tile": int(tile), "what": what}

    yield "complete", case(0, 4, 2, "complete")
    yield "complete", case(1, 1, 8, "complete")
    yield "complete", case(5, 3, 1, "complete")
    yield "complete", case(3, 20, 8, "complete")
    for _ in range(3):
        tile = rng.integers(2, 9)
        rows, columns = rng.integers(2, 5, size=2) * tile + rng.integers(1, tile, size=2)
        yield "complete", case(rows, columns, tile, "complete")
    yield "cached", case(80, 88, 8, "cached")
    for tile in (8, 16):
        rows, columns = rng.integers(5, 7, size=2) * 16 + rng.integers(1, 16, size=2)
        yield "cached", case(rows, columns, tile, "cached")


def order_wrong_rows(rows, columns, tile):
    for i in range(rows):
        for j in range(columns):
            yield i, j


def order_wrong_drops_the_rest(rows, columns, tile):
    for top in range(0, rows - tile + 1, tile):
        for left in range(0, columns - tile + 1, tile):
            for i in range(top, top + tile):
                for j in range(left, left + tile):
                    yield i, j


def order_wrong_over_the_border(rows, columns, tile):
    for top in range(0, rows, tile):
        for left in range(0, columns, tile):
            for i in range(top, top + tile):
                for j in range(left, left + tile):
                    yield i, j


def order_wrong_overlaps(rows, columns, tile):
    for top in range(0, rows, tile):
        for left in range(0, columns, tile):
            top_, left_ = max(min(top, rows - tile), 0), max(min(left, columns - tile), 0)
            for i in range(top_, min(top_ + tile, rows)):
                for j in range(left_, min(left_ + tile, columns)):
                    yield i, j


def order_wrong_columns(rows, columns, tile):
    for j in range(columns):
        for i in range(rows):
            yield i, j


def order_wrong_swapped(rows, columns, tile):
    for i, j in order(rows, columns, tile):
        yield j, i
