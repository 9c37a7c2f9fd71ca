"""A run that ends, as by a kill, at one of the writes into its folders."""

from contextlib import contextmanager

from espalier.runs import RunFolder


@contextmanager
def ends_at_a_write(monkeypatch, name, *, after, error):
    """A block in which a method of run folders raises after so many calls, not of hidden ones."""
    count, original = 0, getattr(RunFolder, name)

    def ending(self, *given, **named):
        nonlocal count
        if not self.path.name.startswith("."):
            count += 1
            if count > after:
                raise error
        return original(self, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, name, ending)
        yield
