# Makes the tables of this folder, in it, from those of ../factanal and psych's bfi: Rscript make.R
suppressMessages({library(psych); library(GPArotation)})
write <- function(x, name) write.csv(format(as.matrix(x), digits = 17, trim = TRUE), name, quote = FALSE)
text <- function(x) ifelse(is.na(x), "null", formatC(x, digits = 17, format = "g"))
pair <- function(name, x) sprintf('"%s": %s', name, text(x))
each <- function(name, x) sprintf('"%s": {%s}', name, paste(pair(names(x), x), collapse = ", "))
data(bfi)
whole <- bfi[complete.cases(bfi[, 1:25]), 1:25]
gaps <- bfi[1:240, 1:10]
write(cor(whole), "bfi_correlation.csv")
write(gaps, "bfi_gaps.csv")
write(cor(gaps, use = "pairwise"), "bfi_gaps_pairwise.csv")
harman <- as.matrix(read.csv("../factanal/Harman74_cor_q4/correlation.csv", row.names = 1))
cars <- cor(read.csv("../factanal/mtcars_q2/X.csv", row.names = 1))
sets <- list(bfi = list(cor(whole), 5, nrow(whole)), Harman74 = list(harman, 4, 145), mtcars = list(cars, 2, 32))
said <- c()
for (name in names(sets)) {
  r <- sets[[name]][[1]]; q <- sets[[name]][[2]]; n <- sets[[name]][[3]]
  plain <- factanal(covmat = r, factors = q, n.obs = n, rotation = "none",
                    control = list(nstart = 1, opt = list(factr = 1, pgtol = 0)))
  turned <- oblimin(unclass(loadings(plain)), eps = 1e-8, maxit = 2000)
  write(unclass(loadings(plain)), paste0(name, "_unrotated.csv"))
  write(turned$loadings, paste0(name, "_oblimin.csv"))
  write(turned$Phi, paste0(name, "_correlations.csv"))
  found <- fa(r, q, n.obs = n, fm = "ml", rotate = "varimax")
  suited <- KMO(r); bartlett <- cortest.bartlett(r, n)
  said <- c(said, sprintf('"%s": {%s}', name, paste(c(
    pair("observations", n), pair("rmsea", found$RMSEA[1]), pair("rmsea_lower", found$RMSEA[2]),
    pair("rmsea_upper", found$RMSEA[3]), pair("tli", found$TLI), pair("rmsr", found$rms), pair("bic", found$BIC),
    pair("chi_square", found$STATISTIC), pair("kmo", suited$MSA), pair("bartlett_chi_square", bartlett$chisq),
    pair("bartlett_p_value", bartlett$p.value), each("communalities", found$communality),
    each("complexity", found$complexity), each("sampling_adequacy", suited$MSAi)), collapse = ", ")))
}
writeLines(paste0("{", paste(said, collapse = ",\n"), "}"), "summary.json")

# answers of ten items without gaps: polychoric correlations, minres, reliability with a Schmid-Leiman solution
answers <- gaps[complete.cases(gaps), ]
poly <- suppressWarnings(polychoric(answers))
write(poly$rho, "bfi_polychoric.csv")
write(poly$tau, "bfi_thresholds.csv")
minres <- list(bfi = list(cor(whole), 5), Harman74 = list(harman, 4), polychoric = list(poly$rho, 2))
for (name in names(minres)) write(unclass(loadings(
  fa(minres[[name]][[1]], minres[[name]][[2]], fm = "minres", rotate = "none"))), paste0(name, "_minres.csv"))
keys <- c(-1, rep(1, 4), rep(1, 3), -1, -1)
turned <- answers
turned[, keys < 0] <- 7 - turned[, keys < 0]
kept <- alpha(turned)
write(cbind(kept$item.stats[, c("raw.r", "std.r", "r.cor", "r.drop", "mean", "sd")],
            alpha_dropped = kept$alpha.drop[, "raw_alpha"]), "bfi_items.csv")
whole_scale <- omega(harman, nfactors = 4, fm = "minres", plot = FALSE, flip = FALSE)
write(whole_scale$schmid$sl[, c("g", paste0("F", 1:4, "*"), "h2", "u2")], "Harman74_schmid.csv")
writeLines(paste0("{", paste(c(
  pair("alpha", kept$total$raw_alpha), pair("alpha_standardized", kept$total$std.alpha),
  pair("average_correlation", kept$total$average_r), pair("omega_total", whole_scale$omega.tot),
  pair("omega_hierarchical", whole_scale$omega_h)), collapse = ", "), "}"), "reliability.json")

# principal components of the same answers by their polychoric correlations
components <- suppressWarnings(principal(answers, 3, rotate = "none", cor = "poly"))
write(unclass(components$loadings), "polychoric_components.csv")
write(components$scores[1:20, ], "polychoric_component_scores.csv")

# sample_data/survey.csv: fifteen items of bfi in words, with gaps; its answers and figures of the rows without gaps
words <- c("very inaccurate", "moderately inaccurate", "slightly inaccurate", "slightly accurate", "moderately accurate",
           "very accurate")
people <- bfi[1:240, ]
survey <- cbind(id = paste0("p", 1:240), gender = ifelse(people$gender == 1, "male", "female"), age = people$age,
                as.data.frame(lapply(people[, 1:15], function(answer) words[answer])))
write.csv(survey, "../../../sample_data/survey.csv", na = "", row.names = FALSE, quote = FALSE)
items <- people[complete.cases(people[, 1:15]), 1:15]
reversed <- c("A1", "C4", "C5", "E1", "E2")
items[, reversed] <- 7 - items[, reversed]
steps <- suppressWarnings(polychoric(items))
fitted <- fa(steps$rho, 3, n.obs = nrow(items), fm = "minres", rotate = "none")
turned <- suppressWarnings(oblimin(unclass(loadings(fitted)), eps = 1e-8, maxit = 20000))
write(turned$loadings, "survey_oblimin.csv")
write(turned$Phi, "survey_correlations.csv")
scale <- alpha(items)
general <- omega(steps$rho, nfactors = 3, fm = "minres", plot = FALSE)
plain <- factanal(items, 3, rotation = "none", control = list(nstart = 1, opt = list(factr = 1, pgtol = 0)))
writeLines(paste0("{", paste(c(
  pair("alpha", scale$total$raw_alpha), pair("omega_total", general$omega.tot),
  pair("omega_hierarchical", general$omega_h), pair("chi_square", plain$STATISTIC), pair("freedom", plain$dof),
  pair("p_value", plain$PVAL), pair("rmsr", fitted$rms), each("alpha_without", setNames(
    scale$alpha.drop[, "raw_alpha"], rownames(scale$alpha.drop)))), collapse = ", "), "}"), "survey.json")
