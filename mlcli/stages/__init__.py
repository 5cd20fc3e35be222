"""The stages that methods are composed of; they know nothing of files or YAML."""
