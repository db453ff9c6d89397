"""Wrong ideas that no problem of the bank declares, for the evaluation of `grader mine`.

They were written by hand before the search was, from the questions: what a student might compute
instead. Each is a problem, a part, what kind of error it is, and the expression.
"""

from __future__ import annotations

from typing import NamedTuple


class Planted(NamedTuple):
    """A wrong idea about one part."""

    problem: str
    part: str
    type: str
    value: str


_WRITTEN = """
lora-training-memory | adapter_millions | off by one | rank * hidden * (2 * attention + 5 * mlp) * (layers - 1) * param
lora-training-memory | full_state | wrong constant | 18 * byte * base_count
lora-training-memory | full_state | extra term | 16 * byte * (base_count + adapter_count)
lora-training-memory | lora_state | wrong constant | 2 * byte * base_count + 12 * byte * adapter_count
lora-training-memory | quantized_base | wrong constant | lora_state / (lora_state - 1.75 * byte * base_count)
memory-headroom | headroom | missing term | total * (1 - lost / 100) - state
memory-headroom | headroom | wrong constant | total * (1 - lost / 100) - fixed - 12 * byte * parameters_count
memory-headroom | headroom | brackets | (total - fixed - state) * (1 - lost / 100)
memory-headroom | per_clip | wrong constant | 16 * positions * hidden * layers * byte
memory-headroom | growth | missing term | clips * per_clip / (fixed + clips * per_clip)
memory-headroom | growth | wrong parameter | clips * per_clip / total
model-state-ddp-zero | limit_stage2 | extra term | (2 + 12 / gpus) * byte * parameters_count
model-state-ddp-zero | gpus_needed | wrong parameter | ceil((state0 + other) / memory)
attention-flops-by-length | attention_flops | forgotten factor | 4 * FLOP * length ** 2 * width * half
attention-flops-by-length | attention_flops | swapped roles | 4 * FLOP * length * heads * width ** 2 * half
attention-flops-by-length | equal_length | forgotten factor | (projections + mlp) / (2 * width * half) * token
attention-flops-by-length | equal_length | wrong parameter | (projections + mlp) / (2 * hidden * half) * token
attention-flops-by-length | replaced | swapped roles | (linear + products) / (attention + products)
decoder-training-budget | forward_pass | forgotten factor | (2 * multiplied + products) * FLOP
decoder-training-budget | model_state | wrong constant | 18 * byte * n
decoder-training-budget | model_state | missing term | 16 * byte * multiplied
decoder-training-budget | activations | missing term | 4 * byte * layers * per_layer
decoder-training-budget | batch | wrong constant | floor(number((memory - model_state) / (2 * activations), ""))
decoder-training-budget | run | wrong constant | 4 * forward_pass * sequences * steps / (gpus * fact(chip, rate) * mfu / 100)
decoder-training-budget | run | forgotten factor | 3 * forward_pass * steps / (gpus * fact(chip, rate) * mfu / 100)
flash-attention-traffic | standard_traffic | wrong constant | 4 * matrix + 3 * scores
flash-attention-traffic | flash_traffic | wrong constant | matrix + 2 * matrix * tiles * computed
flash-attention-traffic | flash_traffic | off by one | 2 * matrix + 2 * matrix * (tiles - 1) * computed
flash-attention-traffic | rows_needed | wrong sign | ridge * length / (length + ridge)
flash-attention-traffic | batch_needed | off by one | ceil(sms / heads) + 1
flash-attention-traffic | backward | wrong constant | 2.5 * product
moe-weight-traffic | stored | forgotten factor | (shared * 1e9 + inside) * byte
moe-weight-traffic | active | swapped roles | (shared * 1e9 + experts * chosen * expert) * param
moe-weight-traffic | active | off by one | (shared * 1e9 + (layers - 1) * chosen * expert) * param
moe-weight-traffic | nearly_all | wrong parameter | ceil(log(1 - goal / 100) / log(chosen / experts))
moe-weight-traffic | compute_bound | swapped roles | balance * chosen / experts
moe-weight-traffic | compute_bound | power | balance * experts / chosen / width ** 2
recomputation-schedules | slowest | off by one | plain + layers * (layers - 1) / 2 * time
recomputation-schedules | slowest | missing term | layers * backward * time + extra_start * time
recomputation-schedules | waiting | off by one | 2 * (layers - layer) - 1
recomputation-schedules | fewest | wrong parameter | ceil((all_kept - budget) / layers)
recomputation-schedules | overhead | wrong constant | fewest / layers / (2 + backward)
batch-under-a-deadline | ridge | rounding | floor(exact_ridge)
batch-under-a-deadline | sustains | wrong parameter | ceil(rate * deadline)
batch-under-a-deadline | student | off by one | student_least / rate + student_reading
batch-under-a-deadline | student | missing term | (student_least - 1) / rate
does-this-runtime-make-sense | expected | off by one | (inputs + 2) * tensor / bandwidth
does-this-runtime-make-sense | expected | forgotten factor | (inputs + 1) * elements * byte / bandwidth
does-this-runtime-make-sense | eager | missing term | reads * tensor / bandwidth
does-this-runtime-make-sense | eager | wrong parameter | (reads + lines) * tensor / link
python-loop-vs-vectorized | loop_time | wrong sign | host_time - gpu_time
python-loop-vs-vectorized | loop_time | swapped roles | n_cols * calls * dispatch
python-loop-vs-vectorized | whole_tensor_time | forgotten factor | max(dispatch, whole_time)
w4a16-by-batch | size | wrong constant | packed + 4 * byte * tables * 1e9
w4a16-by-batch | size | wrong constant | count * (4 + 16 / group) * bit + 2 * byte * tables * 1e9
w4a16-by-batch | prefill | wrong parameter | max(read16, prompt_tokens * each) + ceil(prompt_tokens / tile) * unpack
diffusion-and-autoregression | throughput | extra factor | replicas * steps * batch / batch_time
diffusion-and-autoregression | in_system | wrong sign | throughput * (queue - batch_time)
speculative-decoding | tokens | wrong parameter | (1 - small_rate ** (drafted + 1)) / small_rate
speculative-decoding | tokens | off by one | (1 - small_rate ** (drafted + 2)) / (1 - small_rate)
speculative-decoding | speedup | missing term | tokens * ordinary / (drafted * draft_pass)
speculative-decoding | speedup | swapped roles | tokens * round_time / ordinary
launch-configuration | blocks | off by one | ceil(elements / block_size) + 1
launch-configuration | blocks | wrong constant | ceil(elements / 256)
launch-configuration | idle_threads | off by one | block_size - elements % block_size + 1
launch-configuration | warps | forgotten factor | blocks * block_size
shared-memory-bank-conflicts | total_passes | wrong constant | row_groups * conflict_degree * 32
shared-memory-bank-conflicts | padded_size | wrong constant | tile_rows * (width + 32) * 4 * byte
shared-memory-bank-conflicts | padded_size | wrong constant | tile_rows * (width + 1) * 8 * byte
shared-memory-bank-conflicts | padded_size | forgotten factor | 32 * (width + 1) * 4 * byte
float-format-extremes | overflow | off by one | (2 - 2 ** -narrow_fraction) * 2 ** (narrow_bias - 1)
float-format-extremes | tiny_max | swapped roles | (2 - 2 ** -e_bits) * tiny_top
float-format-extremes | tiny_count | forgotten factor | 2 ** (e_bits + f_bits)
ring-all-reduce | sent | swapped roles | 2 * gpus / (gpus - 1) * gradient_bytes
ring-all-reduce | sent | off by one | 2 * (gpus + 1) / gpus * gradient_bytes
ring-all-reduce | sent | power | 2 * (gpus - 1) / gpus ** 2 * gradient_bytes
ring-all-reduce | small_time | swapped roles | 2 * (gpus - 1) * (delay + gpus * small / bandwidth)
ring-all-reduce | small_time | brackets | 2 * (gpus - 1) * delay + small / bandwidth
ring-all-reduce | server_time | power | 2 * gpus ** 2 * gradient_bytes / bandwidth
ring-all-reduce | server_time | forgotten factor | gradient_bytes / bandwidth
choose-a-plan | state | wrong constant | 16 * byte * billions * 1e9 / (4 * pipeline)
choose-a-plan | state_zero1 | swapped roles | share * (12 + 6 / data) / 18
choose-a-plan | state_zero1 | wrong sign | share * (6 + 12 * data) / 18
choose-a-plan | micro_batches | off by one | batch // data - 1
cpython-compilation | multiplications | off by one | (products + 1) * elements
cpython-compilation | lookups | swapped roles | lookups_before * elements + per_row
cpython-compilation | objects | brackets | created * calls + 1
"""  # noqa: E501

PLANTED = tuple(
    Planted(*(field.strip() for field in line.split(" | ")))
    for line in _WRITTEN.strip().splitlines()
)
