# What a user of vegan writes today: Rscript monomds.R INPUT OUTPUT
suppressMessages(library(vegan))
files <- commandArgs(TRUE)
d <- vegdist(as.matrix(read.csv(files[1])), "bray")
write.csv(monoMDS(d, y = cmdscale(d, 2), k = 2)$points, files[2])
