"""Several views of the same rows: canonical correlations, shared factors, bottleneck, style and content."""
