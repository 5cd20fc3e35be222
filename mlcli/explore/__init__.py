"""One data set by many methods and settings: plans the trials, scores and ranks them, and recommends one."""
