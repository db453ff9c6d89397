"""Has cells that take the parser long or too deep, and magic commands in every cell.

earns: honest
"""

# %%
%%bash
exit 1

# %%
%%writefile hostile
x

# %%
%run /etc/passwd
%load /etc/shadow
%%javascript

# %%
%config InteractiveShell.ast_node_interactivity = 'all'
%autoreload 2

# %%
((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((
