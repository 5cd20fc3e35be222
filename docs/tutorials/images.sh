# Images: two numbers behind 256 pixels; made of images.md by `python docs/generate.py`
set -eu

mlcli sample spots --rows 600 --noise 0.02 --labels spot-places.csv -o spots.parquet
mlcli check spots.parquet --labels spot-places.csv

mlcli embed spots.parquet --labels spot-places.csv --set report.image=[16,16] -o runs/spots-pca

mlcli embed spots.parquet --labels spot-places.csv --method isomap -k 8 --set report.image=[16,16] -o runs/spots-isomap

mlcli route runs/spots-isomap 1 2 --picture way.svg

mlcli report runs/spots-isomap --figures pdf,png --label-column t --size 4.5,3.6 --title "600 pictures of a spot"
