# Relations of ordinations to the environment by vegan: Rscript make.R, in this folder.
library(vegan)
library(permute)
data(dune); data(dune.env); data(varespec); data(varechem); data(BCI); data(BCI.env)
save <- function(table, name, names = TRUE)
  write.csv(format(as.data.frame(table), digits = 17, trim = TRUE), paste0(name, ".csv"), quote = FALSE, row.names = names)
orders <- function(set, name) write.table(set, paste0(name, ".csv"), sep = ",", row.names = FALSE, col.names = FALSE)
site <- data.frame(A1 = dune.env$A1, Moisture = paste0("m", dune.env$Moisture), Management = as.character(dune.env$Management),
                   Use = as.character(dune.env$Use), Manure = as.integer(as.character(dune.env$Manure)),
                   row.names = rownames(dune))
write.csv(site, "dune_env.csv", quote = FALSE)
write.csv(format(varechem, digits = 17, trim = TRUE), "varechem.csv", quote = FALSE)
write.csv(data.frame(Habitat = as.character(BCI.env$Habitat), EnvHet = format(BCI.env$EnvHet, digits = 17), row.names = rownames(BCI)),
          "bci_env.csv", quote = FALSE)
set.seed(3)
free <- shuffleSet(20, 199); blocked <- shuffleSet(20, 199, control = how(blocks = dune.env$Use))
lichen <- shuffleSet(24, 199); plots <- shuffleSet(50, 199)
orders(free, "orders_dune"); orders(blocked, "orders_dune_use"); orders(lichen, "orders_varespec"); orders(plots, "orders_bci")

fitted <- function(fit, name) {
  if (!is.null(fit$vectors)) save(cbind(fit$vectors$arrows, r2 = fit$vectors$r, p = fit$vectors$pvals), paste0(name, "_vectors"))
  if (!is.null(fit$factors)) {
    save(fit$factors$centroids, paste0(name, "_centroids"))
    save(cbind(r2 = fit$factors$r, p = fit$factors$pvals), paste0(name, "_factors"))
  }
}
principal <- function(counts, count) { # principal coordinates of Bray-Curtis
  points <- cmdscale(vegdist(counts), k = count); colnames(points) <- paste0("y", seq_len(count)); points
}
fitted(envfit(principal(dune, 3), site, permutations = free, choices = 1:3), "dune_envfit")
fitted(envfit(principal(dune, 3), site, permutations = blocked, choices = 1:3), "dune_envfit_use")
fitted(envfit(principal(varespec, 2), varechem, permutations = lichen), "varespec_envfit")
fitted(envfit(cca(dune), site, permutations = free, scaling = "sites"), "dune_ca_envfit")

near <- vegdist(dune)
parted <- function(table, name) save(as.data.frame(table), name)
parted(adonis2(near ~ Management * A1, site, permutations = free), "dune_terms")
parted(adonis2(near ~ A1 + Moisture + Management, site, permutations = free, by = "margin"), "dune_margin")
parted(adonis2(near ~ A1 + Moisture + Management, site, permutations = free, by = NULL), "dune_none")
parted(adonis2(near ~ Management + A1, site, permutations = blocked), "dune_use")
parted(adonis2(near ~ A1:Management + Moisture, site, permutations = free), "dune_interaction")
parted(adonis2(vegdist(varespec) ~ Al + P + K, varechem, permutations = lichen), "varespec_terms")

# vegan's optimizer leaves medians at 1e-8 of their objective; Newton's method takes them to rounding
exact <- function(ord, groups, choices, ...) {
  X <- as.matrix(ord)[, choices, drop = FALSE]
  if (!ncol(X)) return(matrix(0, nlevels(groups), 0))
  t(sapply(levels(groups), function(level) {
    own <- X[groups == level, , drop = FALSE]; at <- apply(own, 2, median)
    at <- optim(at, function(m) sum(sqrt(rowSums(sweep(own, 2, m)^2))), method = "BFGS", control = list(reltol = 1e-14, maxit = 2000))$par
    for (round in 1:50) {
      off <- -sweep(own, 2, at); size <- sqrt(rowSums(off^2)); unit <- off / size
      at <- at - qr.solve(diag(sum(1 / size), ncol(own)) - crossprod(unit, unit / size), colSums(unit))
    }
    at
  }))
}
spread <- function(d, group, type, name, set) {
  fit <- betadisper(d, group, type = type)
  test <- permutest(fit, permutations = set, pairwise = TRUE)
  save(cbind(distance = fit$distances), paste0(name, "_distances"))
  save(cbind(mean = fit$group.distances), paste0(name, "_means"))
  save(test$tab[, c(1, 2, 4, 6)], paste0(name, "_test"))
  save(cbind(t = test$statistic[-1], p = test$pairwise$permuted), paste0(name, "_pairs"))
}
groups <- factor(site$Management)
spread(near, groups, "centroid", "dune_centroid", free)
spread(near, groups, "median", "dune_median_rough", free)
spread(vegdist(BCI), factor(BCI.env$Habitat), "centroid", "bci_centroid", plots)
assignInNamespace("ordimedian", exact, "vegan")
spread(near, groups, "median", "dune_median", free)

points <- principal(dune, 2)
save(wascores(points, dune), "dune_species"); save(wascores(points, dune, expand = TRUE), "dune_species_expanded")
for (name in c("max", "frequency", "range", "chi.square", "log", "rclr", "rank", "rrank", "hellinger", "standardize"))
  save(decostand(dune, name)[1:6, ], paste0("dune_", sub(".", "", name, fixed = TRUE)))
save(wisconsin(dune)[1:6, ], "dune_wisconsin")
save(decostand(dune + 1, "alr", MARGIN = 2, reference = 1)[1:6, ], "dune_alr")
cat(R.version.string, as.character(packageVersion("vegan")), as.character(packageVersion("permute")), "\n")
