"""The frame of all methods: fit, model, memory, variants."""
