"""How the site is made: `make docs`."""

import logging
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

# Cells of tutorials run `lingape`, that of the environment which builds the site.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else kernels of tutorials warn
logging.getLogger("traitlets").setLevel(logging.WARNING)  # no line for each tutorial

from jupyter_client.manager import KernelManager  # noqa: E402

import lingape  # noqa: E402

KernelManager.transport_encryption.default_value = "required"  # else kernels warn that it is not

project = "lingape"
author = "The lingape developers"
copyright = f"2026, {author}"
version = release = lingape.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinxcontrib.katex",
    "cli_reference",
    "finishing",
    "http_reference",
    "licences",
    "name_reference",
    "paper_claims",
]
exclude_patterns = ["_build", "_static"]
nitpicky = False  # NumPy's types have no address without a network

# Pages, and notebooks as text: formulas between dollars, links to headings as on GitHub.
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 4
myst_substitutions = {"version": version}
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
copybutton_exclude = ".linenos, .gp, .go"  # prompts, and what commands print

smartquotes = False  # "each" is to be copied

# Names: docstrings are plain, and `x` in them is code.
default_role = "code"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"lingape {version}"
html_favicon = "../src/lingape/live/dashboard/icon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "_ext" / "search.js")  # Sphinx opens it from where it runs
html_baseurl = "https://lingape.github.io/lingape/"
html_show_sphinx = False
html_theme_options = {
    "source_repository": "https://github.com/lingape/lingape/",
    "source_branch": "main",
    "source_directory": "docs/",
}
# Formulas are set in the browser by files of the site's own, so that it needs no network.
katex_css_path = "katex/katex.min.css"
katex_options = '{throwOnError: false, errorColor: "#cc0000", macros: {}}'
