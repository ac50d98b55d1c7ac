"""Write what follows from what is declared once.

From the tables of operations: the clients in Python and JavaScript, and commands. From the groups of
settings: the arguments of `foja.connect`. The tables of docs/settings.md and docs/access.md follow too.
"""
