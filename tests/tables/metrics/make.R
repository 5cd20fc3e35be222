# Distances and transforms by vegan and cluster: Rscript make.R, in this folder.
library(vegan)
library(cluster)
options(digits = 17)
write <- function(table, name, digits = 17)
  write.csv(format(table, digits = digits, trim = TRUE), name, quote = FALSE)
pairs <- function(counts, amounts) {
  shown <- lapply(list(
    bray = vegdist(counts, "bray"), jaccard = vegdist(counts, "jaccard"),
    jaccard_binary = vegdist(counts, "jaccard", binary = TRUE), bray_binary = vegdist(counts, "bray", binary = TRUE),
    hellinger = dist(decostand(counts, "hellinger")), aitchison = vegdist(amounts, "aitchison"),
    chord = vegdist(counts, "chord"),
    manhattan = vegdist(counts, "manhattan")), as.vector)
  as.data.frame(shown)  # the lower triangle, column by column
}
data(dune); data(dune.env); data(BCI)
write.csv(dune, "dune.csv", quote = FALSE)
write.csv(BCI, "bci.csv", quote = FALSE)
write(pairs(dune, dune + 1), "dune_pairs.csv")
write(pairs(BCI, BCI + 1), "bci_pairs.csv", 15)
for (name in c("total", "normalize", "pa")) write(decostand(dune, name)[1:6, ], paste0("dune_", name, ".csv"))
write(decostand(dune + 1, "clr")[1:6, ], "dune_clr.csv")
site <- data.frame(A1 = dune.env$A1, Moisture = as.numeric(as.character(dune.env$Moisture)),
                   Management = factor(dune.env$Management), Use = factor(as.character(dune.env$Use)))
write.csv(site, "site.csv", quote = FALSE)
write(data.frame(gower = as.vector(daisy(site, metric = "gower"))), "site_pairs.csv")
cat(R.version.string, as.character(packageVersion("vegan")), as.character(packageVersion("cluster")), "\n")
