"""Leaves the modules that need Ray out of the doctests where Ray is not installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("ray") else ["python/homing/ray/*.py"]
