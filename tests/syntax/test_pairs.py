import numpy as np
from hypothesis import given
from numpy.testing import assert_array_equal

from espalier.data.treebank import CLOSED, OPEN
from espalier.syntax import CLASSES, pairs_of
from treebanks import banks, slow_distances


def slow_class(left, right):
    if any(tag not in OPEN + CLOSED for tag in (left, right)):
        return "other"
    kinds = {"open" if tag in OPEN else "closed" for tag in (left, right)}
    return kinds.pop() if len(kinds) == 1 else "mixed"


@given(banks())
def test_every_pair_is_what_its_sentence_says(bank):
    pairs, wanted = pairs_of(bank), []
    for number, one in enumerate(bank):
        far = slow_distances(one.heads)
        for l in range(len(one)):
            for r in range(l + 1, len(one)):
                linked = {(one.heads[r], r): r, (l, one.heads[l]): l}
                dependent = next((d for edge, d in linked.items() if edge == (l, r)), None)
                relation = None if dependent is None else one.relations[dependent]
                kind = slow_class(one.tags[l], one.tags[r])
                start = bank.starts[number]
                wanted.append((number, start + l, start + r, r - l, far[l, r], kind, relation))
    names = (*bank.relations.names, None)
    found = zip(
        pairs.sentence, pairs.left, pairs.right, pairs.distance, pairs.tree,
        (CLASSES[kind] for kind in pairs.classes), (names[label] for label in pairs.relation),
        strict=True,
    )  # fmt: skip
    assert list(found) == wanted
    near = pairs.where(pairs.distance == 1)
    assert_array_equal(near.tree, pairs.tree[pairs.distance == 1])
    assert ((pairs.tree == 1) == (pairs.relation >= 0)).all()
    assert len(pairs) == bank.pairs == len(np.asarray(pairs.left))
