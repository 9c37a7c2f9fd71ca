"""Sentences taken apart by the model of English in the package: which words depend on which?"""

import espalier as es

SENTENCES = ("Alexander asked the student trick questions", "The exam was a piece of cake")


def main() -> None:
    model = es.english_model()
    for sentence in SENTENCES:
        pairs = es.interdependence(model, sentence)
        print(pairs)
        strongest = pairs.to_frame().nlargest(3, "value")
        for row in strongest.itertuples():
            print(f"{row.left_word} {row.right_word}: {row.value:.2f}, {row.distance} apart")
        print()


if __name__ == "__main__":
    main()
