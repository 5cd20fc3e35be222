# When methods fail; made of failures.md by `python docs/generate.py`
set -eu

mlcli sample swiss-roll --rows 800 --labels places.csv -o roll.csv
mlcli embed roll.csv --labels places.csv --method isomap -k 8 -o runs/right --quiet
mlcli report runs/right --figures png --size 4,2.6 --title "Isomap, 8 neighbors"
mlcli embed roll.csv --labels places.csv --method isomap -k 30 -o runs/short --quiet
mlcli report runs/short --figures png --size 4,2.6 --title "Isomap, 30 neighbors"

mlcli sample swiss-roll --rows 800 --noise 0.6 --labels noisy-places.csv -o noisy.csv
mlcli embed noisy.csv --labels noisy-places.csv --method lle -k 12 -o runs/noisy --quiet
mlcli report runs/noisy --figures png --size 4,2.6 --title "LLE of a noisy roll"

mlcli embed noisy.csv --labels noisy-places.csv --method lle -k 13 -o runs/noisy-13 --quiet
mlcli compare runs/noisy runs/noisy-13

awk -F, 'NR == 1 || $2 < 9 || NR % 8 == 0' places.csv > uneven-places.csv
awk -F, 'NR == FNR {kept[FNR] = (FNR == 1 || $2 < 9 || FNR % 8 == 0); next} kept[FNR]' places.csv roll.csv > uneven.csv
mlcli embed uneven.csv --labels uneven-places.csv --method lle -k 12 -o runs/uneven --quiet
mlcli report runs/uneven --figures png --size 4,2.6 --title "LLE, the outer part sparse"

mlcli sample ball --rows 500 --columns 10 --noise 1 -o ball.csv
mlcli embed ball.csv --method tsne --set method.perplexity=5 -o runs/clumps --quiet
mlcli report runs/clumps --figures png --size 4,2.6 --title "t-SNE of one cloud, perplexity 5"
mlcli embed ball.csv --method tsne --set method.perplexity=100 -o runs/cloud --quiet
mlcli report runs/cloud --figures png --size 4,2.6 --title "t-SNE of one cloud, perplexity 100"

printf '%s\n' x,y,z 1,0,0 -1,0,0 0,1,0 0,-1,0 0,0,1 0,0,-1 > octahedron.csv
mlcli embed octahedron.csv -p 2 -o runs/octahedron
mlcli report runs/octahedron --figures png --size 4,2.6 --title "Octahedron: components"
cut -d, -f1,5,6 runs/octahedron/spectrum.csv

mlcli embed --method mds --dissimilarities sample_data/eurodist.csv -o runs/roads
mlcli report runs/roads --figures png --size 4,2.6 --title "Roads: classical scaling"
