"""When checkpoints are saved: a set of step numbers, each with its name."""

from __future__ import annotations

import math
from dataclasses import dataclass

from espalier.errors import ConfigError, check_kind


@dataclass(frozen=True)
class EveryEpoch:
    """After every `count` epochs, and after the last."""

    count: int = 1


@dataclass(frozen=True)
class LogSteps:
    """`per_octave` checkpoints each time the number of steps doubles, from the first step on."""

    per_octave: int = 2


@dataclass(frozen=True)
class AtSteps:
    """At these steps."""

    steps: tuple[int, ...]


@dataclass(frozen=True)
class AtEpochs:
    """At the end of these epochs; 0 is the model before its first step."""

    epochs: tuple[int, ...]


Schedule = EveryEpoch | LogSteps | AtSteps | AtEpochs


def steps_of(schedule: Schedule, *, epochs: int, steps_per_epoch: int) -> set[int]:
    """The steps at which one schedule asks for a checkpoint.

    >>> sorted(steps_of(EveryEpoch(2), epochs=3, steps_per_epoch=10))
    [20, 30]
    """
    total = epochs * steps_per_epoch
    match schedule:
        case EveryEpoch(count):
            ends = {min(epoch, epochs) for epoch in range(count, epochs + count, count)}
            return {epoch * steps_per_epoch for epoch in ends}
        case LogSteps(per_octave) if per_octave >= total:  # every step, and not found one by one
            return set(range(1, total + 1))
        case LogSteps(per_octave):
            last = math.floor(math.log2(total) * per_octave)
            return {round(2 ** (k / per_octave)) for k in range(last + 1)}
        case AtSteps(steps):
            return {step for step in steps if 0 <= step <= total}
        case AtEpochs(chosen):
            return {epoch * steps_per_epoch for epoch in chosen if 0 <= epoch <= epochs}


def checkpoint_name(step: int, steps_per_epoch: int) -> str:
    """`epoch-3` at the end of an epoch, `step-128` elsewhere.

    >>> checkpoint_name(30, steps_per_epoch=10)
    'epoch-3'
    """
    epoch, inside = divmod(step, steps_per_epoch)
    return f"step-{step}" if inside or not step else f"epoch-{epoch}"


def parse_schedule(text: str) -> tuple[Schedule, ...]:
    """From words joined by '+': 'epoch', 'epoch:5', 'epochs:1,3', 'log', 'log:4', 'step:10,100'.

    >>> parse_schedule("epoch:5 + step:10,100")
    (EveryEpoch(count=5), AtSteps(steps=(10, 100)))
    """
    check_kind("keep", text, str, error=ConfigError)
    return tuple(_parse_one(part.strip()) for part in text.split("+"))


def _parse_one(text: str) -> Schedule:
    kind, _, detail = text.partition(":")
    try:
        match kind:
            case "epoch":
                return EveryEpoch(_positive(detail or "1"))
            case "log":
                return LogSteps(_positive(detail or "2"))
            case "step":
                return AtSteps(tuple(_counted(step) for step in detail.split(",")))
            case "epochs":
                return AtEpochs(tuple(_counted(epoch) for epoch in detail.split(",")))
    except ValueError:
        pass
    raise ConfigError(
        f"{text!r} is not a checkpoint schedule; use 'epoch', 'epoch:N', 'epochs:A,B,...', 'log', "
        f"'log:N' (N a doubling), 'step:A,B,...', or several joined by '+'"
    )


def _positive(text: str) -> int:
    return _counted(text, least=1)


def _counted(text: str, *, least: int = 0) -> int:
    if int(text) < least:
        raise ValueError
    return int(text)
