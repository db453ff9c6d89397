"""Plays one optimizer step: fills memory, hands out sequences, passes chunks round the ring."""


def largest_micro_batch(given):
    free = (given["memory"] - given["state"]) * 1e9
    size = 0
    while free >= given["per_sample"] * 1e9:
        free -= given["per_sample"] * 1e9
        size += 1
    return size


def gradients(given):
    """The printed GB of gradients: their bytes in one parameter's record, times the records."""
    record = "g" * given["gradient_bytes"] + "." * given["other_bytes"]
    records = given["state"] * (1 - given["buffers"]) / len(record)
    return float(f"{records * record.count('g'):.1f}")


def rounds_until(target, micro_batch, replicas):
    done = rounds = 0
    while done < target:
        done += sum(micro_batch for _replica in range(replicas))
        rounds += 1
    return rounds


def sent_by_rank_0(replicas, payload):
    """Bytes that rank 0 puts on the ring until every rank holds every chunk, fully summed."""
    ranks = range(replicas)
    # summed[rank][chunk]: whose gradients are already in that rank's copy of the chunk
    summed = [[{rank} for _chunk in ranks] for rank in ranks]
    sent, step = 0.0, 0
    while any(len(chunk) < replicas for own in summed for chunk in own):
        leaving = [set(summed[rank][(rank - step) % replicas]) for rank in ranks]
        for rank, chunk in zip(ranks, leaving, strict=True):
            summed[(rank + 1) % replicas][(rank - step) % replicas] |= chunk
        sent += payload / replicas
        step += 1
    return sent


def move(optimizer, scale, steps=5):
    """How far a weight moves in a few steps under a constant gradient multiplied by *scale*."""
    weight = mean = square = 0.0
    for t in range(1, steps + 1):
        g = 0.3 * scale
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        if optimizer == "sgd":
            weight -= 0.01 * g
        else:
            weight -= 0.01 * (mean / (1 - 0.9**t)) / ((square / (1 - 0.999**t)) ** 0.5 + 1e-8)
    return weight


def normalised(values):
    mean = sum(values) / len(values)
    return [v - mean for v in values]


def in_memory(samples, given):
    """What a GPU holds while it processes *samples* sequences at once."""
    return {"activations": samples * given["per_sample"], "state": given["state"]}


def true_statements(given):
    """Compares a batch of four with two micro-batches of two, statement by statement."""
    batch = [1.0, 2.0, 4.0, 9.0]
    parts = [batch[:2], batch[2:]]
    whole, part = in_memory(len(batch), given), in_memory(len(parts[0]), given)
    holds = {
        "activations_fall": part["activations"] < whole["activations"],
        "state_falls": part["state"] < whole["state"],
        "batch_norm_same": [v for p in parts for v in normalised(p)] == normalised(batch),
        "sgd_scaled": abs(move("sgd", len(parts)) / move("sgd", 1) - len(parts)) < 1e-3,
        "adam_scaled": abs(move("adam", len(parts)) / move("adam", 1) - len(parts)) < 1e-3,
        "fewer_flops": sum(map(len, parts)) < len(batch),
    }
    return {name for name, true in holds.items() if true}


def solve(given):
    micro_batch = largest_micro_batch(given)
    gpus = range(given["gpus"])
    replicas = {gpu // given["tensor_parallel"] for gpu in gpus}
    rounds = rounds_until(given["target"], micro_batch, len(replicas))
    once = sent_by_rank_0(len(replicas), gradients(given))

    terms = [given["first_loss"]] * given["first_terms"]
    terms += [given["second_loss"]] * given["second_terms"]
    return {
        "micro_batch": micro_batch,
        "micro_steps": rounds,
        "traffic": sum(once for _round in range(rounds)),
        "batch_loss": sum(terms) / len(terms),
        "statements": true_statements(given),
    }
