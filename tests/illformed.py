"""Ways to spoil a well-formed program: each must be refused, and the error must name the culprit.

A `Spoiler` turns a blueprint into something to call, which raises a `ProgramError` with every word
of `culprits` in its message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from espalier.language import (
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    set_var,
    v_relative,
    var,
)
from strategies import Blueprint

NAN, INFINITY = float("nan"), float("inf")


@dataclass(frozen=True)
class Spoiler:
    """What is wrong, in words; what the error must mention; and how to bring it about."""

    what: str
    culprits: tuple[str, ...]
    build: Callable[[Blueprint], object]

    def __str__(self) -> str:
        return self.what


def enriched(blueprint: Blueprint) -> Blueprint:
    """The blueprint with one more variable of each kind and two more heads."""
    return {
        **blueprint,
        "variables": {
            **blueprint["variables"],
            "flag": var(2),
            "wide": var(7),
            "level": numerical_var((0, 1, 2.5)),
            "bag": set_var([{0}, {0, 1}], 2),
        },
        "heads": {
            **blueprint["heads"],
            "seen": v_relative("flag", -1),
            "mean": qkv("wide", "wide", "level"),
        },
    }


def changed(**changes: object) -> Callable[[Blueprint], object]:
    """The program with these arguments instead."""
    return lambda blueprint: program_spec(**{**blueprint, **changes})


def halts(*arguments: object) -> Callable[[Blueprint], object]:
    """The program with this halt_spec instead."""
    return lambda blueprint: program_spec(**{**blueprint, "halt_spec": halt_spec(*arguments)})


def variable(name: str, **arguments: object) -> Callable[[Blueprint], object]:
    """The program with a variable of range 3 more."""
    return lambda b: program_spec(
        **{**b, "variables": {**b["variables"], name: var(3, **arguments)}}
    )


def head(make: Callable[[], object], name: str = "odd") -> Callable[[Blueprint], object]:
    """The program with a head more."""
    return lambda b: program_spec(**{**b, "heads": {**b["heads"], name: make()}})


def alone(make: Callable[[], object]) -> Callable[[Blueprint], object]:
    """Something that is refused before there is a program."""
    return lambda blueprint: make()


def _ahead(b: Blueprint) -> object:
    heads = {"seen": v_relative("flag", -1), "odd": qkv("flag", "flag", "flag", [2, 5])}
    return program_spec(
        b["variables"],
        heads,
        rules=[],
        output_name="flag",
        input_range=b["input_range"],
        position_range=b["position_range"],
        causal=True,
    )


def _circle(b: Blueprint) -> object:
    circle = {"one": v_relative("two", 0), "two": v_relative("one", 0)}
    return program_spec(**{**b, "heads": {**b["heads"], **circle}})


NAMES = [
    Spoiler("unknown output", ("'flga'", "'flag'"), changed(output_name="flga")),
    Spoiler("output is a head's", ("'seen'",), changed(output_name="seen")),
    Spoiler("output is numerical", ("'level'",), changed(output_name="level")),
    Spoiler("output is a set", ("'bag'",), changed(output_name="bag")),
    Spoiler("output is None", ("None",), changed(output_name=None)),
    Spoiler("output is a list", ("flag",), changed(output_name=["flag"])),
    Spoiler("unknown halt variable", ("'flga'", "'flag'"), halts("flga")),
    Spoiler("halt on a head", ("'seen'",), halts("seen")),
    Spoiler("halt on a number", ("'level'",), halts("level")),
    Spoiler("halt on a set", ("'bag'",), halts("bag")),
    Spoiler("halt value outside", ("'flag'", "2"), halts("flag", 2)),
    Spoiler("halt value negative", ("'flag'", "-1"), halts("flag", -1)),
    Spoiler("halt value a float", ("1.0",), halts("flag", 1.0)),
    Spoiler("halt variable a number", ("3",), halts(3)),
    Spoiler("halt a string", ("'flag'",), changed(halt_spec="flag")),
    Spoiler("variable is a head too", ("'seen'",), variable("seen")),
    Spoiler("variable has no name", ("''",), variable("")),
    Spoiler("variables a list", ("list",), changed(variables=["flag"])),
    Spoiler("variable is a number", ("'flag'", "2"), changed(variables={"flag": 2})),
    Spoiler("heads a list", ("list",), changed(heads=["seen"])),
    Spoiler("head is a variable", ("'odd'",), head(lambda: var(2))),
    Spoiler("input_range of 0", ("input_range", "0"), changed(input_range=0)),
    Spoiler("input_range a float", ("input_range", "2.0"), changed(input_range=2.0)),
    Spoiler("input_range huge", ("input_range", "1,000,000,000"), changed(input_range=10**9)),
    Spoiler("position_range huge", ("position_range",), changed(position_range=10**9)),
    Spoiler("input_range None", ("input_range", "None"), changed(input_range=None)),
    Spoiler("position_range of 0", ("position_range", "0"), changed(position_range=0)),
    Spoiler("position_range a float", ("position_range", "4.5"), changed(position_range=4.5)),
    Spoiler("vocabulary too long", ("vocabulary", "5"), changed(vocabulary=list("abcde"))),
    Spoiler(
        "vocabulary repeats",
        ("vocabulary",),
        lambda b: program_spec(
            {"flag": var(2)}, rules=[], output_name="flag", input_range=2, vocabulary=["a", "a"]
        ),
    ),
    Spoiler("vocabulary a number", ("vocabulary", "5"), changed(vocabulary=5)),
    Spoiler("causal a word", ("causal", "'yes'"), changed(causal="yes")),
]

VARIABLES = [
    Spoiler("range of 0", ("0",), alone(lambda: var(0))),
    Spoiler("range negative", ("-3",), alone(lambda: var(-3))),
    Spoiler("range a float", ("3.0",), alone(lambda: var(3.0))),
    Spoiler("range a string", ("'3'",), alone(lambda: var("3"))),
    Spoiler("default outside", ("7",), alone(lambda: var(3, default=7))),
    Spoiler("default a float", ("1.0",), alone(lambda: var(3, default=1.0))),
    Spoiler("init not a function", ("input_init_fn", "2"), alone(lambda: var(3, input_init_fn=2))),
    Spoiler(
        "two initialisers",
        ("input_init_fn", "position_init_fn"),
        alone(lambda: var(3, input_init_fn=int, position_init_fn=int)),
    ),
    Spoiler(
        "position init without positions",
        ("'place'", "position_range"),
        lambda b: program_spec(
            {"place": var(3, position_init_fn=int)}, rules=[], output_name="place", input_range=1
        ),
    ),
    Spoiler("init outside", ("'new'", "3"), variable("new", input_init_fn=lambda x: 3)),
    Spoiler("init negative", ("'new'", "-1"), variable("new", input_init_fn=lambda x: -1)),
    Spoiler("init a float", ("'new'", "1.0"), variable("new", input_init_fn=lambda x: 1.0)),
    Spoiler("init None", ("'new'", "None"), variable("new", input_init_fn=lambda x: None)),
    Spoiler("init raises", ("'new'", "Zero"), variable("new", input_init_fn=lambda x: x // 0)),
    Spoiler("unsorted buckets", ("2", "1"), alone(lambda: numerical_var((0, 2, 1)))),
    Spoiler("repeated bucket", ("1",), alone(lambda: numerical_var((0, 1, 1)))),
    Spoiler("single bucket", ("1",), alone(lambda: numerical_var([3]))),
    Spoiler("no bucket", ("0",), alone(lambda: numerical_var([]))),
    Spoiler("bucket not a number", ("nan",), alone(lambda: numerical_var([0, NAN]))),
    Spoiler("bucket infinite", ("inf",), alone(lambda: numerical_var([0, INFINITY]))),
    Spoiler("bucket a string", ("'1'",), alone(lambda: numerical_var([0, "1"]))),
    Spoiler("bucket beyond floats", ("10",), alone(lambda: numerical_var([0, 10**400]))),
    Spoiler("buckets a number", ("3",), alone(lambda: numerical_var(3))),
    Spoiler("number starts as nan", ("nan",), alone(lambda: numerical_var([0, 1], default=NAN))),
    Spoiler("no sets", ("set_var",), alone(lambda: set_var([]))),
    Spoiler("set beyond its range", ("5",), alone(lambda: set_var([{5}], 3))),
    Spoiler("set with a negative", ("-1",), alone(lambda: set_var([{-1}]))),
    Spoiler("set with a float", ("0.5",), alone(lambda: set_var([{0.5}]))),
    Spoiler("sets that are numbers", ("1",), alone(lambda: set_var([1, 2]))),
    Spoiler("set declared twice", ("{1}",), alone(lambda: set_var([{1}, {1}]))),
    Spoiler("set starts undeclared", ("{2}",), alone(lambda: set_var([{1}], 3, default={2}))),
]

HEADS = [
    Spoiler("unknown query", ("'odd'", "'wdie'"), head(lambda: qkv("wdie", "wide", "flag"))),
    Spoiler("unknown key", ("'odd'", "'wdie'"), head(lambda: qkv("wide", "wdie", "flag"))),
    Spoiler("unknown value", ("'odd'", "'flga'"), head(lambda: qkv("wide", "wide", "flga"))),
    Spoiler("unknown relative value", ("'odd'", "'flga'"), head(lambda: v_relative("flga", -1))),
    Spoiler("query a number", ("3",), alone(lambda: qkv(3, "wide", "flag"))),
    Spoiler(
        "ranges differ", ("'wide'", "7", "'flag'", "2"), head(lambda: qkv("wide", "flag", "flag"))
    ),
    Spoiler("set and key differ", ("'bag'", "'wide'"), head(lambda: qkv("bag", "wide", "flag"))),
    Spoiler("query numerical", ("'odd'", "'level'"), head(lambda: qkv("level", "wide", "flag"))),
    Spoiler("key numerical", ("'odd'", "'level'"), head(lambda: qkv("wide", "level", "flag"))),
    Spoiler("key a set", ("'odd'", "'bag'"), head(lambda: qkv("flag", "bag", "flag"))),
    Spoiler("value a set", ("'odd'", "'bag'"), head(lambda: qkv("flag", "flag", "bag"))),
    Spoiler("relative value a set", ("'odd'", "'bag'"), head(lambda: v_relative("bag", 1))),
    Spoiler("output too narrow", ("'odd'", "'wide'"), head(lambda: v_relative("wide", 1, var(6)))),
    Spoiler(
        "output numerical, value not",
        ("'odd'", "'flag'"),
        head(lambda: v_relative("flag", 1, numerical_var((0, 1)))),
    ),
    Spoiler(
        "output categorical, value not",
        ("'odd'", "'level'"),
        head(lambda: v_relative("level", 1, var(9))),
    ),
    Spoiler("output a set", ("'flag'",), alone(lambda: v_relative("flag", 1, set_var([{0}])))),
    Spoiler(
        "output initialised",
        ("'flag'",),
        alone(lambda: v_relative("flag", 1, var(2, input_init_fn=int))),
    ),
    Spoiler("no relative positions", ("'flag'",), alone(lambda: qkv("flag", "flag", "flag", []))),
    Spoiler(
        "relative position a float", ("1.0",), alone(lambda: qkv("flag", "flag", "flag", [1.0]))
    ),
    Spoiler(
        "relative positions a float", ("1.5",), alone(lambda: qkv("flag", "flag", "flag", 1.5))
    ),
    Spoiler("offset a float", ("-1.0",), alone(lambda: v_relative("flag", -1.0))),
    Spoiler("offset None", ("None",), alone(lambda: v_relative("flag", None))),
    Spoiler("looks only ahead", ("'odd'", "+2", "causal"), _ahead),
    Spoiler("carries itself", ("'odd'",), head(lambda: v_relative("odd", 0))),
    Spoiler("carry each other", ("'one'",), _circle),
]


def by_name(**lists: list[Spoiler]) -> dict[str, Spoiler]:
    return {f"{kind}: {spoiler}": spoiler for kind, found in lists.items() for spoiler in found}


SPECS = by_name(names=NAMES, variables=VARIABLES, heads=HEADS)
