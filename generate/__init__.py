"""Write what follows from the tables of operations: the clients in Python and JavaScript, and commands."""
