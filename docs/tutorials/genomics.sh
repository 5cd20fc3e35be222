# Genomics: cells, types and batches; made of genomics.md by `python docs/generate.py`
set -eu

mlcli sample cells --rows 1000 --truth -o cells.h5ad
mlcli check cells.h5ad --top-variance 200

mlcli embed cells.h5ad --layer counts --transform cpm,log1p --variable-genes 200 -p 10 -o runs/counts

mlcli embed cells.h5ad --variable-genes 200 -p 10 --verbose -o runs/pca

mlcli report runs/pca --table dimension
mlcli report runs/pca --table spectrum

mlcli embed cells.h5ad --variable-genes 200 --reduce 10 --method umap -k 14 --keep graph,weights -o runs/umap

mlcli report runs/umap --color-by type,gene559 --figures pdf,png --size 90mm,70mm --font-size 7 --title "Cells"

mlcli compare runs/pca runs/umap --color-by batch --orientation own -o batches.html
mlcli embed cells.h5ad --obs "batch == one" --variable-genes 200 --reduce 10 --method umap -k 14 -o runs/batch-one

mlcli export runs/umap --into cells-umap.h5ad

mlcli sample cells --rows 50 --seed 0 --truth -o new.h5ad
mlcli project runs/pca new.h5ad -o new-coordinates.csv
