"""Words that readers search for, their pages, and the scores of Sphinx's search."""

from collections import defaultdict

# Every page gets an index entry of its words.
SEARCHES = {
    "guide/topics": ["topic model", "LDA"],
    "guide/conditional_random_fields": ["CRF"],
    "guide/tagging": ["named entity", "part-of-speech"],
    "guide/alignment": ["entity resolution", "record linkage"],
    "guide/memorization": ["label errors", "label noise"],
    "guide/gaussian_probabilities": ["normal CDF", "multivariate normal CDF"],
    "guide/kernel_student_t": ["novelty detection", "anomaly detection"],
    "guide/graph_cuts": ["image segmentation"],
    "guide/marginals": ["belief propagation", "partition function"],
    "guide/structured_svm": ["structured SVM"],
    "guide/frank_wolfe": ["conditional gradient"],
}
PRIORITIES = {0: 15, 1: 5, 2: -5}


def add_entries(app, docname, source):
    """Write the words of a page as main index entries before its title."""
    if docname in SEARCHES:
        entries = "".join(f"   ! single: {query}\n" for query in SEARCHES[docname])
        source[0] = f".. index::\n{entries}\n{source[0]}"


def first_page(index, query):
    """The page with the highest score for a query, as searchtools.js computes it."""
    from sphinx.search.en import SearchEnglish

    low, titles = query.lower(), index["titles"]
    words, scores = low.split(), defaultdict(float)
    for title, places in index["alltitles"].items():
        if low in title.lower() and len(low) >= len(title) / 2:
            for page, _ in places:
                score = round(15 * len(low) / len(title)) + (titles[page] == title)
                scores[page] = max(scores[page], score)
    for entry, places in index["indexentries"].items():
        if low in entry and len(low) >= len(entry) / 2:
            for page, _, is_main in places:
                scores[page] = max(scores[page], is_main * round(100 * len(low) / len(entry)))
    for prefix, objects in index["objects"].items():
        for page, _, priority, _, name in objects:
            full, last = f"{prefix}.{name}".lower(), name.lower().split(".")[-1]
            text = f"{full} {titles[page].lower()}"
            for word in words:
                if word in full and all(other in text for other in words):
                    match = 11 if last == word else 6 * (word in last)
                    scores[page] = max(scores[page], PRIORITIES[priority] + match)
    found = []
    for word in map(SearchEnglish({}).stem, words):
        found.append({})
        for key, score in (("terms", 5), ("titleterms", 15)):
            pages = index[key].get(word, [])
            found[-1] |= dict.fromkeys([pages] if isinstance(pages, int) else pages, score)
    for page in set.intersection(*map(set, found)):
        scores[page] = max(scores[page], *(pages[page] for pages in found))
    return index["docnames"][max(scores, key=scores.get)] if scores else None
