"""Functions followed on trees: rules that do what the function does, at the cost of the rules."""

import functools
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dice import Dice
from espalier.errors import ProgramError
from espalier.language import exploration, var
from espalier.language.exploration import explore
from espalier.language.paths import Explorer
from espalier.language.slices import NotUnderstoodError, follow
from espalier.language.trees import FollowingError, Forest, count_rules, rules_of
from reference import apply_function, apply_rules, assignments
from sources import compiled, random_source
from strategies import specs_and_function

FEW = {"a": var(2), "b": var(3), "c": var(2), "d": var(3)}


def sliced(function, variables, heads=frozenset()):
    """The rules of a function, followed on trees alone."""
    forest = Forest(variables, 100_000)
    trees = follow(function, forest, heads)
    settled = {name: forest.settle(tree, name) for name, tree in trees.items()}
    rules = [rule for name in settled for rule in rules_of(settled[name], name, variables)]
    assert len(rules) == sum(count_rules(tree, n, variables) for n, tree in settled.items())
    return rules


@st.composite
def sources(draw):
    return random_source(Dice(draw), FEW)


@given(sources())
def test_trees_do_what_the_source_does_and_ask_only_for_what_it_reads(source):
    function = compiled(source, FEW)
    explorer = Explorer(function, Forest(FEW, 100_000), frozenset())
    trees = follow(function, explorer.forest, frozenset())
    rules, path_by_path = sliced(function, FEW), explore(function, FEW)
    for seen in assignments(FEW):
        after = apply_function(function, seen)
        assert apply_rules(rules, FEW, seen) == apply_rules(path_by_path, FEW, seen) == after
        view = explorer.run_at(seen)  # the values of these variables are their codes
        assert explorer.differs(trees, dict(view.path), view.writes) is None


@given(specs_and_function())
def test_any_function_is_followed_or_explored_path_by_path(specs_and_function):
    specs, function = specs_and_function
    few = {name: specs[name] for name in specs if name in function.names()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exploration, "FEW_PATHS", 0)
        rules = explore(function, specs)
    for seen in assignments(few):
        assert apply_rules(rules, few, seen) == apply_function(function, seen)


COUNT = 30
MANY = {f"v{n}": var(4) for n in range(COUNT)}
TABLE = {0: 1, 1: 2, 2: 3, 3: 0}


def bump(z, name, by=1):
    z[name] = (z[name] + by) % 4


def in_a_loop(z):
    for n in range(COUNT):
        z[f"v{n}"] = (z[f"v{n}"] + 1) % 4


def by_branches(z):
    for name in z:
        if z[name] == 3:
            z[name] = 0
        elif z[name] in (1, 2):
            z[name] += 1
        else:
            z[name] = 1


def by_helper(z):
    for name in MANY:
        bump(z, name)


def by_closure(z):
    def change(name):
        z[name] = TABLE[z[name]]

    for name in MANY:
        change(name)


def read_before(z):
    values = [z[name] for name in MANY]
    for name, value in zip(MANY, values, strict=False):
        z[name] = (value + 1) % 4


def with_temporaries(z):
    first, second, *_ = z["v0"], z["v1"]
    old = tuple(z[f"v{n}"] for n in range(2, COUNT))
    z["v0"], z["v1"] = (first + 1) % 4, (second + 1) % 4
    for n, value in enumerate(old):
        z[f"v{n + 2}"] = value + 1 if value < 3 else 0


class Step:
    by = 1

    def __call__(self, z):
        for name in z.keys():  # noqa: SIM118
            self.one(z, name)

    def one(self, z, name):
        z[name] = (z.get(name) + self.by) % 4


STYLES = {
    "loop": in_a_loop,
    "branches": by_branches,
    "helper": by_helper,
    "closure": by_closure,
    "read before": read_before,
    "temporaries": with_temporaries,
    "object": Step(),
    "partial": functools.partial(lambda by, z: [bump(z, name, by=by) for name in MANY], 1),
    "update": lambda z: z.update({name: (z[name] + 1) % 4 for name in MANY}),
    "keywords": lambda z: z.update(**{name: (z[name] + 1) % 4 for name in MANY}),
    "comprehension": lambda z: [bump(z, name) for name in MANY],
    "source unknown": compiled(
        "def step(z):\n" + "\n".join(f"    z['{n}'] = (z['{n}'] + 1) % 4" for n in MANY), MANY
    ),
}


@pytest.mark.parametrize("style", STYLES)
def test_unrelated_updates_cost_what_their_rules_cost(style):
    rules = explore(STYLES[style], MANY)
    assert len(rules) == 4 * COUNT
    assert all(rule.new == (rule.old + 1) % 4 for rule in rules)
    assert all(len(rule.antecedent) == 1 for rule in rules)


def test_a_value_that_many_variables_decide_is_refused_at_once():
    many = {f"x{n}": var(2) for n in range(24)} | {"out": var(2)}
    calls = itertools.count()

    def parity(z):
        next(calls)
        z["out"] = sum(z[f"x{n}"] for n in range(24)) % 2

    with pytest.raises(ProgramError, match=r"rules by 'out': 1.678e\+07"):
        explore(parity, many)
    assert next(calls) < 2000


def test_a_head_is_asked_only_where_the_function_reads_it():
    specs = {"edge": var(2), "c": var(3), "h": var(3), "out": var(3)}

    def step(z):
        z["out"] = z["h"] if z["edge"] else z["c"]

    for rule in sliced(step, specs, frozenset({"h"})):
        atoms = {atom.variable: atom.values for atom in rule.antecedent}
        assert atoms["edge"] == ((1,) if "h" in atoms else (0,))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda z: z.update(v4=z["v5"] + 2), r"'v4': [45] is outside.*v5 = [23]"),
        (lambda z: 1 // (z["v5"] * (z["v4"] - 9)), r"ZeroDivisionError.*v5 = 3"),
        (lambda z: z["v4"] < 5 and z["v 5"], "'v 5'"),
    ],
)
def test_what_fails_somewhere_is_refused_with_where(act, words):
    def step(z):
        in_a_loop(z)
        if z["v3"] == 2:
            act(z)

    with pytest.raises(ProgramError, match=words):
        explore(step, MANY)


class Total:
    def __init__(self):
        self.sum = 0

    def add(self, number):
        self.sum += number


def by_object(z):
    total = Total()
    total.add(z["a"])
    total.add(z["b"])
    z["d"] = total.sum % 3


def by_item(z):
    held = {"a": 0}
    held["a"] = z["a"]
    z["d"] = held["a"]


def by_exception(z):
    try:
        z["d"] = [0, 1][z["b"]]
    except IndexError:
        z["d"] = 2


def by_iterator(z):
    rest = iter([z["a"], z["b"]])
    next(rest)
    z["d"] = next(rest)


def by_sort(z):
    values = [z["b"], z["a"]]
    values.sort()
    z["d"] = values[0]


@pytest.mark.parametrize("function", [by_object, by_item, by_exception, by_iterator, by_sort])
def test_what_changes_objects_in_place_is_not_followed_wrongly(function):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exploration, "FEW_PATHS", 0)
        rules = explore(function, FEW)
    for seen in assignments(FEW):
        assert apply_rules(rules, FEW, seen) == apply_function(function, seen)


def test_what_is_not_understood_says_so():
    with pytest.raises(NotUnderstoodError, match="in place"):
        sliced(by_item, FEW)
    with pytest.raises(FollowingError):
        sliced(by_exception, FEW)
