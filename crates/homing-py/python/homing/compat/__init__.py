"""Interfaces that are compatible with other libraries."""
