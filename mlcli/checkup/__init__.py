"""The input doctor: what a data set is like before anything is made of it."""
