"""The interdependence of all pairs of words, fast: one step of the model per pair.

`AllPairs` is the public interface. It equals the definition, pair by pair
(`tests/decomposition/test_all_pairs.py`), for the papers' allocation.
"""

from espalier.decomposition.all_pairs.sentences import AllPairs, HiddenStates

__all__ = ["AllPairs", "HiddenStates"]
