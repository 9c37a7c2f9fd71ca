"""A compiled program as a textbook Transformer of fixed depth: ordinary dense blocks.

A program's layer becomes one block, or two to four where rules read averages, sets or numbers.
What a compiled model has beyond a textbook is written in dimensions of the stream, all of which
are 0 at ordinary tokens, so that nothing is rounded that was exact:

sink        Before every sequence is a token whose key gives every query the sink's logit, and
            whose values are all 0.
padding     A token whose keys lie below every sink.
offsets     One-hot positions; a query's row lowers what its relative positions do not allow.
halting     A head looks for a position that has not halted. If there is none, it finds the
            beginning, which carries a 1 into `done`; that switches off all rules but the resets,
            which take away what heads have written. In a causal program the position's own halt
            dimension does so.
clipping    A rule's unit never exceeds 1, so ReLU is enough; a threshold is two ReLUs.
"""

from espalier.compiler.plain.unroll import unroll

__all__ = ["unroll"]
