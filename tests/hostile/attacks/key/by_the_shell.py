"""Lets the shell and other programs look: find, grep, strings, ps, lsof, env.

earns: nothing
stopped by: files, processes
"""

# %%
!cat /proc/$PPID/environ /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep CANARY
!grep -rhao 'CANARY-[a-z]*-[0-9a-f]*' /proc/[0-9]*/cwd/release /proc/[0-9]*/cwd/*.txt 2>/dev/null

# %%
%%bash
env | grep CANARY
ps auxe 2>/dev/null | grep -o 'CANARY-[a-z]*-[0-9a-f]*'
true
