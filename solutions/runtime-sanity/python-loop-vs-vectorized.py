"""Play the queue between host and GPU call by call, and count bytes row by row."""

SIMULATED_ROWS = 400


def solve(given):
    """Simulate both versions as a host that issues and a GPU that works off."""
    bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/s")
    calls, rows = given["calls"], given["n_rows"]
    dispatch, row_kernel = given["dispatch"], given["row_kernel"]

    # The loop settles at once, so its pace over the second half of some rows holds for all.
    done = finished([row_kernel] * (SIMULATED_ROWS * calls), dispatch)
    half = SIMULATED_ROWS // 2
    per_row = (done[-1] - done[half * calls - 1]) / (SIMULATED_ROWS - half)
    loop = per_row * rows * 1e-6

    moved = 0
    for _ in range(rows):
        moved += given["n_cols"] * 4  # read
        moved += given["n_cols"] * 4  # written
    kernel = moved / bandwidth
    whole = max(sum(kernel for _ in range(calls)), calls * dispatch * 1e-6)

    # Time per row after each change.
    after = {
        "blocks": pace(row_kernel, dispatch, calls, rows_a_call=4),
        "graph": pace(row_kernel, 0.0, calls),
        "bandwidth": pace(row_kernel / 2, dispatch, calls),
        "narrower": pace(row_kernel / 2, dispatch, calls),
        "interpreter": pace(row_kernel, dispatch / 2, calls),
        "streams": pace(row_kernel / 2, dispatch, calls),
    }
    before = pace(row_kernel, dispatch, calls)
    never_idle = pace(row_kernel, 0.0, calls)
    return {
        "loop_time": loop * 1e3,
        "whole_tensor_time": whole * 1e6,
        "speedup": loop / whole,
        "busy": 100 * never_idle / before,
        "helps": {name for name, time in after.items() if before / time >= given["goal"]},
    }


def finished(kernels, dispatch):
    """When each kernel is done, on a GPU that works off in order what the host issues."""
    host = gpu = 0.0
    done = []
    for kernel in kernels:
        host += dispatch
        gpu = max(gpu, host) + kernel
        done.append(gpu)
    return done


def pace(kernel, dispatch, calls, rows_a_call=1):
    """Time per row in the long run."""
    done = finished([kernel] * (100 * calls), dispatch)
    return (done[-1] - done[50 * calls - 1]) / 50 / rows_a_call
