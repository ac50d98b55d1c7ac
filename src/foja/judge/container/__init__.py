"""The judgement of a whole bundle: the container (C), its ledger (L), its seals, and every proof in it.

`bundle.judge_bundle` is the way in. A bundle brings its own copies of roots and keys for convenience; they
are files like others here, and nothing in this room reads them.
"""
