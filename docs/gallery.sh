# Gallery; made of gallery.md by `python docs/generate.py`
set -eu

mlcli embed sample_data/iris.csv --scale standard -o runs/iris --quiet
mlcli report runs/iris --figures png --outlines ellipses --arrows 4 --size 5,3.8 --title "Irises: principal components"

mlcli embed --method mds --dissimilarities sample_data/eurodist.csv -o runs/europe --quiet
mlcli report runs/europe --figures png --size 5,4 --title "Europe from its road distances"

mlcli sample sites --rows 30 --labels places.csv -o sites.csv
awk -F, 'NR == 1 {print "site,half"} NR > 1 {print $1 "," ($2 < 4 ? "lower" : "upper")}' places.csv > halves.csv
mlcli embed sites.csv --labels halves.csv --method pcoa --metric braycurtis -o runs/sites --quiet
mlcli report runs/sites --figures png --outlines ellipses --size 5,4 --title "Sites: principal coordinates, Bray-Curtis"

mlcli sample swiss-roll --rows 800 --labels roll-places.csv -o roll.csv
mlcli embed roll.csv --labels roll-places.csv --method isomap -k 8 --draw-graph -o runs/isomap --quiet
mlcli report runs/isomap --figures png --size 5,3 --title "Swiss roll: Isomap"

mlcli embed roll.csv --labels roll-places.csv --method lle -k 12 -o runs/lle --quiet
mlcli report runs/lle --figures png --size 5,3 --title "Swiss roll: LLE"

mlcli embed roll.csv --labels roll-places.csv --method laplacian -k 8 -o runs/laplacian --quiet
mlcli report runs/laplacian --figures png --size 5,3 --title "Swiss roll: Laplacian eigenmap"

mlcli embed sample_data/ability_cov.csv --method fa -p 2 --kind covariance --set input.observations=112 --rotation varimax -o runs/factors --quiet
mlcli report runs/factors --figures png --size 5,3 --title "Six tests of ability"
mlcli report runs/factors --table loadings --cutoff 0.3

mlcli sample spots --rows 600 --noise 0.02 -o spots.parquet
mlcli embed spots.parquet --method isomap -k 8 --set report.image=[16,16] -o runs/spots --quiet
mlcli report runs/spots --figures png --title "Pictures of a spot: Isomap"
