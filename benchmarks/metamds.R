# What a user of vegan writes today for the best of 20 starts: Rscript metamds.R INPUT OUTPUT
suppressMessages(library(vegan))
files <- commandArgs(TRUE)
d <- vegdist(as.matrix(read.csv(files[1])), "bray")
write.csv(metaMDS(d, k = 2, try = 20, trymax = 20, trace = 0)$points, files[2])
