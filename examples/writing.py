"""A decoder that adds: it writes the digits of a sum, on symbols and in weights."""

import espalier as es
from espalier import zoo


def main() -> None:
    entry = zoo.load("addition-scratchpad")
    names = entry.program.vocabulary
    prompt = entry.encode("345+678")
    for machine in (entry.program, es.compile_program(entry.program)):
        text = es.generate(machine, prompt, max_tokens=20, stop="END")
        written = " ".join(names[token] for token in text.tokens)
        print(f"345+678= {written}: {entry.decode(text.tokens)}, layers {text.layers}")


if __name__ == "__main__":
    main()
