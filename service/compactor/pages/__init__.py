"""Pages for people: what a compaction did, and what a session would have cost.

A page is one file that needs nothing besides it: no script, no font, no picture, and a policy that forbids them all.
All that is shown comes from the service's answers and the request's own text, and the template escapes every text.
"""
