"""The MLP of a program that is run from its function, whose decisions are cached.

The values that a position reads lead down a tree of reads to what the function wrote there. Where
the function would read a null variable, the rules are explored from there, to decide whether one of
them needs it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from espalier.errors import ProgramError
from espalier.interpreter.batch import Ints, State
from espalier.interpreter.tables import NO_RULE
from espalier.language import Decision, LazyRules, Path, Program, RuleSet

# Decisions that are cached; when there are more the cache is emptied, which bounds memory.
MOST = 1 << 19


class _Read:
    __slots__ = ("children", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.children: dict[int, _Read | Decision] = {}


class Decisions:
    """What the function of a program does, position by position."""

    def __init__(self, program: Program) -> None:
        assert isinstance(program.rules, LazyRules)
        self._lazy, self._program = program.rules, program
        self._start: dict[int, _Read | Decision] = {}  # its one child is the root
        self._programs: dict[Path, Program] = {}
        self._count = 0

    def answers(
        self, state: State, codes: Mapping[str, Ints]
    ) -> tuple[dict[str, Ints], dict[Path, list[int]]]:
        """For each output the new codes, or NO_RULE; and the entries that rules must decide."""
        lists = _Lists(codes)
        size = len(state.batch.example)
        answers: dict[str, Ints] = defaultdict(lambda: np.full(size, NO_RULE))
        undecided: dict[Path, list[int]] = defaultdict(list)
        for entry in range(size):
            try:
                decision = self._decide(lists, entry)
            except ProgramError as error:
                raise ProgramError(f"{state.place(entry)}: {error}") from error.__cause__
            if decision.writes is None:
                undecided[decision.path[:-1]].append(entry)
                continue
            for name, code in decision.writes.items():
                answers[name][entry] = code
        for name, answer in answers.items():
            answer[answer == codes[name]] = NO_RULE  # a number in its bucket stays as it is
        return answers, undecided

    def program_after(self, path: Path) -> Program:
        """The program with rules, for positions at which the variables of `path` have its codes."""
        if path not in self._programs:
            rules = RuleSet(self._lazy.after(path))
            self._programs[path] = replace(self._program, rules=rules)
        return self._programs[path]

    def _decide(self, lists: _Lists, entry: int) -> Decision:
        children, code = self._start, 0
        while True:
            node = children.get(code)
            if node is None:
                return self._remember(self._lazy.decide(lambda name: lists[name][entry]))
            if isinstance(node, Decision):
                return node
            children, code = node.children, lists[node.name][entry]

    def _remember(self, decision: Decision) -> Decision:
        if self._count >= MOST:
            self._start, self._count = {}, 0
        self._count += 1
        children, code = self._start, 0
        for name, following in decision.path:
            node = children.setdefault(code, _Read(name))
            if not isinstance(node, _Read) or node.name != name:
                raise ProgramError(
                    f"ffn_fn does not repeat itself: after the same values it now read {name!r}, "
                    "which it did not before; it may depend on nothing but what it reads"
                )
            children, code = node.children, following
        children[code] = decision
        return decision


class _Lists(dict[str, list[int]]):
    """Columns as lists, made when they are first looked at."""

    def __init__(self, codes: Mapping[str, Ints]) -> None:
        super().__init__()
        self._codes = codes

    def __missing__(self, name: str) -> list[int]:
        self[name] = self._codes[name].tolist()
        return self[name]
