"""The pages that people (and browser agents) see: plain forms, no script."""
