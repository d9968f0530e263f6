"""The four experiments, and the list of schemes: settings in, a report out."""
