"""Alignment of knowledge bases: which entities of two graphs are the same."""

from ._aligner import KnowledgeBaseAligner
from ._display import AlignmentCurveDisplay, MatchEvidenceDisplay
from ._knowledge_base import KnowledgeBase

__all__ = ["AlignmentCurveDisplay", "KnowledgeBase", "KnowledgeBaseAligner", "MatchEvidenceDisplay"]
