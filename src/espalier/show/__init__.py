"""Text, HTML and figures of every result. The values themselves are made on the floors below."""


def load_views(module: str) -> None:
    """Register how the results that a module of espalier defines look."""
