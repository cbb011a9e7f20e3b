"""Sentences in two languages whose words were aligned by hand."""

import json

from sklearn.utils import Bunch

from .._core import check
from .._core.files import damage, read_text
from ._files import Origin, find_file

DESCR = """\
Word alignments: English and French sentences
---------------------------------------------

Pairs of sentences that are translations of each other, with links between words that
translate each other, made by hand.  These files hold sure links only, so the possible ones
are the same.  Some words have several links: 115 of the 484 pairs of Hansards are not
matchings.

:Hansards: 436 training and 48 test pairs of up to 30 words, proceedings of the Canadian
           parliament; 3 test pairs such as "hear , hear !" are training pairs, too
:Europarl: 90 training and 10 test pairs of up to 21 words, proceedings of the European
           parliament

"""
ORIGIN = Origin(
    source="""F. J. Och and H. Ney, "A systematic comparison of various statistical alignment
models", Computational Linguistics 29, 2003 (Hansards).  J. Graca, J. P. Pardal, L. Coheur
and D. Caseiro, "Building a golden collection of parallel multi-language word alignment",
LREC 2008 (Europarl).  The files are their sure links as JSON lines.""",
    terms="""published for research; the sets stay under the terms of their publishers and are not
part of this package.""",
    checksums={f"en-fr_{name}.jsonl": digest for name, digest in (
        ("hansards_train", "95c761b25ddb473ec0b1b77e1b4137025f56eb19e4f33c535653b1ec1b611243"),
        ("hansards_valid", "2c84850ea85d1fe56ae29ae5566768683ed7e4ed96111f4e6822dc2638b8d426"),
        ("fr_golden_train", "46e9ba730b933fe4c9345a21f7777eee72413091f5dccd9724e71d3e75a511d4"),
        ("fr_golden_valid", "7a1d817307bf0234cdd549a998d0b1d44ec12be15af7774881f8ec8ced815090"),
    )},
)  # fmt: skip

_NAMES = {"hansards": "en-fr_hansards", "europarl": "en-fr_fr_golden"}
_FIELDS = {"src_words", "tgt_words", "alignment"}


def load_word_alignment(data_home=None, *, corpus="hansards"):
    """Load English and French sentences with manual word alignments from your files.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with ``en-fr_hansards_train.jsonl`` and ``en-fr_hansards_valid.jsonl`` (or
        ``en-fr_fr_golden_...`` for Europarl), there or in its sub-folder ``word_alignment``. None
        means the folder named by the environment variable ``SKLEARN_FW_DATA``.
    corpus : {"hansards", "europarl"}, default="hansards"
        Which of the two sets.

    Returns
    -------
    Bunch
        ``source_train``, ``target_train``: lists of n_pairs lists of str, the words of the English
        and the French sentences. ``sure_train``, ``possible_train``: lists of n_pairs lists of
        pairs (j, k), which link English word j with French word k, counted from 0; possible links
        contain the sure ones. ``source_test``, ``target_test``, ``sure_test``, ``possible_test``:
        the same of the test pairs. ``filenames``: list of str. ``DESCR``: str with sources and
        terms of use.

    See Also
    --------
    sklearn_fw.structured.MatchingModel : Learns such links, at most one for each word.
    sklearn_fw.metrics.alignment_error_rate : The usual measure.

    Notes
    -----
    A line of a file is a JSON object with ``src_words``, ``tgt_words``, ``alignment`` (the
    sure links) and maybe ``possible`` (further links).

    References
    ----------
    .. [1] Och and Ney, A systematic comparison of various statistical alignment models,
       Computational Linguistics 29, 2003.
    .. [2] Graca, Pardal, Coheur and Caseiro, Building a golden collection of parallel
       multi-language word alignment, LREC 2008.

    Examples
    --------
    >>> from sklearn_fw.datasets import load_word_alignment
    >>> pairs = load_word_alignment("~/data")  # doctest: +SKIP
    >>> pairs.source_train[5], pairs.target_train[5]  # doctest: +SKIP
    (['hear', ',', 'hear', '!'], ['bravo', '!'])
    >>> pairs.sure_train[5]  # doctest: +SKIP
    [(3, 1)]
    """
    check.choice(corpus, "corpus", _NAMES)
    bunch = Bunch(filenames=[], DESCR=f"{DESCR}{ORIGIN}")
    for part, suffix in (("train", "train"), ("test", "valid")):
        name = f"{_NAMES[corpus]}_{suffix}.jsonl"
        names = [f"word_alignment/{name}", name]
        what = f"word alignments ({corpus}, {part} pairs)"
        path = find_file(data_home, names, what=what, origin=ORIGIN)
        bunch.filenames.append(str(path))
        with ORIGIN.explains():
            columns = zip(*_read(path))
        for field, column in zip(("source", "target", "sure", "possible"), columns):
            bunch[f"{field}_{part}"] = list(column)
    return bunch


def _read(path):
    """Source words, target words, sure and possible links of every line."""
    pairs = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):  # no JSON, too many digits, too deep
            record = None
        if not isinstance(record, dict) or not record.keys() >= _FIELDS:
            raise damage(path, f"is not JSON with {', '.join(sorted(_FIELDS))}", line=number)
        source, target = record["src_words"], record["tgt_words"]
        for words in (source, target):
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                raise damage(path, "has words that are not a list of text", line=number)
        sure = _links(record["alignment"], source, target, number, path)
        possible = _links(record.get("possible", []), source, target, number, path)
        pairs.append((source, target, sure, sorted({*sure, *possible})))
    if not pairs:
        raise damage(path, "the file is empty")
    return pairs


def _links(links, source, target, number, path):
    if not isinstance(links, list) or not all(
        isinstance(link, list) and list(map(type, link)) == [int, int] for link in links
    ):
        raise damage(path, "has links that are not pairs of whole numbers", line=number)
    links = sorted({(j, k) for j, k in links})
    outside = [(j, k) for j, k in links if not (0 <= j < len(source) and 0 <= k < len(target))]
    if outside:
        reason = f"links the words {outside[0]!r:.60}, but there are {len(source)} and "
        raise damage(path, f"{reason}{len(target)} words, counted from 0", line=number)
    return links
