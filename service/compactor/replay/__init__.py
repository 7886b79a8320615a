"""A recorded session played again: what its model calls would have cost, in several ways of keeping the window.

`session` cuts the log into the calls that it was made of, `playing` sends each through the service, `cache` says what a
provider would read and write, `prices` what that costs, `outcome` is what comes of it all.
"""
