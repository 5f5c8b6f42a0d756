"""The Roundup issue tracker: an example of adapting Koala to a real site that nobody here wrote."""
