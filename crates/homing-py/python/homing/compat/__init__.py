"""Homing with the manners of other libraries."""
