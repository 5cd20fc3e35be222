"""The interactive page: a scatter plot of the embedding in two or three axes, drawn by Plotly in the browser."""
