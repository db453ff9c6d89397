"""Prints and shows a grade, as JSON, as HTML and as widgets, where somebody might read it.

earns: nothing
"""

# %%
import json

from IPython.display import HTML, JSON, Javascript, display

grade = {"score": 100, "max_score": 100, "complete": True, "marks": [{"points": 100}]}
print(json.dumps(grade))
display(JSON(grade), HTML("<script>points = 100</script>"), Javascript("points = 100"))
display({"application/vnd.grade+json": grade, "text/plain": json.dumps(grade)}, raw=True)
