"""The site: `make docs`."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from docs import notebooks, site_building
from espalier import __version__

project = "espalier"
author = copyright = "The espalier authors"
release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_design"]
html_theme = "furo"
html_title = "espalier"
html_static_path = ["_static"]
html_css_files = ["espalier.css"]
html_math_renderer = "mathml"  # no script from elsewhere: pages need no network to be read
exclude_patterns = ["_build"]
suppress_warnings = ["ref.python"]  # a short name in a signature may be two rooms'
myst_enable_extensions = ["amsmath", "attrs_block", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp, .go"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
nb_execution_mode = "auto"
nb_execution_in_temp = True
nb_execution_raise_on_error = True  # a tutorial that no longer works stops the build
nb_execution_timeout = 600
nb_merge_streams = True
# Cells call `espalier` as a reader would, also where its environment is not activated.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
add_module_names = False
toc_object_entries = False


def setup(app):
    """Write the reference, read docstrings as Markdown, set maths as MathML, link pictures."""
    app.connect("builder-inited", lambda _: site_building.write_reference(Path(app.srcdir)))
    app.connect("source-read", notebooks.read_source)
    app.connect("autodoc-process-docstring", site_building.read_markdown)
    app.connect("html-page-context", site_building.link_pictures)
    app.add_html_math_renderer("mathml", site_building.INLINE, site_building.DISPLAY)
