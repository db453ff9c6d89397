"""Lays out the training record of one parameter byte by byte and deals the records to the GPUs."""

import struct

# A 16-bit weight and gradient, then master weight and two moments as 32-bit floats, unpadded.
RECORD = struct.Struct("=eefff")


def solve(given):
    records = round(given["billions"] * 1e9)
    gpus = given["gpus"]
    shares = [records // gpus + (rank < records % gpus) for rank in range(gpus)]
    most = max(shares) * RECORD.size
    free = 80 * 10**9 - 24 * 10**9 - most
    return {"per_gpu": most / 1e9, "fits": "yes" if free >= 0 else "no"}
