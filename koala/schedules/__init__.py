"""Schedules: recurring tasks that neither overlap, nor vanish, nor flood.

`file` reads and checks schedules.toml, `definition` is what a schedule is, `calendar` (over `cron` and `zones`) when it
is planned to run, `policy` (over `catch_up` and `overlap`) what is decided about it; all of that is pure. `record` is
what is stored, `fire` carries decisions out.
"""
