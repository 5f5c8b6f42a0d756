"""The small programs that take a kernel lock and then become the browser or the driver.

Only the standard library may be imported here: these modules also run under `python -I -S`, outside any venv.
For the same reason this package's and `worker`'s `__init__` hold nothing but their docstrings.
"""
