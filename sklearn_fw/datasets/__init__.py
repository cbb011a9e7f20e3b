"""Structured data sets: generators, and loaders of files that the user owns.

Nothing here downloads.  A loader looks into the folder ``data_home``, or into the one
named by the environment variable ``SKLEARN_FW_DATA``.
"""

from ._conll import load_conll, load_conll2000
from ._digit_words import make_digit_words
from ._ocr_letters import load_ocr_letters

__all__ = ["load_conll", "load_conll2000", "load_ocr_letters", "make_digit_words"]
