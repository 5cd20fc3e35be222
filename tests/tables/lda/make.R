# Posterior probabilities of iris by lda of MASS, in iris/: of its own rows, and of every third row by the others.
library(MASS)
save <- function(table, name) write.csv(format(as.data.frame(table), digits = 17, trim = TRUE), paste0("iris/", name, ".csv"), quote = FALSE)
fit <- lda(iris[, 1:4], iris$Species)
save(predict(fit)$posterior, "posterior")
third <- seq(3, 150, by = 3)
part <- lda(iris[-third, 1:4], iris$Species[-third], prior = c(0.5, 0.3, 0.2))
save(predict(part, iris[third, 1:4])$posterior, "posterior_third")
