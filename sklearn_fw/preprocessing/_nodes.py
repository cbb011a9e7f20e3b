"""One transformer for the nodes of all samples."""

from contextlib import contextmanager
from dataclasses import KW_ONLY
from itertools import chain
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import TransformerMixin, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.estimator import Estimator
from .._core.packed import Packed, slices_of, starts_of

# Metadata with one value per sample; each node gets the value of its sample.
_PER_SAMPLE = ("sample_weight", "groups")


def _inner_has(name):
    return available_if(lambda self: hasattr(getattr(self, "transformer_", self.transformer), name))


class NodeTransformer(TransformerMixin, Estimator, auto_wrap_output_keys=None):
    """Apply a scikit-learn transformer to the stacked nodes of all samples.

    Choose it to scale, hash, select or embed the letters of words, the tokens of sentences or the
    edges of graphs. The result has the ragged shape of the input.

    Parameters
    ----------
    transformer : transformer
        Any scikit-learn transformer, cloned in ``fit``; its parameters are reached as
        ``transformer__name``.
    part : int, default=0
        Which entry of a tuple sample to transform, for example 1 for the edge features
        of ``(node_features, edge_features)``; the other entries are passed on.  Not
        used for samples that are not tuples.

    Attributes
    ----------
    transformer_ : transformer
        The fitted clone.
    n_features_in_ : int
        Number of features of a node, where the fitted transformer has it.
    feature_names_in_ : ndarray of str
        Names of these features, where the fitted transformer has them.

    Notes
    -----
    A ``tuple`` is a sample of several parts, of which ``part`` holds the nodes; anything else holds
    the nodes itself. Nodes are rows of an array, of CSR or of a data frame, or elements of a list,
    which may be tuples; a sentence must not be a tuple. Lists are joined, and the transformer
    determines the type of elements: ``DictVectorizer`` takes dicts, ``StandardScaler`` lists of
    numbers, ``FeatureHasher(input_type="string")`` iterables of strings.

    The transformer gets ``y`` if it has one entry per node in every sample. ``sample_weight`` and
    ``groups`` have one value per sample, repeated for its nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_fw.preprocessing import NodeTransformer
    >>> words = [np.array([[0.0], [4.0]]), np.array([[2.0]])]
    >>> NodeTransformer(StandardScaler(with_std=False)).fit_transform(words)[0]
    array([[-2.],
           [ 2.]])
    """

    transformer: object
    _: KW_ONLY
    part: int = 0

    def fit(self, X, y=None, **params):
        """Fit the transformer on all nodes.

        Parameters
        ----------
        X, y : list, object array or Packed of n_samples samples, and of targets or None
            See the notes of the class.
        **params : dict
            Metadata for ``transformer.fit``, routed when metadata routing is enabled.
        """
        self._fit("fit", X, y, params)
        return self

    def _fit(self, method, X, y, params):
        """The nodes, and what the fitted transformer returned."""
        if not hasattr(self.transformer, "fit") or isinstance(self.transformer, type):
            raise TypeError(
                f"transformer must be an object of scikit-learn, got {self.transformer!r:.60}"
            )
        transformer, nodes = clone(self.transformer), _Nodes(X, self.part)
        method = method if hasattr(transformer, method) else "fit"
        params = self._node_params(method, params, nodes)
        with _named(transformer), _target_for(y, nodes) as target:
            out = getattr(transformer, method)(nodes.stacked, target, **params)
        self.transformer_ = transformer
        return nodes, out

    def fit_transform(self, X, y=None, **params):
        """Fit the transformer on all nodes and transform them, in one pass.

        Parameters
        ----------
        X, y : list, object array or Packed of n_samples samples, and of targets or None
            See the notes of the class.
        **params : dict
            Metadata for ``transformer.fit_transform``, or for ``transformer.fit`` where
            that is the only one.

        Returns
        -------
        object array of shape (n_samples,) or Packed
            As in :meth:`transform`.
        """
        nodes, out = self._fit("fit_transform", X, y, params)
        if hasattr(self.transformer_, "fit_transform"):
            return nodes.split(out, self.transformer_)
        return self._split(nodes, "transform")

    def transform(self, X):
        """Transform all nodes.

        Parameters
        ----------
        X : list, object array or Packed of n_samples samples
            See the notes for what a sample may be.

        Returns
        -------
        object array of shape (n_samples,) or Packed
            A ``Packed`` when ``X`` is one, unless ``set_output`` selects data frames;
            else one array, CSR, or data frame per sample, put back into its tuple where
            the sample is one.  Dense blocks view one buffer.
        """
        check_is_fitted(self)
        return self._split(_Nodes(X, self.part), "transform")

    def _split(self, nodes, method):
        with _named(self.transformer_):
            table = getattr(self.transformer_, method)(nodes.stacked)
        return nodes.split(table, self.transformer_)

    @_inner_has("inverse_transform")
    def inverse_transform(self, X):
        """Undo :meth:`transform`, where the transformer can.

        Parameters
        ----------
        X : list, object array or Packed of n_samples transformed samples
            As returned by :meth:`transform`.
        """
        check_is_fitted(self)
        return self._split(_Nodes(X, self.part), "inverse_transform")

    @_inner_has("get_feature_names_out")
    def get_feature_names_out(self, input_features=None):
        """Names of the features that the transformer makes.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Handed to the transformer.
        """
        check_is_fitted(self)
        if input_features is not None:
            names = check.items(input_features, "input_features", "names")
            input_features = np.array(names, dtype=object)
        return self.transformer_.get_feature_names_out(input_features)

    def set_output(self, *, transform=None):
        """Choose the container of each transformed sample.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            Handed to the transformer; ``None`` changes nothing.
        """
        for transformer in (self.transformer, getattr(self, "transformer_", None)):
            if hasattr(transformer, "set_output"):
                transformer.set_output(transform=transform)
        return self

    @property
    def n_features_in_(self):
        check_is_fitted(self)
        return self.transformer_.n_features_in_

    @property
    def feature_names_in_(self):
        check_is_fitted(self)
        return self.transformer_.feature_names_in_

    def get_metadata_routing(self):
        """Describe where metadata goes: to the transformer."""
        callee = "fit_transform" if hasattr(self.transformer, "fit_transform") else "fit"
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="fit_transform", callee=callee)
        return MetadataRouter(owner=self).add(transformer=self.transformer, method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.transformer)
        tags.input_tags = inner.input_tags
        tags.input_tags.two_d_array = False
        tags.target_tags.required = inner.target_tags.required
        return tags

    def _node_params(self, method, params, nodes):
        if get_config()["enable_metadata_routing"]:
            params = dict(process_routing(self, method, **params)["transformer"][method])
        for name in _PER_SAMPLE:
            if params.get(name) is not None:
                weighs = name == "sample_weight"
                values = check.array(params[name], name) if weighs else np.asarray(params[name])
                if values.shape != nodes.lengths.shape:
                    raise ValueError(
                        f"{name} must have one value for each of the {len(nodes.lengths)} "
                        f"samples, got shape {values.shape}"
                    )
                if weighs:
                    check.sample_weight(values, len(values))
                params = {**params, name: np.repeat(values, nodes.lengths)}
        return params


@contextmanager
def _named(transformer):
    """Errors with the name of the transformer; those of other kinds become a TypeError."""
    try:
        yield
    except (ValueError, TypeError) as error:
        error.add_note(f"NodeTransformer handed the nodes of X to {type(transformer).__name__}")
        raise
    except (AttributeError, ArithmeticError, LookupError) as error:
        raise TypeError(
            f"{type(transformer).__name__} cannot take the nodes of X: {error}"
        ) from error


@contextmanager
def _target_for(y, nodes):
    """Give one label per node, or None; explain that None when the transformer complains."""
    # Targets may be graphs, tuples, anything: only arrays and lists can be joined.
    targets = [] if y is None else check.items(y, "y", "targets, one for each sample")
    joinable = all(isinstance(t, list) or (isinstance(t, np.ndarray) and t.ndim) for t in targets)
    aligned = joinable and np.array_equal([len(t) for t in targets], nodes.lengths)
    try:
        yield np.concatenate([np.asarray(t) for t in targets]) if aligned else None
    except (TypeError, ValueError) as error:
        if y is not None and not aligned:
            error.add_note(
                "NodeTransformer did not hand y on, because y has not one label for each node of "
                "each sample"
            )
        raise


class _Nodes:
    """The nodes of all samples stacked, and the way back to the samples."""

    def __init__(self, X, part):
        self.packed, self.part, self.tuples = isinstance(X, Packed), part, None
        if self.packed:
            compact = X.compact()
            self.stacked, self.offsets = compact.values, compact.offsets
        else:
            samples = check.items(X, "X", "samples")
            self.tuples = samples if samples and isinstance(samples[0], tuple) else None
            blocks = [_part(x, part, self.tuples is not None, i) for i, x in enumerate(samples)]
            self.stacked, lengths = _stack(blocks)
            self.offsets = starts_of(lengths)
        self.lengths = np.diff(self.offsets)
        if self.offsets[-1] == 0:
            raise ValueError(f"X holds {len(self.lengths)} samples and no node: give a row")

    def split(self, table, transformer):
        """Cut the rows of a transformed table at the bounds of the samples."""
        table = table.tocsr() if sp.issparse(table) else table
        n_rows = table.shape[0] if hasattr(table, "shape") else len(table)
        if n_rows != self.offsets[-1]:
            raise ValueError(
                f"{type(transformer).__name__} turned {self.offsets[-1]} nodes into {n_rows} "
                "rows: NodeTransformer needs a transformer that keeps every row"
            )
        if self.packed and (isinstance(table, np.ndarray) or sp.issparse(table)):
            return Packed(table, self.offsets)
        # Filled one by one: numpy would turn blocks of equal shape into one 3-D array.
        out = np.empty(len(self.lengths), dtype=object)
        for i, rows in enumerate(slices_of(self.lengths)):
            block = _safe_indexing(table, rows)
            if hasattr(block, "reset_index") and not hasattr(self.stacked, "iloc"):
                block = block.reset_index(drop=True)  # rows of a new frame start at 0
            out[i] = block if self.tuples is None else _replace(self.tuples[i], self.part, block)
        return out


def _part(x, part, as_tuple, i):
    if isinstance(x, tuple) != as_tuple:
        kinds = ("a tuple", "not a tuple") if as_tuple else ("not a tuple", "a tuple")
        raise ValueError(
            f"sample 0 is {kinds[0]} but sample {i} is {kinds[1]}: a tuple is read as the parts "
            "of a sample, so write either all samples or none as tuples"
        )
    if not as_tuple:
        return x
    if not isinstance(part, Integral) or isinstance(part, bool):
        raise TypeError(f"part must be an integer, the place in the tuples of X, got {part!r:.60}")
    if not -len(x) <= part < len(x):
        raise ValueError(f"part={part} but sample {i} is a tuple of {len(x)} parts")
    return x[part]


def _replace(x, part, block):
    parts = list(x)
    parts[part] = block
    # Named tuples keep their type; their constructor takes one argument per part.
    return x._make(parts) if hasattr(x, "_make") else tuple(parts)


def _stack(blocks):
    """All rows in one table of the blocks' own kind, and the number of rows of each."""
    if not blocks:
        raise ValueError("X holds no sample")
    kinds = [_kind(block, i) for i, block in enumerate(blocks)]
    for i, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise ValueError(
                f"X: nodes of sample {i} are a {kind}, those of sample 0 a {kinds[0]}: use one kind"
            )
    if kinds[0] == "list":
        return list(chain.from_iterable(blocks)), [len(b) for b in blocks]
    if kinds[0] == "data frame":
        return _stack_frames(blocks), [len(b) for b in blocks]
    try:
        packed = Packed.from_list(blocks)
    except ValueError as error:
        raise ValueError(f"X cannot be stacked: {error}") from None
    return packed.values, packed.lengths


def _kind(block, i):
    if sp.issparse(block):
        return "sparse matrix"
    if hasattr(block, "columns") and hasattr(block, "iloc"):
        return "data frame"
    if isinstance(block, np.ndarray) and block.ndim:
        return "numpy array"
    if isinstance(block, list):
        return "list"
    raise TypeError(
        f"the nodes of sample {i} are a {type(block).__name__}: use an array, a CSR matrix, a "
        "data frame or a list with one element per node in X"
    )


def _stack_frames(blocks):
    from pandas import concat

    for i, block in enumerate(blocks):
        # concat would fill columns that a frame does not have with missing values.
        if list(block.columns) != list(blocks[0].columns):
            raise ValueError(
                f"the data frame of sample {i} has columns {list(block.columns)}, that of sample "
                f"0 {list(blocks[0].columns)}: use the same columns in the same order"
            )
    # Empty frames have guessed types, which would change those of the others.
    return concat([b for b in blocks if len(b)] or blocks[:1])
