"""activeft's embeddings, as base classes of models."""

from __future__ import annotations

from homing.compat.activeft.embeddings import classification, empirical_ntk

__all__ = ["classification", "empirical_ntk"]
