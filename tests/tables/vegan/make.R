# Constrained ordinations of vegan's lichen pastures: varespec by chemistry of the soil, varechem.
library(vegan)
data(varespec); data(varechem)
save <- function(table, name) write.csv(format(as.data.frame(table), digits = 17), paste0(name, ".csv"), quote = FALSE)
constraints <- c("N", "P", "K", "Al")
save(varespec, "varespec"); save(varechem[, constraints], "varechem")
scores <- function(fit, part, count) { # of length sqrt(eigenvalue), as vegan's scaling of sites without its constant
  found <- fit[[part]]; sizes <- found$eig[seq_len(count)]
  list(wa = found$wa[, seq_len(count)] %*% diag(sqrt(sizes), count), u = found$u[, seq_len(count)] %*% diag(sqrt(sizes), count))
}
describe <- function(fit, name, size) {
  count <- ncol(fit$CCA$u)
  save(cbind(c(fit$CCA$eig, fit$CA$eig), rep(1:0, c(length(fit$CCA$eig), length(fit$CA$eig)))), paste0(name, "_eigenvalues"))
  own <- scores(fit, "CCA", count)
  rest <- fit$CA$u[, 1:2] %*% diag(sqrt(fit$CA$eig[1:2]))
  save(cbind(own$wa, rest) * size, paste0(name, "_wa")); save(cbind(own$u, rest) * size, paste0(name, "_lc"))
  save(fit$CCA$biplot, paste0(name, "_biplot"))
  set.seed(1); test <- anova(fit, permutations = 99999)
  c(total = fit$tot.chi, F = test$F[1], p = test$`Pr(>F)`[1], df = test$Df[1], residual = test$Df[2])
}
near <- vegdist(varespec); root <- sqrt(nrow(varespec) - 1)
figures <- rbind(
  rda = describe(rda(varespec ~ N + P + K + Al, varechem), "rda", root),
  partial = describe(rda(varespec ~ N + P + Condition(K + Al), varechem), "partial", root),
  dbrda = describe(dbrda(near ~ N + P + K + Al, varechem), "dbrda", 1),
  dbpartial = describe(dbrda(near ~ N + P + Condition(K + Al), varechem), "dbpartial", 1))
save(figures, "figures")
