"""Plugins of Acme for the orchestration service. Everything that they import is ``heat.*``."""
