"""Runs the build stage by stage, lists what each image runs on, and adds up processes on GPU 0."""

ARCHITECTURES = (70, 75, 80, 86, 89, 90, 100, 120)
# What a stage writes; the message of the program's errors tells which stage stopped.
STAGES = (
    ("cicc", {"ptx"}),
    ("ptxas", {"cubin"}),
    ("fatbinary", {"fatbin"}),
    ("host compiler", {"object"}),
    ("ld", {"program"}),
    ("driver", set()),
)
STOPS = (
    ("ptxas", "ptxas"),
    ("undefined reference", "ld"),
    ("no kernel image", "driver"),
)
REPAIRS = (
    ("mismatches the version", "toolkit"),
    ("CUDA_HOME", "toolkit"),
    ("no kernel image", "rebuild"),
)


def solve(given):
    stop = next(stage for text, stage in STOPS if text in given["said"])
    written = set()
    for stage, files in STAGES:
        if stage == stop:
            break
        written |= files

    cubins, sources = images(given["flags"])
    outcomes = []
    for sm in (given["old"], 86, 89, 90, given["newest"]):
        outcomes.append([1 if sm in cubins else 2 if sm in sources else 0])

    shown = {
        rank: given["context"] + (given["reserved"] if rank == 0 else 0)
        for rank in range(given["ranks"])
    }
    return {
        "built": written,
        "loaded": outcomes,
        "repair": repair(given),
        "layers": ["script", "library", "runtime", "driver", "bottom"],
        "origins": {
            "libcuda": "host",
            "cudart": "wheel",
            "compiler": "toolkit",
            "cudnn": "wheel",
            "jit": "host",
        },
        "contexts": sum(shown.values()) - shown[0],
        "claims_on_contexts": ["true1", "true2"],
    }


def images(flags):
    """The architectures that the embedded cubins run on, and those that the PTX compiles for."""
    cubins, sources = set(), set()
    for entry in flags.split(";"):
        major, minor = (int(digits) for digits in entry.removesuffix("+PTX").split("."))
        cubins |= {sm for sm in ARCHITECTURES if sm in range(10 * major + minor, 10 * major + 10)}
        if entry.endswith("+PTX"):
            sources |= {sm for sm in ARCHITECTURES if sm >= 10 * major + minor}
    return cubins, sources


def repair(given):
    for text, fix in REPAIRS:
        if text in given["told"]:
            return fix
    if given["torch"] == "None":
        return "wheel"
    return "driver" if float(given["smi"]) < float(given["torch"]) else None
