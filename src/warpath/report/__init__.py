"""Reports: one typed model (model.py) that every view renders, and the views."""
