"""Entities with relations, properties and labels, in integer codes."""

import re
from array import array
from collections.abc import Hashable, Mapping

import numpy as np

from ._rows import distinct_rows
from ._triples import read_triples

LABELS = ("label", "preflabel", "name", "title")


class KnowledgeBase:
    """Facts about entities: relations among them, properties with values, and labels.

    Inverse relations need not be given; duplicates count once and relations of an entity with
    itself are dropped.

    Parameters
    ----------
    relations : iterable of (entity, relation, entity), default=()
        Facts that link two entities.
    properties : iterable of (entity, property, value), default=()
        Facts with a value: text, number or date. None, NaN and empty text are no values.
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
    relation_names : list
        Names of relations.
    property_names : list
        Names of properties.
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
        for t, entity in enumerate(_listed(entities, "entities")):
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
        return (
            f"KnowledgeBase({len(self)} entities, {len(self.relations)} relations, "
            f"{len(self.values)} values)"
        )

    def _find_labels(self, labels):
        found = [""] * len(self)
        if isinstance(labels, Mapping):
            for entity, label in labels.items():
                found[self._codes[entity]] = label
            return found
        if labels is not None and labels not in self.property_names:
            names = ", ".join(map(repr, self.property_names[:8]))
            raise ValueError(
                f"labels must be a dict, None or one of the properties ({names}), "
                f"got {labels!r:.60}"
            )
        named = [LABELS.index(n) if (n := local_name(p).lower()) in LABELS else 9
                 for p in self.property_names] if labels is None else [
                 0 if p == labels else 9 for p in self.property_names]  # fmt: skip
        best = [9] * len(self)
        for (entity, code), value in zip(self.properties.tolist(), self.values, strict=True):
            if named[code] < best[entity]:
                best[entity], found[entity] = named[code], value
        if labels is None:
            for (entity, _), value in zip(self.properties.tolist(), self.values, strict=True):
                if best[entity] == 9 and re.search(r"[^\W\d_]", value):
                    found[entity] = f"{found[entity]} {value}".strip()
        return found

    def merge(self, other):
        """Return a knowledge base with the facts of both; entities of the same name are one.

        Parameters
        ----------
        other : KnowledgeBase
            More facts; its labels hold for entities that have none here.

        Returns
        -------
        KnowledgeBase
            A new one; entities keep their places.
        """
        if not isinstance(other, KnowledgeBase):
            raise TypeError(f"other must be a KnowledgeBase, got {type(other).__name__}")
        labels = {e: v for kb in (other, self) for e, v in zip(kb.entities, kb.labels, strict=True)
                  if v}  # fmt: skip
        return KnowledgeBase(
            [fact for kb in (self, other) for fact in kb._relation_facts()],
            [fact for kb in (self, other) for fact in kb._property_facts()],
            labels,
            list(dict.fromkeys([*self.entities, *other.entities])),
        )

    def _relation_facts(self):
        names, relations = self.entities, self.relation_names
        return [(names[i], relations[r], names[k]) for i, r, k in self.relations.tolist()]

    def _property_facts(self):
        names, rows = self.property_names, self.properties.tolist()
        return [(self.entities[i], names[p], v)
                for (i, p), v in zip(rows, self.values, strict=True)]  # fmt: skip

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

        Returns
        -------
        KnowledgeBase
            The facts in codes.
        """
        triples = _listed(triples, "triples")
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
        index : str or None, default=None
            Column of the names of entities; None takes the index of the frame.
        label : str or None, default=None
            Column of labels; None as in the constructor.
        entity_columns : list of str, default=()
            Columns whose values name entities: they become relations.

        Returns
        -------
        KnowledgeBase
            The facts in codes.
        """
        if not hasattr(frame, "columns") or not hasattr(frame, "index"):
            raise TypeError(f"frame must be a DataFrame, got {type(frame).__name__}")
        columns = list(frame.columns)
        if len(set(columns)) < len(columns):
            raise ValueError(f"frame has a column twice: name each of {columns} once")
        entity_columns = _listed(entity_columns, "entity_columns")
        for what, name in [("index", index), *(("entity_columns", c) for c in entity_columns)]:
            if name is not None and name not in columns:
                raise ValueError(f"{what}={name!r:.60} is none of the columns {columns}")
        names = list(frame.index if index is None else frame[index])
        relations, properties = [], []
        for column in columns:
            if column == index:
                continue
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
        relation_attr : str, default="relation"
            Attribute of edges that names their relation; edges without it have one called "edge".
        label_attr : str, default="label"
            Attribute of nodes that holds their label.
        property_attrs : list of str or None, default=None
            Attributes of nodes that are properties; None takes all but the label.

        Returns
        -------
        KnowledgeBase
            The facts in codes.
        """
        if not hasattr(graph, "is_directed") or not hasattr(graph, "edges"):
            raise TypeError(f"graph must be a networkx graph, got {type(graph).__name__}")
        wanted = None if property_attrs is None else set(_listed(property_attrs, "property_attrs"))
        relations = [(u, d.get(relation_attr, "edge"), v) for u, v, d in graph.edges(data=True)]
        if not graph.is_directed():
            relations += [(v, r, u) for u, r, v in relations]
        nodes = list(graph.nodes(data=True))
        properties = [
            (node, a, value) for node, data in nodes for a, value in data.items()
            if a != label_attr and (wanted is None or a in wanted)
        ]  # fmt: skip
        labels = {node: str(data[label_attr]) for node, data in nodes if label_attr in data}
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

        Returns
        -------
        KnowledgeBase
            The facts in codes.
        """
        return cls.from_triples(read_triples(path), labels)


def local_name(name):
    """What follows the last # or / of a name that has them."""
    return re.split(r"[#/]", name.rstrip("#/"))[-1] if isinstance(name, str) else str(name)


def _iterable(values, name):
    if isinstance(values, str | bytes | Mapping) or not np.iterable(values):
        raise TypeError(f"{name} must be an iterable, got {type(values).__name__} {values!r:.60}")
    return values


def _listed(values, name):
    return list(_iterable(values, name))


def _is_row(fact):
    return isinstance(fact, tuple | list | np.ndarray) and np.iterable(fact)


def _is_missing(value):
    if value is None or isinstance(value, str):
        return not value
    same = value == value  # the NA of pandas answers with itself
    return not same if isinstance(same, bool | np.bool_) else same is value


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
        yield (
            t,
            _checked(fact[0], name, t, ": the entity"),
            _checked(fact[1], name, t, ": the second part"),
            fact[2],
        )


def _coded_relations(relations, codes):
    names, columns = {}, [array("q") for _ in range(3)]
    first, second, third = (column.append for column in columns)
    for t, entity, relation, other in _facts(relations, "relations"):
        _checked(other, "relations", t, ": the second entity")
        i = codes.setdefault(entity, len(codes))
        r = names.setdefault(relation, len(names))
        k = codes.setdefault(other, len(codes))
        if i != k:
            first(i)
            second(r)
            third(k)
    columns = [np.array(column, dtype=np.int64) for column in columns]
    return np.column_stack(distinct_rows(*columns)), list(names)


def _coded_values(properties, codes):
    names, rows, known = {}, {}, {}
    for t, entity, name, value in _facts(properties, "properties"):
        if isinstance(value, dict | list | tuple | set | np.ndarray):
            raise ValueError(f"properties[{t}]: the value must be one text, number or date, got "
                             f"{value!r:.60}")  # fmt: skip
        code = codes.setdefault(entity, len(codes))
        if not _is_missing(value):
            text = (
                str(int(value))
                if isinstance(value, float | np.floating) and value.is_integer()
                else str(value)
            )
            text = known.setdefault(text, text)  # a text is kept once, however many have it
            rows[code, names.setdefault(name, len(names)), text] = None
    table = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2)
    return table, list(names), [row[2] for row in rows]


def check_knowledge_base(kb, name):
    """A knowledge base of a user; networkx graphs become one."""
    if isinstance(kb, KnowledgeBase):
        return kb
    if hasattr(kb, "is_directed") and hasattr(kb, "edges"):
        return KnowledgeBase.from_networkx(kb)
    raise TypeError(f"{name} must be a KnowledgeBase or a networkx graph, got {type(kb).__name__}")
