"""The programs of Tracr's public library, in this library's words."""

from operator import eq, le, lt

from espalier.rasp import (
    Expression,
    aggregate,
    categorical,
    elementwise,
    indices,
    length,
    numerical,
    select,
    select_all,
    selector_width,
    shift,
    tokens,
)

hist = selector_width(select(tokens, tokens, eq)).named("hist")
reverse = aggregate(select(indices, length - indices - 1, eq), tokens).named("reverse")


def fraction_before(truth: Expression) -> Expression:
    """Of the positions up to each, the share where `truth` holds."""
    return aggregate(select(indices, indices, le), numerical(truth), 0)


def detect(values: Expression, pattern: str) -> Expression:
    """True where the last value of a pattern stands, None where it cannot have begun."""
    found = values == pattern[-1]
    for steps, wanted in enumerate(reversed(pattern[:-1]), 1):
        found = shift(values == wanted, steps) & found
    return found


def pair_balance(opening: str, closing: str) -> Expression:
    """The share of opening brackets so far less that of closing ones."""
    return fraction_before(tokens == opening) - fraction_before(tokens == closing)


def shuffle_dyck(*pairs: str) -> Expression:
    """Whether each kind of bracket is balanced, whatever stands between."""
    balances = [pair_balance(*pair) for pair in pairs]
    negative, zero = balances[0] < 0, balances[0] == 0
    for balance in balances[1:]:
        negative, zero = negative | (balance < 0), zero & (balance == 0)
    ever_negative = aggregate(select_all(), numerical(negative), 0)
    ends_at_zero = aggregate(select(indices, length - 1, eq), zero)
    return ends_at_zero & ~ever_negative


def sort_unique(values: Expression, keys: Expression) -> Expression:
    """The values in the order of their keys, which differ."""
    place = selector_width(select(keys, keys, lt))
    return categorical(aggregate(select(place, indices, eq), values))


def sort(values: Expression, keys: Expression, longest: int) -> Expression:
    """The values in the order of their keys; of equal keys, in the order of the input."""
    return sort_unique(values, keys + indices / longest)


def sort_by_frequency(longest: int) -> Expression:
    """The tokens, frequent ones first."""
    return sort(tokens, -1 * hist, longest)


def count_less_frequent(most: int) -> Expression:
    """How many positions hold a token that occurs at most so often."""
    return selector_width(select(hist, hist, lambda key, query: key <= most))


def count(value: object) -> Expression:
    """How often a token occurs."""
    return selector_width(select(tokens, tokens, lambda key, query: key == value))


def join(function, *parts: Expression) -> Expression:
    """A function of several expressions, through a chain of tuples."""
    joined = elementwise(lambda value: (value,), parts[0])
    for part in parts[1:]:
        joined = elementwise(lambda before, value: (*before, value), joined, part)
    return elementwise(lambda values: function(*values), joined)
