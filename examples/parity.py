"""Three ways to count ones modulo two, each on symbols and in weights."""

import espalier as es
from espalier import zoo


def main() -> None:
    for name in ("parity-sequential-absolute", "parity-sequential-relative", "parity-sum-modulo"):
        entry = zoo.load(name)
        tokens = entry.encode("1101")
        trace = es.interpret(entry.program, tokens, max_layers=entry.max_layers)
        model = es.compile_program(entry.program)
        run = model.run(tokens, max_layers=entry.max_layers)
        print(f"{name}: {entry.decode(trace.outputs)} on symbols, {entry.decode(run.outputs)} in")
        print(f"  weights, after {run.layers} layers, with {len(entry.program.rules)} rules")


if __name__ == "__main__":
    main()
