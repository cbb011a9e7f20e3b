"""Pairs of knowledge bases: real ones, generated films, and kinds that no default was set on."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np

from sklearn_fw.alignment import KnowledgeBase
from sklearn_fw.datasets import make_kb_pair

LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
FIRST = ["José", "Maria", "Jean", "Anna", "Jürgen", "François", "Zoë", "Noël", "André", "Hans"]


def folder():
    """Where the real knowledge bases are."""
    path = Path(os.environ.get("SKLEARN_FW_DATA", ".")) / "kb_alignment"
    if not path.is_dir():
        raise FileNotFoundError(f"{path} is not there: set SKLEARN_FW_DATA")
    return path


def load_ontologies(name):
    """Both sides of person1 or restaurant of the OAEI, and the truth."""
    sides, path = [], folder() / f"oaei_{name}"
    for side in "12":
        with gzip.open(path / f"kb{side}.tsv.gz", "rt", encoding="utf-8") as file:
            triples = [tuple(line.rstrip("\n").split("\t")) for line in file]
        sides.append(KnowledgeBase.from_triples(triples))
    with open(path / "gold.tsv", encoding="utf-8") as file:
        return sides, dict(line.rstrip("\n").split("\t") for line in file)


def load_papers():
    """DBLP and ACM as tables of papers, and the truth."""
    sides, path = [], folder() / "dblp_acm"
    for side in ("left", "right", "gold"):
        with open(path / f"{side}.csv", encoding="utf-8", newline="") as file:
            sides.append(list(csv.DictReader(file)))
    truth = {row["idDBLP"]: row["idACM"] for row in sides.pop()}
    return [
        KnowledgeBase(
            [],
            [(r["id"], name, r[name]) for r in rows for name in ("authors", "venue", "year")],
            {r["id"]: r["title"] for r in rows},
        )
        for rows in sides
    ], truth


def films(n_movies, seed=0, missing=0.0, copies=0.0):
    """The generator of films; facts and labels may be missing, and entities there twice."""
    data, rng, sides = make_kb_pair(n_movies, random_state=seed), np.random.RandomState(seed), []
    for s in "12":
        links, values = (
            [f for f in data[f"{what}{s}"] if rng.random_sample() >= missing]
            for what in ("relations", "properties")
        )
        labels = {e: n if rng.random_sample() >= missing else "" for e, n in
                  data[f"labels{s}"].items()}  # fmt: skip
        twice = {e for e in labels if rng.random_sample() < copies}
        labels |= {f"{e} copy": damaged(labels[e], rng) for e in twice}
        links += [(f"{e} copy", r, o) for e, r, o in links if e in twice]
        values += [(f"{e} copy", p, v) for e, p, v in values if e in twice]
        sides.append(KnowledgeBase(links, values, labels))
    return sides, data.truth


def word(rng):
    return "".join(rng.choice(LETTERS, size=rng.randint(3, 10)))


def damaged(text, rng, typo=0.1, drop=0.12):
    """Text with words dropped and letters left out, doubled or replaced."""
    made = []
    for one in text.split():
        at, kind = rng.randint(len(one)), rng.randint(3)
        if rng.random_sample() < typo:
            letter = ("", one[at] * 2, rng.choice(LETTERS))[kind]
            one = one[:at] + letter + one[at + 1 :]
        if one and rng.random_sample() >= drop:
            made.append(one)
    return " ".join(made or text.split()[:1])


def products(seed=0, n=2000, linked=True):
    """Catalogues: names with typing errors and dropped words, other prices, categories or none."""
    rng = np.random.RandomState(seed)
    brands, nouns, kinds = ([word(rng) for _ in range(k)] for k in (60, 250, 30))
    all_rows = [
        (f"{rng.choice(brands[: rng.randint(1, 61)])} {rng.choice(nouns)} {rng.choice(nouns)} "
         f"{word(rng)[:2]}{rng.randint(10, 999)}", np.exp(rng.normal(4, 1)), rng.choice(kinds))
        for _ in range(n)
    ]  # fmt: skip
    keep, sides = rng.random_sample((2, n)) < 0.8, []
    for s in (0, 1):
        labels = {f"{s}{kind}": kind for kind in kinds} if linked else {}
        values, links = [], []
        for i in np.flatnonzero(keep[s]).tolist():
            (name, price, kind), entity = all_rows[i], f"{s}:{i}"
            labels[entity] = damaged(name, rng)
            if s and rng.random_sample() < 0.5:
                price *= rng.uniform(0.9, 1.1)
            values.append((entity, "price", round(price, 2)))
            if rng.random_sample() < 0.8:
                values.append((entity, "brand", name.split()[0].upper() if s else name.split()[0]))
            if linked and rng.random_sample() < 0.8:
                links.append((entity, "category", f"{s}{kind}"))
        sides.append(KnowledgeBase(links, values, labels))
    return sides, {f"0:{i}": f"1:{i}" for i in np.flatnonzero(keep.all(0)).tolist()}


def staff(seed=0, n=1500):
    """People of firms in towns: accents or initials, names turned round, towns translated."""
    rng = np.random.RandomState(seed)
    lasts, towns, firms = ([word(rng) for _ in range(k)] for k in (500, 80, 200))
    labels, links, values = ({}, {}), ([], []), ([], [])
    truth = {}
    for town in towns:
        labels[0][f"0{town}"], labels[1][f"1{town}"] = town, rng.choice([town, word(rng)])
    for firm in firms:
        labels[0][f"0{firm}"], labels[1][f"1{firm}"] = f"{firm} GmbH", f"{firm} Inc"
        town = rng.choice(towns)
        for s in (0, 1):
            links[s].append((f"{s}{firm}", "in", f"{s}{town}"))
    truth |= {f"0{name}": f"1{name}" for name in towns + firms}
    for i in range(n):
        first, last, born = rng.choice(FIRST), rng.choice(lasts), rng.randint(1930, 2005)
        firm, town, there = rng.choice(firms), rng.choice(towns), rng.random_sample(2) < 0.8
        names = f"{first} {last}", f"{last.upper()}, {rng.choice([first, first[0] + '.'])}"
        for s in np.flatnonzero(there).tolist():
            labels[s][f"{s}:{i}"] = names[s]
            keep = rng.random_sample(3) < 0.85
            facts = ("works_at", f"{s}{firm}"), ("lives_in", f"{s}{town}")
            links[s].extend((f"{s}:{i}", *fact) for fact, k in zip(facts, keep) if k)
            if keep[2]:
                values[s].append((f"{s}:{i}", "born", (f"{born}-05-01", str(born))[s]))
        if there.all():
            truth[f"0:{i}"] = f"1:{i}"
    return [KnowledgeBase(*facts) for facts in zip(links, values, labels)], truth


def address_book(seed=0, n=1500):
    """Tables of people without labels: every fourth cell is empty, telephones in other forms."""
    rng = np.random.RandomState(seed)
    names, streets, towns = ([word(rng) for _ in range(k)] for k in (300, 200, 50))
    people = [
        {
            "first": rng.choice(names), "last": rng.choice(names),
            "street": f"{rng.randint(1, 200)} {rng.choice(streets)} st",
            "town": rng.choice(towns), "phone": "".join(map(str, rng.randint(10, size=9))),
        }
        for _ in range(n)
    ]  # fmt: skip
    keep, sides = rng.random_sample((2, n)) < 0.8, []
    for s in (0, 1):
        values = []
        for i in np.flatnonzero(keep[s]).tolist():
            for column, value in people[i].items():
                if s and column == "phone":
                    value = f"({value[:3]}) {value[3:6]}-{value[6:]}"
                elif column != "phone":
                    value = damaged(value, rng, typo=0.12, drop=0.0)
                if rng.random_sample() < 0.75:
                    values.append((f"{s}:{i}", column, value))
        sides.append(KnowledgeBase([], values))
    return sides, {f"0:{i}": f"1:{i}" for i in np.flatnonzero(keep.all(0)).tolist()}


KINDS = {
    "films": lambda seed: films(1000, seed),
    "films, 30 percent missing": lambda seed: films(1000, seed, missing=0.3),
    "films, 10 percent twice": lambda seed: films(1000, seed, copies=0.1),
    "products in categories": products,
    "products, a table": lambda seed: products(seed, linked=False),
    "staff, other languages": staff,
    "address book, a table": address_book,
}
