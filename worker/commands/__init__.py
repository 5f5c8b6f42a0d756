"""Commands for a person at the machine: doctor, run and profile. `koala` execs them here, for they need a browser."""
