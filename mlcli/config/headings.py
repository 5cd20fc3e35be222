"""The headings of --help and of the manual page, in their order: every flag stands under one of them."""

OFTEN = "Often used"
INPUT, COLUMNS, METHOD, NEIGHBORS = "Input", "Columns", "Method", "Neighbors"
ONTO = "Rows added to a map"
OUTPUT, REPORT, COMPUTE = "Output", "Report", "Compute"
HEADINGS = (OFTEN, INPUT, COLUMNS, METHOD, NEIGHBORS, ONTO, OUTPUT, REPORT, COMPUTE)
