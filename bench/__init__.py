"""What Koala costs beside a bare script that does the same work; `make bench`."""
