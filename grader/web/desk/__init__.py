"""The desk: a web application in which people grade, decide, and look at a class.

`app` has the routes, `access` the people and sessions, `pages` what each page shows, and `groups`
puts equal answers together. Marks and decisions are in the gradebook; the desk keeps nothing.
"""
