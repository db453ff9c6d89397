"""Says what its answers are before it is asked, again and again, in every form.

earns: nothing
"""

# %%
import base64
import json

from IPython import get_ipython

kernel = get_ipython().kernel
claims = {name: {"t": "float", "v": "nan"} for name in ANSWERS}
text = base64.b64encode(json.dumps(claims).encode()).decode()
parent, ident = kernel.get_parent("shell"), kernel._parent_ident["shell"]
for said in (text, text * 9, "", "correct", {"points": 100}, [text], None, "e30=" * 10**6):
    kernel.session.send(kernel.shell_stream, "said", {"said": said}, parent=parent, ident=ident)
    kernel.session.send(kernel.shell_stream, "said", said, parent=parent, ident=ident)

# %%
from IPython import get_ipython

kernel = get_ipython().kernel
kernel._reply_text = lambda *_: {"said": text}
kernel._asked = list(ANSWERS) * 1000
