# SPDX-License-Identifier: Apache-2.0
"""The native API, version 1.

`routes` is its table: which method of which path goes to which function under which policy rule.  There is one
controller module per noun (`stacks`, `resources`, `events`, …) and one of views for each noun that has a form of its
own outside.  `app` is the WSGI application that ties them together.
"""
