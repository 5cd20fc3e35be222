# Ecology: a gradient in a table of species; made of ecology.md by `python docs/generate.py`
set -eu

mlcli sample sites --labels places.csv -o sites.csv
mlcli check sites.csv --labels places.csv --metric braycurtis

mlcli embed sites.csv --labels places.csv --method pcoa --metric braycurtis -o runs/pcoa

mlcli embed sites.csv --labels places.csv --method isomap --metric braycurtis -k 8 -o runs/isomap

mlcli compare runs/pcoa runs/isomap -o side-by-side.html

mlcli relate runs/pcoa --with places.csv -o runs/places
mlcli relate runs/pcoa --with places.csv --formula "t + h" --by margin -o runs/permanova

mlcli report runs/pcoa --figures pdf,png --label-column t --size 4.5,3.2 --font-size 8 --title "Principal coordinates"
mlcli report runs/isomap --figures pdf,png --label-column t --size 4.5,2.4 --font-size 8 --title "Isomap"
