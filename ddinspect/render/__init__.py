"""Renderers: a report as text. One module per format; none of them looks at a graph.

`sections` says what there is to show, in words and numbers, for the formats that people read (console, markdown).
The formats that programs read (json, csv, the summary line) take their values from the report itself.
"""
