# Ecology: an ordination and its environment; made of ecology.md by `python docs/generate.py`
set -eu

mlcli check sample_data/dune.csv --metric braycurtis
mlcli embed sample_data/dune.csv --method pcoa --metric braycurtis -p 3 -o runs/pcoa
mlcli embed sample_data/dune.csv --method nmds --metric braycurtis -o runs/nmds

mlcli report runs/nmds --labels sample_data/dune_env.csv --label-column Management --outlines hulls

mlcli relate runs/pcoa --with sample_data/dune_env.csv --factors Moisture -o runs/environment

mlcli relate runs/pcoa --with sample_data/dune_env.csv --factors Moisture --formula "A1 + Moisture + Management" --by margin -o runs/permanova
mlcli relate runs/pcoa --with sample_data/dune_env.csv --formula "Management + A1" --by terms --strata Use -o runs/blocks

mlcli relate runs/pcoa --with sample_data/dune_env.csv --columns Management --dispersion Management -o runs/dispersion

mlcli relate runs/nmds --with sample_data/dune_env.csv --columns A1,Management --species expanded -o runs/species

mlcli embed sample_data/dune.csv --method pcoa --metric braycurtis -p 3 --set method.correction=lingoes --verbose -o runs/lingoes
mlcli embed sample_data/dune.csv --method pcoa --metric braycurtis -p 3 --set method.correction=cailliez --verbose -o runs/cailliez
mlcli compare runs/pcoa runs/lingoes runs/cailliez -o corrections.html

mlcli relate runs/nmds --with sample_data/dune_env.csv --columns A1,Management --species expanded --figures pdf,png --size 90mm,80mm --font-size 7 --title "Dune meadows" -o runs/figure
mlcli report runs/nmds --labels sample_data/dune_env.csv --label-column Management --figures pdf --size 90mm,70mm --font-size 7 --outlines hulls --title "Dune meadows"

mlcli sample sites --labels gradient.csv -o sites.csv
mlcli embed sites.csv --labels gradient.csv --method pcoa --metric braycurtis -o runs/arch
mlcli embed sites.csv --labels gradient.csv --method isomap --metric braycurtis -k 8 -o runs/isomap
mlcli report runs/arch --figures pdf,png --label-column t --size 4.5,3.2 --font-size 8 --title "Principal coordinates"
mlcli report runs/isomap --figures pdf,png --label-column t --size 4.5,2.4 --font-size 8 --title "Isomap"
