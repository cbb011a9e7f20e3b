"""Objectives of docstrings as formulas: `help` shows plain text, these pages show mathematics."""

import textwrap

# Blocks of docstrings, blanks and line breaks made equal, and what the pages show instead.
FORMULAS = {
    "lam / 2 |w|^2 "
    "+ sum_i s_i max_y [ L(y_i, y) - <w, phi(x_i, y_i) - phi(x_i, y)> ] / sum_i s_i": (
        r"\frac{\lambda}{2} \left\lVert w \right\rVert^2 + \frac{1}{\sum_i s_i} \sum_i "
        r"s_i \max_y \left[ L(y_i, y) "
        r"- \langle w, \phi(x_i, y_i) - \phi(x_i, y) \rangle \right]"
    ),
    "sum_i s_i loss(y_i, <w, x_i> + c) / sum_i s_i "
    "+ alpha (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2)": (
        r"\frac{1}{\sum_i s_i} \sum_i s_i \, \mathrm{loss}(y_i, \langle w, x_i \rangle + c) "
        r"+ \alpha \left( \rho \left\lVert w \right\rVert_1 + \frac{1 - \rho}{2} "
        r"\left\lVert w \right\rVert^2 \right), "
        r"\quad \rho = \mathtt{l1\_ratio}"
    ),
    "C sum_i s_i loss(y_i, <w, x_i> + c) + l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2": (
        r"C \sum_i s_i \, \mathrm{loss}(y_i, \langle w, x_i \rangle + c) + \rho "
        r"\left\lVert w \right\rVert_1 "
        r"+ \frac{1 - \rho}{2} \left\lVert w \right\rVert^2, \quad \rho = \mathtt{l1\_ratio}"
    ),
    "sum_i s_i loss(y_i, <w, x_i> + c) / sum_i s_i + alpha * penalty(w)": (
        r"\frac{1}{\sum_i s_i} \sum_i s_i \, \mathrm{loss}(y_i, \langle w, x_i \rangle + c) "
        r"+ \alpha \, \mathrm{penalty}(w)"
    ),
    "log q(x) = -(1 + W + dof) / 2 * log(V(x) / s) + 1/2 log det G(x) - log_normalizer_": (
        r"\log q(x) = -\frac{1 + W + \mathrm{dof}}{2} \log \frac{V(x)}{s} "
        r"+ \frac{1}{2} \log \det G(x) - \mathtt{log\_normalizer\_}"
    ),
    "score(x) = log q_background(x) - log q_target(x) (low: relatively novel)": (
        r"\mathrm{score}(x) = \log q_{\mathrm{background}}(x) - \log q_{\mathrm{target}}(x)"
    ),
    "log Z <= max_mu constant + <theta, mu> + sum_i H(mu_i) - sum_ij rho_ij I(mu_ij)": (
        r"\log Z \le \max_{\mu} \; \mathrm{constant} + \langle \theta, \mu \rangle "
        r"+ \sum_i H(\mu_i) - \sum_{ij} \rho_{ij} I(\mu_{ij})"
    ),
    "log Z >= constant + sum_i <theta_i, q_i> + sum_ij q_i' theta_ij q_j + sum_i H(q_i)": (
        r"\log Z \ge \mathrm{constant} + \sum_i \langle \theta_i, q_i \rangle "
        r"+ \sum_{ij} q_i^\top \theta_{ij} q_j + \sum_i H(q_i)"
    ),
    "log Z = log sum_x exp(constant + sum_i theta_i(x_i) + sum_ij theta_ij(x_i, x_j))": (
        r"\log Z = \log \sum_x \exp \left( \mathrm{constant} + \sum_i \theta_i(x_i) "
        r"+ \sum_{ij} \theta_{ij}(x_i, x_j) \right)"
    ),
    "log p(x) = constant + sum_i unary_i[x_i] + sum_ij pairwise_ij[x_i, x_j] - log Z": (
        r"\log p(x) = \mathrm{constant} + \sum_i \mathrm{unary}_i[x_i] "
        r"+ \sum_{ij} \mathrm{pairwise}_{ij}[x_i, x_j] - \log Z"
    ),
    "sum_t <W[:, y_t], x_t> + start[y_1] + end[y_T] + sum_t transitions[y_t, y_{t+1}]": (
        r"\sum_t \langle W_{:, y_t}, x_t \rangle + \mathrm{start}[y_1] + \mathrm{end}[y_T] "
        r"+ \sum_t \mathrm{transitions}[y_t, y_{t+1}]"
    ),
    "sum_l <W[:, l, y_l], x> + intercept[l, y_l] + sum_(l,m) pairs[lm][y_l, y_m]": (
        r"\sum_l \left( \langle W_{:, l, y_l}, x \rangle + \mathrm{intercept}[l, y_l] \right) "
        r"+ \sum_{(l,m)} \mathrm{pairs}_{lm}[y_l, y_m]"
    ),
    "min over x in X of max over y in Y of x'My": r"\min_{x \in X} \max_{y \in Y} \; x^\top M y",
    "min over x in X of max over y in Y of L(x, y)": r"\min_{x \in X} \max_{y \in Y} \; L(x, y)",
}


def with_formulas(lines):
    """The lines of a docstring with the blocks of the table as formulas."""
    made, k = [], 0
    while k < len(lines):
        end = _end_of_block(lines, k) if lines[k].rstrip().endswith("::") else k + 1
        formula = FORMULAS.get(" ".join(" ".join(lines[k + 1 : end]).split()))
        if formula is None:
            made += lines[k:end]
        else:
            margin = lines[k][: len(lines[k]) - len(lines[k].lstrip())]
            math = ["", ".. math::", "", f"    {formula}", ""]
            made += [lines[k].rstrip()[:-1], *(textwrap.indent(line, margin) for line in math)]
        k = end
    return made


def _end_of_block(lines, start):
    """First line after a line with two colons that is neither blank nor indented more."""
    margin = len(lines[start]) - len(lines[start].lstrip())
    end = start + 1
    while end < len(lines) and (
        not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > margin
    ):
        end += 1
    return end


def show_formulas(app, what, name, obj, options, lines):
    """Hook of autodoc."""
    lines[:] = with_formulas(lines)
