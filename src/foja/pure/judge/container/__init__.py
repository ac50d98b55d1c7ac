"""The judgement of a whole bundle: the container (C), its ledger (L), its seals, and every proof in it.

`bundle.judge_bundle` is the entry point. A bundle holds copies of roots and keys for convenience. This
package checks that they are nothing else, and takes no trust from them.
"""
