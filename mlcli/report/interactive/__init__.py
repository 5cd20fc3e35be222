"""The interactive page: the embedding as points to turn, zoom and name, drawn by Plotly in the reader's browser."""
