"""The mathematics that several families of methods share; it knows nothing of files or YAML."""
