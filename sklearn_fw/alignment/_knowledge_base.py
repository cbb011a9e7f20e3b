"""Entities with relations, properties and labels, in integer codes."""

import gzip
import math
import re
from array import array
from collections.abc import Hashable, Mapping
from itertools import count

import numpy as np

from .._core import check
from .._core.files import check_path, damage

LABELS = ("label", "preflabel", "name", "title")
LINE = re.compile(
    r'\s*(<[^<>"\s]*>|_:\S+)\s+<([^<>"\s]*)>\s+'
    r'(<[^<>"\s]*>|_:[^\s.]+|"(?:[^"\\]|\\.)*"(?:\^\^<[^<>\s]*>|@[\w-]+)?)\s*\.\s*(?:#.*)?$'
)
# All of them are escapes of Python, too.
ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[tbnrf\"'\\])")


class KnowledgeBase:
    """Knowledge base: entities with relations, properties and labels.

    Inverse relations need not be given; duplicates count once and relations of an entity with
    itself are dropped.

    Parameters
    ----------
    relations : iterable of (entity, relation, entity), default=()
        Facts that link two entities.
    properties : iterable of (entity, property, value), default=()
        Facts with a value: text, number or date. None, NaN and empty text are left out.
    labels : dict of entity to str, str or None, default=None
        Label of each entity, or the property that holds it. None takes, for each entity, its
        first value of a property called label, prefLabel, name or title (in any case, after the
        last # or /); an entity without one gets all its values that hold letters as its label.
    entities : iterable of entities, default=()
        Further entities, of which nothing may be known. Each name is there once.

    Attributes
    ----------
    entities : list
        Names, in the order in which they were first met.
    relation_names, property_names : list
        Names of relations and of properties.
    relations : ndarray of shape (n_relations, 3)
        Numbers of entity, relation and entity of each fact.
    properties : ndarray of shape (n_properties, 2)
        Numbers of entity and property of each fact with a value.
    values : list of str
        The value of each of them.
    labels : list of str
        Label of each entity, "" where there is none.

    Examples
    --------
    >>> from sklearn_fw.alignment import KnowledgeBase
    >>> kb = KnowledgeBase([("m1", "actor", "p1")], [("m1", "year", 1999)], {"p1": "Ann Lee"})
    >>> kb.entities, kb.labels
    (['m1', 'p1'], ['', 'Ann Lee'])
    """

    def __init__(self, relations=(), properties=(), labels=None, entities=()):
        codes = {}
        for t, entity in enumerate(_iterable(entities, "entities")):
            if _checked(entity, "entities", t) in codes:
                raise ValueError(f"entities[{t}]={entity!r} is there twice: name each once")
            codes[entity] = len(codes)
        self.relations, self.relation_names = _coded_relations(relations, codes)
        self.properties, self.property_names, self.values = _coded_values(properties, codes)
        if isinstance(labels, Mapping):
            for entity, label in labels.items():
                _checked(entity, "labels: the entity")
                if not isinstance(label, str):
                    raise ValueError(f"labels[{entity!r}] must be text, got {label!r:.60}")
                codes.setdefault(entity, len(codes))
        self.entities = list(codes)
        self._codes = codes
        self.labels = self._find_labels(labels)

    def __len__(self):
        return len(self.entities)

    def __repr__(self):
        sizes = f"{len(self.relations)} relations, {len(self.values)} values"
        return f"KnowledgeBase({len(self)} entities, {sizes})"

    def _find_labels(self, labels):
        if isinstance(labels, Mapping):
            return [labels.get(entity, "") for entity in self.entities]
        if labels is not None and labels not in self.property_names:
            names = self.property_names[:8]
            raise ValueError(
                f"labels must be a dict, None or a property such as {names}, got {labels!r:.60}"
            )
        wanted = LABELS if labels is None else (labels,)
        names = self.property_names
        names = [local_name(p).lower() for p in names] if labels is None else names
        named = [wanted.index(name) if name in wanted else 9 for name in names]
        best, found = [9] * len(self), [""] * len(self)
        for (entity, code), value in zip(self.properties.tolist(), self.values, strict=True):
            if named[code] < best[entity]:
                best[entity], found[entity] = named[code], value
        if labels is None:
            for (entity, _), value in zip(self.properties.tolist(), self.values, strict=True):
                if best[entity] == 9 and re.search(r"[^\W\d_]", value):
                    found[entity] = f"{found[entity]} {value}".strip()
        return found

    def merge(self, other):
        """Return a knowledge base with the facts of both, merged by entity name.

        Parameters
        ----------
        other : KnowledgeBase
            More facts; its labels hold for entities that have none here.
        """
        relations, properties, labels = [], [], {}
        for kb in (self, check.instance(other, "other", KnowledgeBase)):
            names, links, kinds = kb.entities, kb.relation_names, kb.property_names
            relations += [(names[i], links[r], names[k]) for i, r, k in kb.relations.tolist()]
            rows = zip(kb.properties.tolist(), kb.values, strict=True)
            properties += [(names[i], kinds[p], value) for (i, p), value in rows]
            for entity, label in zip(names, kb.labels, strict=True):
                if label:
                    labels.setdefault(entity, label)
        entities = list(dict.fromkeys([*self.entities, *other.entities]))
        return KnowledgeBase(relations, properties, labels, entities)

    @classmethod
    def from_triples(cls, triples, labels=None):
        """Build from triples in which objects may be entities or values.

        Parameters
        ----------
        triples : iterable of (subject, predicate, object) or (subject, predicate, object, kind)
            ``kind`` is "U" where the object is an entity and "L" where it is a value; without it
            objects that are subjects elsewhere are entities. Types (predicates called type) are
            properties.
        labels : dict of entity to str, str or None, default=None
            As in the constructor.
        """
        triples = list(_iterable(triples, "triples"))
        for t, triple in enumerate(triples):
            if not _is_row(triple) or len(triple) not in (3, 4):
                raise ValueError(f"triples[{t}] must have 3 or 4 parts, got {triple!r:.80}")
            if len(triple) == 4 and triple[3] not in ("U", "L"):
                raise ValueError(f"triples[{t}]: the kind must be 'U' or 'L', got {triple[3]!r}")
            _checked(triple[0], "triples", t, ": the subject")
            _checked(triple[1], "triples", t, ": the predicate")
        subjects = {triple[0] for triple in triples}
        relations, properties = [], []
        for s, p, o, *kind in triples:
            is_type = local_name(p).lower() == "type"
            is_entity = kind[0] == "U" if kind else isinstance(o, Hashable) and o in subjects
            if is_entity and not is_type:
                relations.append((s, p, o))
            else:
                properties.append((s, p, local_name(o) if is_type else o))
        return cls(relations, properties, labels, list(dict.fromkeys(t[0] for t in triples)))

    @classmethod
    def from_frame(cls, frame, *, index=None, label=None, entity_columns=()):
        """Build from a table with one row per entity.

        Parameters
        ----------
        frame : DataFrame
            One row per entity, its properties in columns.
        index, label : str or None, default=None
            Column of the names of entities, or None for the index of the frame; and column of
            labels, or None as in the constructor.
        entity_columns : list of str, default=()
            Columns whose values name entities: they become relations.
        """
        if not hasattr(frame, "columns") or not hasattr(frame, "index"):
            raise TypeError(f"frame must be a DataFrame, got {type(frame).__name__}")
        columns = list(frame.columns)
        if len(set(columns)) < len(columns):
            raise ValueError(f"frame has a column twice: name each of {columns} once")
        entity_columns = list(_iterable(entity_columns, "entity_columns"))
        for what, name in [("index", index), *(("entity_columns", c) for c in entity_columns)]:
            if name is not None and name not in columns:
                raise ValueError(f"{what}={name!r:.60} is none of the columns {columns}")
        names = list(frame.index if index is None else frame[index])
        relations, properties = [], []
        for column in (c for c in columns if c != index):
            target = relations if column in entity_columns else properties
            target += [(e, str(column), v) for e, v in zip(names, frame[column], strict=True)
                       if not _is_missing(v)]  # fmt: skip
        return cls(relations, properties, label, names)

    @classmethod
    def from_networkx(
        cls, graph, *, relation_attr="relation", label_attr="label", property_attrs=None
    ):
        """Build from a networkx graph; the edges of undirected ones are facts both ways.

        Parameters
        ----------
        graph : networkx.Graph
            Of any kind; nodes are entities.
        relation_attr, label_attr : str, default="relation" and "label"
            Attribute of edges that names their relation, "edge" where it is missing, and attribute
            of nodes that holds their label.
        property_attrs : list of str or None, default=None
            Attributes of nodes that are properties; None takes all but the label.
        """
        if not hasattr(graph, "is_directed") or not hasattr(graph, "edges"):
            raise TypeError(f"graph must be a networkx graph, got {type(graph).__name__}")
        wanted = property_attrs
        wanted = None if wanted is None else set(_iterable(wanted, "property_attrs"))
        relations = [(u, d.get(relation_attr, "edge"), v) for u, v, d in graph.edges(data=True)]
        if not graph.is_directed():
            relations += [(v, r, u) for u, r, v in relations]
        nodes = list(graph.nodes(data=True))
        properties = [
            (node, a, value) for node, data in nodes for a, value in data.items()
            if a != label_attr and (wanted is None or a in wanted)
        ]  # fmt: skip
        labels = {node: data.get(label_attr) for node, data in nodes}
        labels = {node: str(label) for node, label in labels.items() if not _is_missing(label)}
        return cls(relations, properties, labels, list(graph.nodes))

    @classmethod
    def from_rdf_nt(cls, path, labels=None):
        """Read a file of N-Triples, plain or gzip, line by line.

        Parameters
        ----------
        path : str or Path
            The file; a name that ends with .gz is unpacked as it is read. URIs and blank nodes are
            entities, literals are values.
        labels : dict of entity to str, str or None, default=None
            As in the constructor.
        """
        return cls.from_triples(_read_triples(path), labels)


def local_name(name):
    return re.split(r"[#/]", name.rstrip("#/"))[-1] if isinstance(name, str) else str(name)


def _iterable(values, name):
    if isinstance(values, str | bytes | Mapping) or not np.iterable(values):
        raise TypeError(f"{name} must be an iterable, got {type(values).__name__} {values!r:.60}")
    return values


def _is_row(fact):
    return isinstance(fact, tuple | list | np.ndarray) and np.iterable(fact)


def _is_missing(value):
    return check.is_missing(value) or (isinstance(value, str) and not value)


def _checked(name, where, number=None, part=""):
    """A name that is not empty; the message, made only when needed, is of ``where[number]``."""
    if type(name) is str and name:
        return name
    if not isinstance(name, Hashable) or isinstance(name, bool) or _is_missing(name):
        where = where if number is None else f"{where}[{number}]{part}"
        raise ValueError(f"{where} must be a name that is not empty, got {name!r:.60}")
    return name


def _facts(facts, name):
    for t, fact in enumerate(_iterable(facts, name)):
        if not _is_row(fact) or len(fact) != 3:
            raise ValueError(f"{name}[{t}] must have three parts, got {fact!r:.80}")
        entity = _checked(fact[0], name, t, ": the entity")
        yield t, entity, _checked(fact[1], name, t, ": the second part"), fact[2]


def _coded_relations(relations, codes):
    names, columns = {}, [array("q") for _ in range(3)]
    for t, entity, relation, other in _facts(relations, "relations"):
        _checked(other, "relations", t, ": the second entity")
        i = codes.setdefault(entity, len(codes))
        r = names.setdefault(relation, len(names))
        k = codes.setdefault(other, len(codes))
        if i != k:
            for column, code in zip(columns, (i, r, k)):
                column.append(code)
    columns = [np.array(column, dtype=np.int64) for column in columns]
    return np.column_stack(distinct_rows(*columns)), list(names)


def _coded_values(properties, codes):
    names, rows, known = {}, {}, {}
    for t, entity, name, value in _facts(properties, "properties"):
        if isinstance(value, dict | list | tuple | set | np.ndarray):
            raise ValueError(
                f"properties[{t}]: the value must be one text, number or date, got {value!r:.60}"
            )
        code = codes.setdefault(entity, len(codes))
        if not _is_missing(value):
            whole = isinstance(value, float | np.floating) and value.is_integer()
            text = str(int(value) if whole else value)
            text = known.setdefault(text, text)  # a text is kept once, however many have it
            rows[code, names.setdefault(name, len(names)), text] = None
    table = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2)
    return table, list(names), [row[2] for row in rows]


def check_knowledge_base(kb, name):
    if isinstance(kb, KnowledgeBase):
        return kb
    if hasattr(kb, "is_directed") and hasattr(kb, "edges"):
        return KnowledgeBase.from_networkx(kb)
    if hasattr(kb, "columns") and hasattr(kb, "index"):
        return KnowledgeBase.from_frame(kb)
    raise TypeError(f"{name} must be a KnowledgeBase, DataFrame or graph, got {type(kb).__name__}")


def distinct_rows(*columns):
    """Rows of columns of integers from 0 on, each once and sorted, as columns.

    A row is sorted as one number, where it fits; that is many times as fast as comparing rows.
    """
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    if math.prod(sizes) >= 2**63:  # too large for one number a row
        return tuple(np.unique(np.column_stack(columns), axis=0).T)
    key = np.ravel_multi_index(columns, sizes)
    key.sort()  # ten times as fast as numpy.unique
    return np.unravel_index(key[np.diff(key, prepend=-1) > 0], sizes)


def _read_triples(path):
    """Yield (subject, predicate, object, "U" or "L") of the lines of a file."""
    path = check_path(path)
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rb") as file:
        for number in count(1):
            try:
                line = file.readline()
            except Exception as error:  # of the kinds EOFError, zlib.error, BadGzipFile
                raise damage(path, f"is not an intact gzip file ({error})", line=number) from None
            if not line:
                return
            try:
                triple = _parsed(line.decode("utf-8"))
            except ValueError as error:  # of which those of an encoding are a kind
                raise damage(path, f"is not an N-Triple in UTF-8 ({error})", line=number) from None
            if triple is not None:
                yield triple


def _parsed(line):
    if not line.strip() or line.lstrip().startswith("#"):
        return None
    match = LINE.match(line)
    if match is None:
        raise ValueError(f"got {line.strip()!r:.80}")
    subject, predicate, target = match.groups()
    if target.startswith('"'):
        text = target[1 : target.rindex('"')]
        text = ESCAPE.sub(lambda escape: escape[0].encode().decode("unicode_escape"), text)
        return _node(subject), predicate, text, "L"
    return _node(subject), predicate, _node(target), "U"


def _node(text):
    return text[1:-1] if text.startswith("<") else text
