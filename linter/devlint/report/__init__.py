"""Renderers: diagnostics in, text out. One format a file."""
