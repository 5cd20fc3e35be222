# Stress of layouts of the dissimilarities in ../pcoa: Rscript make.R > summary.json
suppressMessages({library(vegan); library(MASS)})
number <- function(x) format(x, digits = 17)
sets <- c("dune_bray", "watervoles", "varespec_bray_sqrt", "eurodist")
lines <- sapply(sets, function(name) {
  d <- as.dist(as.matrix(read.csv(file.path("..", "pcoa", name, "D.csv"), row.names = 1, check.names = FALSE)))
  start <- cmdscale(d, 2)
  one <- function(ties) monoMDS(d, y = start, k = 2, maxit = 2000, smin = 1e-9, sfgrmin = 1e-12, sratmax = 1 - 1e-12,
                                weakties = ties)$stress
  set.seed(1)
  best <- metaMDS(d, k = 2, trymax = 50, trace = 0, autotransform = FALSE, noshare = FALSE, smin = 1e-7,
                  sfgrmin = 1e-9, sratmax = 1 - 1e-9)$stress
  near <- sammon(d, y = start, k = 2, trace = FALSE, niter = 5000, tol = 1e-14)$stress
  sprintf('  "%s": {"primary": %s, "secondary": %s, "metaMDS": %s, "sammon": %s}', name, number(one(TRUE)),
          number(one(FALSE)), number(best), number(near))
})
cat("{\n", paste(lines, collapse = ",\n"), "\n}\n", sep = "")

data(dune)
m <- monoMDS(vegdist(dune, "bray"), y = cmdscale(vegdist(dune, "bray"), 2), k = 2)
found <- cbind(m$points, goodness = goodness(m))
write.csv(apply(found, 2, function(x) sprintf("%.17g", x)), "dune_goodness.csv", row.names = FALSE, quote = FALSE)
message("linear fit ", sprintf("%.17g", cor(m$dist, m$dhat)^2))
