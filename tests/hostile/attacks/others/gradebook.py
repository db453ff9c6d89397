"""Opens the gradebook as a database and reads who is who.

earns: nothing
stopped by: files, processes
"""

# %%
import pathlib
import sqlite3

for process in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        for path in (process / "cwd").resolve().glob("results/**/gradebook.sqlite"):
            book = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0.2)
            for (table,) in book.execute("select name from sqlite_master where type = 'table'"):
                print(
                    "BROKE: can read", table, book.execute(f"select * from {table}").fetchall()[:2]
                )
    except (OSError, sqlite3.Error) as error:
        print(error)
