# Multiple factor analysis, factor analysis of mixed data, and STATIS, of wines (FactoMineR, ade4), in the working directory.
suppressMessages({library(FactoMineR); library(ade4)})
save <- function(values, name) write.table(format(as.matrix(values), digits = 17, trim = TRUE), paste0(name, ".csv"),
                                           sep = ",", quote = FALSE, col.names = NA)
data(wine, package = "FactoMineR")
write.table(format(wine, digits = 6, trim = TRUE), "wine.csv", sep = ",", quote = FALSE, col.names = NA)

grouped <- function(fit, name) {
  save(fit$eig[, 1], paste0(name, "_eigenvalues"))
  save(fit$ind$coord, paste0(name, "_rows"))
  save(fit$ind$contrib / 100, paste0(name, "_row_contributions"))
  save(fit$ind$cos2, paste0(name, "_row_cos2"))
  save(fit$ind$coord.partiel, paste0(name, "_partial"))
  save(fit$group$RV, paste0(name, "_rv"))
  save(fit$group$Lg, paste0(name, "_lg"))
  save(fit$group$coord, paste0(name, "_group_coordinates"))
  save(fit$group$contrib / 100, paste0(name, "_group_contributions"))
  save(fit$group$cos2, paste0(name, "_group_cos2"))
  save(fit$group$correlation, paste0(name, "_group_correlations"))
  save(fit$quanti.var$coord, paste0(name, "_columns"))
  save(fit$quanti.var$contrib / 100, paste0(name, "_column_contributions"))
  save(fit$quanti.var$cos2, paste0(name, "_column_cos2"))
}
# origin and the judgement of the whole are supplementary; the first and the fifth wine are too
fit <- MFA(wine, group = c(2, 5, 3, 10, 9, 2), type = c("n", rep("s", 5)), ncp = 4, num.group.sup = c(1, 6),
           name.group = c("origin", "shaken", "sight", "smell", "taste", "whole"), ind.sup = c(1, 5), graph = FALSE)
grouped(fit, "mfa")
save(fit$ind.sup$coord, "mfa_new")
save(fit$group$coord.sup, "mfa_group_coordinates_sup")
save(fit$group$cos2.sup, "mfa_group_cos2_sup")
save(fit$quanti.var.sup$coord, "mfa_columns_sup")
save(fit$quali.var.sup$coord, "mfa_levels_sup")
# origin takes part, and the numbers of the others keep their scales
fit <- MFA(wine[, 1:10], group = c(2, 5, 3), type = c("n", "c", "s"), ncp = 4,
           name.group = c("origin", "shaken", "sight"), graph = FALSE)
grouped(fit, "mixed")
save(fit$quali.var$coord, "mixed_levels")
save(fit$quali.var$contrib / 100, "mixed_level_contributions")
fit <- FAMD(wine[, c(1:2, 29:31)], ncp = 4, graph = FALSE)
save(fit$eig[, 1], "famd_eigenvalues")
save(fit$ind$coord, "famd_rows")
save(fit$ind$contrib / 100, "famd_row_contributions")
save(fit$ind$cos2, "famd_row_cos2")
save(fit$var$coord, "famd_columns")
save(fit$var$contrib / 100, "famd_column_contributions")
save(fit$quanti.var$coord, "famd_numbers")
save(fit$quali.var$coord, "famd_levels")
save(fit$quali.var$contrib / 100, "famd_level_contributions")
tables <- ktab.data.frame(as.data.frame(scalewt(wine[, 3:29])), c(5, 3, 10, 9),
                          tabnames = c("shaken", "sight", "smell", "taste"))
fit <- statis(tables, scannf = FALSE, nf = 4)
save(fit$RV, "statis_rv")
save(fit$RV.tabw, "statis_weights")
save(fit$C.eig, "statis_eigenvalues")
save(fit$C.li, "statis_rows")
save(fit$cos2, "statis_cosines")
apart <- kdist(dist(scalewt(wine[, 3:7])), dist(scalewt(wine[, 8:10])), dist(scalewt(wine[, 11:20])))
fit <- statis(kdist2ktab(apart), scannf = FALSE, nf = 4)
save(fit$RV, "distatis_rv")
save(fit$RV.tabw, "distatis_weights")
save(fit$C.eig, "distatis_eigenvalues")
save(fit$C.li, "distatis_rows")
# what rows and columns contribute in principal components, and in correspondence analyses of the tables beside this folder
shares <- function(fit, name, rows, columns) {
  save(fit[[rows]]$contrib / 100, paste0(name, "_row_contributions"))
  save(fit[[rows]]$cos2, paste0(name, "_row_cos2"))
  save(fit[[columns]]$contrib / 100, paste0(name, "_column_contributions"))
  save(fit[[columns]]$cos2, paste0(name, "_column_cos2"))
}
shares(PCA(wine[, 3:7], scale.unit = FALSE, ncp = 3, graph = FALSE), "pca", "ind", "var")
dune <- read.csv("../metrics/dune.csv", row.names = 1)[1:16, ]
shares(CA(dune[, colSums(dune) > 0], ncp = 3, graph = FALSE), "ca", "row", "col")
data(ours, package = "ade4")
shares(MCA(ours, ncp = 3, graph = FALSE), "mca", "ind", "var")

# cells of origin and of two groups of scores are missing: missMDA 1.21, without its end before the fixed point
library(missMDA)
some <- wine[, 1:10]
for (i in seq_len(nrow(some))) for (j in seq_len(ncol(some)))
  if ((7 * (i - 1) + 3 * (j - 1)) %% 11 == 0) some[i, j] <- NA
filled <- imputeMFA(some, group = c(2, 5, 3), type = c("n", "s", "s"), ncp = 2, threshold = 1e-30, maxiter = 5000)
fit <- MFA(some, group = c(2, 5, 3), type = c("n", "s", "s"), ncp = 2, tab.comp = filled, graph = FALSE)
save(fit$eig[, 1], "gaps_eigenvalues")
save(fit$ind$coord, "gaps_rows")
save(filled$tab.disj, "gaps_cells")
