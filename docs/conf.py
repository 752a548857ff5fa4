"""Settings of the documentation site; ``make docs`` builds it without a network."""

import sys
from datetime import date
from pathlib import Path

import firstlight

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Firstlight"
author = "The Firstlight authors"
copyright = f"{date.today().year}, {author}"
version = release = firstlight.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "sentences",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

default_role = "py:obj"
myst_enable_extensions = ["amsmath", "attrs_block", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 80
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 60,
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "Firstlight"
html_logo = "_static/mark.svg"
html_favicon = "_static/mark.svg"
html_static_path = ["_static"]
html_css_files = ["firstlight.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Firstlight"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
# Pages that are alone in their part of the site have nothing to list at the left.
html_sidebars = {page: [] for page in ("index", "getting_started", "checking", "contributing", "changelog")}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    """Leave out what scikit-learn adds to every estimator."""
    app.connect(
        "autodoc-skip-member",
        lambda app, what, name, thing, skip, options: (
            skip or str(getattr(thing, "__module__", "")).startswith("sklearn.")
        ),
    )
