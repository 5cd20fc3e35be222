"""Linear maps of white data: correlations, discriminants, slow features, independent components, costs on a graph."""
