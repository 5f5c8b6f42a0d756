"""Workflows that come with Koala: examples of adapting it to a site, one package a site."""
