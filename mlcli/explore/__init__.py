"""One data set by many methods and settings: which are tried, how they are judged, and what is said of them."""
