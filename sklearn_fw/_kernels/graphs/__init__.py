"""Labelings of graphs: maxima, sums, messages, cuts, trees and matchings."""
