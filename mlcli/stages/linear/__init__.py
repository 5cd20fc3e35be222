"""Linear maps of white data: canonical correlations, discriminants, slow features, independent components."""
