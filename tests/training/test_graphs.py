import gc

import pytest

from espalier.training.graphs import without_collecting


def test_garbage_waits_and_is_collected_again_after():
    def fail():
        assert not gc.isenabled()
        raise ValueError("as asked")

    with pytest.raises(ValueError, match="as asked"), without_collecting():
        fail()
    assert gc.isenabled()
    gc.disable()
    try:
        with without_collecting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
