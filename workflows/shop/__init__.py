"""The demo shop: logging in, ordering by browser or by its API, and reading its news."""
