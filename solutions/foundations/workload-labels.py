"""Labels the services by their properties, and adds up hours by set operations."""

# Of each service: whether it draws new data, its billions of parameters if it predicts the next
# token of text, whether images are an input or output, and passes of a request.
SERVICES = {
    "assistant": {"draws": True, "next token": 32, "images": False, "passes": "tokens"},
    "pictures": {"draws": True, "next token": 0, "images": True, "passes": "steps"},
    "third": {"draws": False, "next token": 0, "images": True, "passes": 1},
    "search": {"draws": False, "next token": 0, "images": False, "passes": 1},
    "ranking": {"draws": False, "next token": 0, "images": False, "passes": 1},
    "sixth": {"draws": False, "next token": 0, "images": False, "passes": 1},
    "captions": {"draws": True, "next token": 7, "images": True, "passes": "tokens"},
}
PLANNED = {
    "drawing": {"draws": True, "next token": 0, "images": True},
    "scoring": {"draws": False, "next token": 8, "images": False},
    "sorting": {"draws": False, "next token": 0, "images": True},
    "reading": {"draws": True, "next token": 3, "images": True},
}
# Whether a service is generative, uses a large language model, and is a vision service.
SETS = {
    (True, False, True): "picture",
    (False, True, False): "language",
    (False, False, True): "vision",
    (True, True, True): "all",
    (True, True, False): "text",
}


def labels(one):
    return SETS[one["draws"], one["next token"] >= 1, one["images"]]


def solve(given):
    services = dict(SERVICES)
    if given["fourth"] == "query":
        services["search"] = {"draws": True, "next token": 0.3, "images": False, "passes": "tokens"}
    hours = {name: given[f"h{i}"] for i, name in enumerate(SERVICES, 1)}
    generative = {name for name, one in services.items() if one["draws"]}
    language = {name for name, one in services.items() if one["next token"] >= 1}
    vision = {name for name, one in services.items() if one["images"]}
    unlabeled = set(SERVICES) - (generative | language | vision)

    def share(names):
        return 100 * sum(hours[name] for name in names) / sum(hours.values())

    single = {1, "steps"} if given["images"] == "gan" else {1}
    return {
        "which_generative": generative,
        "generative_share": share(generative),
        "none_share": share(unlabeled),
        "meaning": {name: labels(one) for name, one in PLANNED.items()},
        "passes": {name for name, one in services.items() if one["passes"] not in single},
    }
