"""Structured data sets: generators, and loaders of files that the user owns.

A loader looks into the folder ``data_home``, or into the one named by the environment
variable ``SKLEARN_FW_DATA``, and does not download; `load_conll2000` can with ``download=True``.
"""

from ._conll import load_conll, load_conll2000
from ._digits import make_digit_inpainting, make_digit_words
from ._grids import make_label_grids, make_snakes
from ._knowledge_bases import make_kb_pair
from ._latent_models import make_topic_corpus, make_two_views
from ._narrated import make_ordered_videos, make_scripts, make_state_action_clips
from ._ocr_letters import load_ocr_letters
from ._random_fields import load_mrf_instances, make_ising
from ._stick_figures import make_stick_figures
from ._word_alignment import load_word_alignment

__all__ = [
    "load_conll",
    "load_conll2000",
    "load_mrf_instances",
    "load_ocr_letters",
    "load_word_alignment",
    "make_digit_inpainting",
    "make_digit_words",
    "make_ising",
    "make_kb_pair",
    "make_label_grids",
    "make_ordered_videos",
    "make_scripts",
    "make_snakes",
    "make_state_action_clips",
    "make_stick_figures",
    "make_topic_corpus",
    "make_two_views",
]
