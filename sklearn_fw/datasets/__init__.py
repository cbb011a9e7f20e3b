"""Structured data sets: generators, loaders of files that the user owns, and one that downloads.

A loader looks into the folder ``data_home``, or into the one named by the environment
variable ``SKLEARN_FW_DATA``, and never downloads; `fetch_conll2000` does, when it is called.
"""

from ._conll import fetch_conll2000, load_conll, load_conll2000
from ._digit_words import make_digit_words
from ._knowledge_bases import make_kb_pair
from ._label_grids import make_label_grids
from ._latent_models import make_topic_corpus, make_two_views
from ._markov_random_fields import (
    make_digit_inpainting,
    make_ising_clique,
    make_ising_grid,
    make_ising_rbm,
)
from ._mrf_instances import load_mrf_instances
from ._narrated import make_ordered_videos, make_scripts, make_state_action_clips
from ._ocr_letters import load_ocr_letters
from ._snakes import make_snakes, snake_graphs
from ._stick_figures import make_stick_figures
from ._word_alignment import load_word_alignment

__all__ = [
    "fetch_conll2000",
    "load_conll",
    "load_conll2000",
    "load_mrf_instances",
    "load_ocr_letters",
    "load_word_alignment",
    "make_digit_inpainting",
    "make_digit_words",
    "make_ising_clique",
    "make_ising_grid",
    "make_ising_rbm",
    "make_kb_pair",
    "make_label_grids",
    "make_ordered_videos",
    "make_scripts",
    "make_snakes",
    "make_state_action_clips",
    "make_stick_figures",
    "make_topic_corpus",
    "make_two_views",
    "snake_graphs",
]
