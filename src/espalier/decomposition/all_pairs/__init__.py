"""The interdependence of all pairs of words, fast: a step of the model a pair.

`AllPairs` is all there is to know of this room. It is equal to the definition, pair by pair
(`tests/decomposition/test_all_pairs.py`), for the papers' allocation.
"""

from espalier.decomposition.all_pairs.sentences import AllPairs, HiddenStates

__all__ = ["AllPairs", "HiddenStates"]
