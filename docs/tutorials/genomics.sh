# Genomics: cells, types and batches; made of genomics.md by `python docs/generate.py`
set -eu

mlcli sample cells --rows 1000 --labels cells.csv -o counts.parquet
mlcli check counts.parquet --labels cells.csv --transform cpm,log1p --top-variance 200

mlcli embed counts.parquet --labels cells.csv --transform cpm,log1p --top-variance 200 -p 10 -o runs/cells

mlcli embed runs/cells --method laplacian -k 15 -o runs/cells-map

mlcli report runs/cells --figures pdf,png --label-column type --outlines ellipses --size 5,3.6 --title "Cells by type"
mlcli report runs/cells-map --figures pdf,png --label-column batch --size 5,3.6 --title "The map, by batch"

mlcli embed counts.parquet --labels cells.csv --where "batch == one" --transform cpm,log1p --top-variance 200 -p 10 -o runs/one

mlcli sample cells --rows 50 --seed 0 --labels new-cells.csv -o new.parquet
mlcli project runs/cells new.parquet --labels new-cells.csv -o new-coordinates.csv

mlcli export runs/cells -o cells.h5ad
mlcli embed cells.h5ad --key obsm/X_pca --method umap -o runs/cells-umap
mlcli export runs/cells-umap --into cells-umap.h5ad
