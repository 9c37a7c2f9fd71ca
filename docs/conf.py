"""The site: `make docs`."""

from espalier import __version__

project = "espalier"
author = "The espalier authors"
release = __version__
extensions = ["myst_nb"]
html_theme = "furo"
html_title = "espalier"
nb_execution_mode = "off"
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
