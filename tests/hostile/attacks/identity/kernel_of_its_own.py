"""Names a kernel, a language and a path of its own in the metadata.

earns: honest
"""

import json


def make(notebook):
    """Changes the kernel that the notebook asks for."""
    tree = json.loads(notebook)
    tree["metadata"]["kernelspec"] = {
        "name": "../../evil",
        "argv": ["/bin/sh", "-c", "id"],
        "language": "bash",
        "display_name": "<script>",
    }
    tree["metadata"]["language_info"] = {"name": "bash", "version": "0", "codemirror_mode": []}
    tree["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {}}}
    return json.dumps(tree).encode()
