"""Model configs of the Hugging Face kind: which scheme a config.json means, and where it says so.

The table of model types is types/; to add a model type, add a line there.
"""
