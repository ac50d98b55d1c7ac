"""Follow the log of another installation as a stranger, and find every fork that its entries show.

Each entry is read once, and the tree is computed from the entries, so what was seen before cannot change. A
stream has each number once, in order, also across restarts of the log; a restart names the head before it.
"""
