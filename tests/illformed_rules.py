"""Ways to spoil the rules of a well-formed program, or the function they come from."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from espalier.language import Atom, Rule, program_spec, var
from illformed import Spoiler, by_name
from strategies import Blueprint


def rules(make: Callable[[], object]) -> Callable[[Blueprint], object]:
    """The program with these rules."""
    return lambda b: program_spec(**{**_bare(b), "rules": make()})


def rule(*arguments: object) -> Callable[[Blueprint], object]:
    """The program with a single rule."""
    return rules(lambda: [Rule(*arguments)])


def function(ffn_fn: object, **arguments: object) -> Callable[[Blueprint], object]:
    """The program with this function."""
    return lambda b: program_spec(**{**_bare(b), "ffn_fn": ffn_fn, **arguments})


def _bare(blueprint: Blueprint) -> Blueprint:
    return {name: given for name, given in blueprint.items() if name not in ("rules", "ffn_fn")}


def writes(name: str, value: object) -> Callable[[Blueprint], object]:
    return function(lambda z: z.__setitem__(name, value))


def _raises(z) -> None:
    if z["wide"] == 4:
        raise KeyError("lost")


def _forgets(z) -> None:
    del z["flag"]


def _hides_its_error(z) -> None:
    try:
        z["flag"] = 9
    except Exception:
        z["flag"] = 1


def _reads_everything(z) -> None:
    z["flag"] = sum(len(str(value)) for value in z.values()) % 2


def _writes_another_value_each_time() -> Callable[[object], None]:
    calls = itertools.count()
    return lambda z: z.__setitem__("wide", next(calls) % 7)


def _reads_another_name_each_time() -> Callable[[object], None]:
    calls = itertools.count()
    return lambda z: z["flag" if next(calls) % 2 else "wide"]


def _many(size: int, count: int) -> Callable[[Blueprint], object]:
    def build(b: Blueprint) -> object:
        more = {f"m{number}": var(size) for number in range(count)}
        everything = {**_bare(b), "variables": {**b["variables"], **more, "huge": var(5000)}}

        def step(z) -> None:
            z["flag"] = sum(z[name] for name in ("huge", *more)) % 2

        return program_spec(**everything, ffn_fn=step)

    return build


RULES = [
    Spoiler(
        "reads unknown", ("'wdie'", "'wide'"), rules(lambda: [Rule({"wdie": 0}, "flag", 0, 1)])
    ),
    Spoiler("writes unknown", ("'flga'", "'flag'"), rule({}, "flga", 0, 1)),
    Spoiler("reads outside", ("'wide'", "7"), rule({"wide": 7}, "flag", 0, 1)),
    Spoiler("reads a float", ("'wide'", "3.0"), rule({"wide": 3.0}, "flag", 0, 1)),
    Spoiler(
        "reads between buckets",
        ("'level'", "0.5"),
        rule({"level": 0.5}, "flag", 0, 1),
    ),
    Spoiler(
        "reads undeclared set", ("'bag'", "{1}"), rules(lambda: [Rule({"bag": {1}}, "flag", 0, 1)])
    ),
    Spoiler("writes outside", ("flag", "2"), rule({}, "flag", 0, 2)),
    Spoiler("writes a float", ("flag", "1.0"), rule({}, "flag", 0, 1.0)),
    Spoiler("writes between buckets", ("level", "0.5"), rule({}, "level", 0, 0.5)),
    Spoiler("writes undeclared set", ("bag", "{1}"), rule({}, "bag", {0}, {1})),
    Spoiler("old value outside", ("flag", "-1"), rule({}, "flag", -1, 1)),
    Spoiler("writes a head", ("seen",), rule({}, "seen", 0, 1)),
    Spoiler("writes null", ("flag",), rule({}, "flag", 0, None)),
    Spoiler("resets only at times", ("seen",), rule({"flag": 0}, "seen", 0, None)),
    Spoiler("changes nothing", ("flag",), rule({"wide": 3}, "flag", 1, 1)),
    Spoiler("old value twice", ("flag",), rule({"flag": 1}, "flag", 0, 1)),
    Spoiler(
        "reads twice", ("wide",), rules(lambda: [Rule([("wide", 0), ("wide", 1)], "flag", 0, 1)])
    ),
    Spoiler("allows nothing", ("wide",), rule([Atom("wide", ())], "flag", 0, 1)),
    Spoiler(
        "allows a bare value", ("wide",), rules(lambda: [Rule([Atom("wide", 1)], "flag", 0, 1)])
    ),
    Spoiler("same rule twice", ("wide",), rules(lambda: [Rule({}, "wide", 0, 1)] * 2)),
    Spoiler(
        "two new values", ("wide",), rules(lambda: [Rule({}, "wide", 0, 1), Rule({}, "wide", 0, 2)])
    ),
    Spoiler(
        "can hold together",
        ("'wide'", "flag", "level"),
        rules(lambda: [Rule({"flag": 0}, "wide", 3, 1), Rule({"level": 1}, "wide", 3, 2)]),
    ),
    Spoiler(
        "can hold together for a value of many",
        ("'wide'",),
        rules(
            lambda: [
                Rule([Atom("flag", (0, 1))], "wide", 3, 1),
                Rule([Atom("bag", (frozenset({0}),)), Atom("flag", (1,))], "wide", 3, 2),
            ]
        ),
    ),
    Spoiler("not a rule", ("rules[0]",), rules(lambda: ["flag = 1"])),
    Spoiler("rules a number", ("3",), rules(lambda: 3)),
    Spoiler("neither rules nor function", ("ffn_fn", "rules"), lambda b: program_spec(**_bare(b))),
    Spoiler("rules and function", ("ffn_fn", "rules"), function(print, rules=[])),
    Spoiler("antecedent a number", ("5",), rule(5, "flag", 0, 1)),
    Spoiler("antecedent of strings", ("wide",), rule(["wide"], "flag", 0, 1)),
]

FUNCTIONS = [
    Spoiler("reads unknown", ("'wdie'", "'wide'"), function(lambda z: z["wdie"])),
    Spoiler("writes unknown", ("'flga'", "'flag'"), writes("flga", 1)),
    Spoiler("writes outside", ("'flag'", "2"), writes("flag", 2)),
    Spoiler("writes negative", ("'wide'", "-1"), writes("wide", -1)),
    Spoiler("writes a float", ("'flag'", "1.0"), writes("flag", 1.0)),
    Spoiler("writes None", ("'flag'", "None"), writes("flag", None)),
    Spoiler("writes between buckets", ("'level'", "0.5"), writes("level", 0.5)),
    Spoiler("writes undeclared set", ("'bag'", "{1}"), writes("bag", {1})),
    Spoiler("writes a head", ("'seen'",), writes("seen", 0)),
    Spoiler("raises", ("KeyError", "lost", "wide = 4"), function(_raises)),
    Spoiler("deletes", ("'flag'",), function(_forgets)),
    Spoiler("hides its error", ("'flag'", "9"), function(_hides_its_error)),
    Spoiler("takes no argument", ("ffn_fn", "TypeError"), function(lambda: None)),
    Spoiler("returns a copy", ("ffn_fn", "dict"), function(lambda z: {**z, "flag": 1})),
    Spoiler("not a function", ("ffn_fn", "3"), function(3)),
    Spoiler("paths not a whole number", ("max_paths",), function(lambda z: None, max_paths=1e3)),
    Spoiler("too many paths", ("ffn_fn", "max_paths"), function(_reads_everything, max_paths=3)),
    Spoiler("explodes", ("'huge'", "5000"), _many(size=4, count=9)),
    Spoiler(
        "writes differently each time",
        ("ffn_fn", "repeat"),
        lambda b: function(_writes_another_value_each_time())(b),
    ),
    Spoiler(
        "reads differently each time",
        ("ffn_fn", "repeat"),
        lambda b: function(_reads_another_name_each_time())(b),
    ),
]


MLPS = by_name(rules=RULES, function=FUNCTIONS)
