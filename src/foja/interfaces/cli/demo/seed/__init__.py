"""`foja demo --seed`: fill an installation with documents, conversations and galleries to look at.

Everything goes through the public API. The texts, pictures and ids are always the same, so a second run
adds nothing. Every name begins with `demo`.
"""
