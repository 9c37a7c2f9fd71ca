"""espalier: how sequence models compose meaning.

Programs into Transformers: write an algorithm with `espalier.language`, run it on symbols with
`interpret`, turn it into weights with `compile_program`, and compare the two with `verify`.

Models to take apart: `train` whatever a config describes, `load_language_model`;
and taking them apart: `decompose`, `interdependence`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from espalier.results import load_views_with
from espalier.version import __version__

if TYPE_CHECKING:
    from espalier import experiments, language, rasp, show, zoo
    from espalier.compiler import (
        CompiledModel,
        compile_program,
        load_compiled,
    )
    from espalier.data import (
        ParityConfig,
        ParitySet,
        ParitySplit,
        ScaffoldConfig,
        ScaffoldCorpus,
        ScanSplit,
        TextCorpus,
        Treebank,
        count_scaffolds,
        parity_set,
        parity_split,
        rule_frequency_grid,
        scaffold_corpus,
        scan_split,
        text_corpus,
        treebank,
    )
    from espalier.decomposition import (
        AsPrinted,
        Dependence,
        Generalised,
        InputHessian,
        Murdoch,
        Occlusion,
        PairBlock,
        PairMatrix,
        Pairs,
        Papers,
        Parts,
        ShapleyInteraction,
        decompose,
        decompose_many,
        interaction_baseline,
        interdependence,
        interdependence_corpus,
    )
    from espalier.errors import (
        CompileError,
        ConfigError,
        DataError,
        EspalierError,
        FileError,
        ModelError,
        ProgramError,
        UndefinedError,
    )
    from espalier.experiments import (
        Reproduction,
        RunCache,
        reproduce,
    )
    from espalier.interpreter import (
        Trace,
        interpret,
        interpret_many,
    )
    from espalier.language import (
        Generation,
        Program,
        Run,
        Runs,
        program_spec,
    )
    from espalier.learnability import (
        LocalOptimum,
        MinimalProgram,
        Traces,
        local_optimum,
        minimal,
        read_traces,
        record_traces,
    )
    from espalier.learnability.supervision import (
        ReadableRun,
        ReadableSettings,
        TraceRun,
        TraceSettings,
    )
    from espalier.nets.lstm import (
        LanguageModel,
        Vocabulary,
        english_model,
        language_model,
        load_language_model,
        save_language_model,
    )
    from espalier.nets.transformer import (
        TransformerShape,
    )
    from espalier.programs import (
        Disagreement,
        Evaluation,
        Verification,
        evaluate,
        generate,
        generate_many,
        verify,
    )
    from espalier.runs import list_runs
    from espalier.syntax import (
        attachment,
        effect_of_syntax,
        pair_scores,
        pairs_of,
        write_pairs,
    )
    from espalier.training import (
        Network,
        ParityRun,
        Recipe,
        ScaffoldRun,
        ScanRun,
        StepRecipe,
        TextRun,
        TrainedRun,
        read_sweep,
        run_sweep,
        scaffold_gradients,
        train,
    )

# Where each public name lives. They are imported when first used, so that a program can be
# written and interpreted without waiting for torch.
_HOMES = {
    "AsPrinted": "espalier.decomposition",
    "CompileError": "espalier.errors",
    "CompiledModel": "espalier.compiler",
    "ConfigError": "espalier.errors",
    "DataError": "espalier.errors",
    "Dependence": "espalier.decomposition",
    "Disagreement": "espalier.programs",
    "EspalierError": "espalier.errors",
    "Evaluation": "espalier.programs",
    "FileError": "espalier.errors",
    "Generalised": "espalier.decomposition",
    "Generation": "espalier.language",
    "InputHessian": "espalier.decomposition",
    "LanguageModel": "espalier.nets.lstm",
    "LocalOptimum": "espalier.learnability",
    "MinimalProgram": "espalier.learnability",
    "ModelError": "espalier.errors",
    "Murdoch": "espalier.decomposition",
    "Network": "espalier.training",
    "Occlusion": "espalier.decomposition",
    "PairBlock": "espalier.decomposition",
    "PairMatrix": "espalier.decomposition",
    "Pairs": "espalier.decomposition",
    "Papers": "espalier.decomposition",
    "ParityConfig": "espalier.data",
    "ParityRun": "espalier.training",
    "ParitySet": "espalier.data",
    "ParitySplit": "espalier.data",
    "Parts": "espalier.decomposition",
    "Program": "espalier.language",
    "ProgramError": "espalier.errors",
    "ReadableRun": "espalier.learnability.supervision",
    "ReadableSettings": "espalier.learnability.supervision",
    "Recipe": "espalier.training",
    "Reproduction": "espalier.experiments",
    "Run": "espalier.language",
    "Runs": "espalier.language",
    "ScaffoldConfig": "espalier.data",
    "ScaffoldCorpus": "espalier.data",
    "ScaffoldRun": "espalier.training",
    "ScanRun": "espalier.training",
    "ScanSplit": "espalier.data",
    "ShapleyInteraction": "espalier.decomposition",
    "RunCache": "espalier.experiments",
    "StepRecipe": "espalier.training",
    "TextCorpus": "espalier.data",
    "TextRun": "espalier.training",
    "Trace": "espalier.interpreter",
    "TraceRun": "espalier.learnability.supervision",
    "TraceSettings": "espalier.learnability.supervision",
    "Traces": "espalier.learnability",
    "TrainedRun": "espalier.training",
    "TransformerShape": "espalier.nets.transformer",
    "Treebank": "espalier.data",
    "UndefinedError": "espalier.errors",
    "Verification": "espalier.programs",
    "Vocabulary": "espalier.nets.lstm",
    "attachment": "espalier.syntax",
    "compile_program": "espalier.compiler",
    "count_scaffolds": "espalier.data",
    "decompose": "espalier.decomposition",
    "decompose_many": "espalier.decomposition",
    "effect_of_syntax": "espalier.syntax",
    "english_model": "espalier.nets.lstm",
    "evaluate": "espalier.programs",
    "generate": "espalier.programs",
    "generate_many": "espalier.programs",
    "interaction_baseline": "espalier.decomposition",
    "interdependence": "espalier.decomposition",
    "interdependence_corpus": "espalier.decomposition",
    "interpret": "espalier.interpreter",
    "interpret_many": "espalier.interpreter",
    "language_model": "espalier.nets.lstm",
    "list_runs": "espalier.runs",
    "load_compiled": "espalier.compiler",
    "load_language_model": "espalier.nets.lstm",
    "local_optimum": "espalier.learnability",
    "minimal": "espalier.learnability",
    "pair_scores": "espalier.syntax",
    "pairs_of": "espalier.syntax",
    "parity_set": "espalier.data",
    "parity_split": "espalier.data",
    "program_spec": "espalier.language",
    "read_sweep": "espalier.training",
    "read_traces": "espalier.learnability",
    "record_traces": "espalier.learnability",
    "reproduce": "espalier.experiments",
    "rule_frequency_grid": "espalier.data",
    "run_sweep": "espalier.training",
    "save_language_model": "espalier.nets.lstm",
    "scaffold_corpus": "espalier.data",
    "scaffold_gradients": "espalier.training",
    "scan_split": "espalier.data",
    "text_corpus": "espalier.data",
    "train": "espalier.training",
    "treebank": "espalier.data",
    "verify": "espalier.programs",
    "write_pairs": "espalier.syntax",
}
_ROOMS = ("experiments", "language", "rasp", "show", "zoo")

__all__ = [
    "AsPrinted",
    "CompileError",
    "CompiledModel",
    "ConfigError",
    "DataError",
    "Dependence",
    "Disagreement",
    "EspalierError",
    "Evaluation",
    "FileError",
    "Generalised",
    "Generation",
    "InputHessian",
    "LanguageModel",
    "LocalOptimum",
    "MinimalProgram",
    "ModelError",
    "Murdoch",
    "Network",
    "Occlusion",
    "PairBlock",
    "PairMatrix",
    "Pairs",
    "Papers",
    "ParityConfig",
    "ParityRun",
    "ParitySet",
    "ParitySplit",
    "Parts",
    "Program",
    "ProgramError",
    "ReadableRun",
    "ReadableSettings",
    "Recipe",
    "Reproduction",
    "Run",
    "RunCache",
    "Runs",
    "ScaffoldConfig",
    "ScaffoldCorpus",
    "ScaffoldRun",
    "ScanRun",
    "ScanSplit",
    "ShapleyInteraction",
    "StepRecipe",
    "TextCorpus",
    "TextRun",
    "Trace",
    "TraceRun",
    "TraceSettings",
    "Traces",
    "TrainedRun",
    "TransformerShape",
    "Treebank",
    "UndefinedError",
    "Verification",
    "Vocabulary",
    "__version__",
    "attachment",
    "compile_program",
    "count_scaffolds",
    "decompose",
    "decompose_many",
    "effect_of_syntax",
    "english_model",
    "evaluate",
    "experiments",
    "generate",
    "generate_many",
    "interaction_baseline",
    "interdependence",
    "interdependence_corpus",
    "interpret",
    "interpret_many",
    "language",
    "language_model",
    "list_runs",
    "load_compiled",
    "load_language_model",
    "local_optimum",
    "minimal",
    "pair_scores",
    "pairs_of",
    "parity_set",
    "parity_split",
    "program_spec",
    "rasp",
    "read_sweep",
    "read_traces",
    "record_traces",
    "reproduce",
    "rule_frequency_grid",
    "run_sweep",
    "save_language_model",
    "scaffold_corpus",
    "scaffold_gradients",
    "scan_split",
    "show",
    "text_corpus",
    "train",
    "treebank",
    "verify",
    "write_pairs",
    "zoo",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _ROOMS:
        value = import_module(f"espalier.{name}")
    else:
        raise AttributeError(f"module 'espalier' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def _load_views(module: str) -> None:
    """Let `show`, which is above every result, say how the results of a module look."""
    from espalier.show import load_views

    load_views(module)


load_views_with(_load_views)
