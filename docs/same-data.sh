# The same data by each method; made of same-data.md by `python docs/generate.py`
set -eu

mlcli sample swiss-roll --rows 800 --labels roll-places.csv -o roll.csv
mlcli embed roll.csv --labels roll-places.csv --method ltsa -k 12 -o runs/ltsa --quiet
mlcli report runs/ltsa --figures png --size 4,2.6 --title "Swiss roll: LTSA"

mlcli embed roll.csv --labels roll-places.csv --method hlle -k 12 -o runs/hlle --quiet
mlcli report runs/hlle --figures png --size 4,2.6 --title "Swiss roll: Hessian LLE"

mlcli embed roll.csv --labels roll-places.csv --method mlle -k 12 -o runs/mlle --quiet
mlcli report runs/mlle --figures png --size 4,2.6 --title "Swiss roll: modified LLE"

mlcli embed roll.csv --labels roll-places.csv --method diffusion --set method.bandwidth.name=adaptive -o runs/diffusion --quiet
mlcli report runs/diffusion --figures png --size 4,2.6 --title "Swiss roll: diffusion map"

mlcli embed roll.csv --labels roll-places.csv --method lpp -k 12 -o runs/lpp --quiet
mlcli report runs/lpp --figures png --size 4,2.6 --title "Swiss roll: LPP"

mlcli embed roll.csv --labels roll-places.csv --method npe -k 12 -o runs/npe --quiet
mlcli report runs/npe --figures png --size 4,2.6 --title "Swiss roll: NPE"
mlcli embed roll.csv --labels roll-places.csv --method lltsa -k 12 -o runs/lltsa --quiet
mlcli report runs/lltsa --figures png --size 4,2.6 --title "Swiss roll: linear LTSA"

mlcli embed --method smacof --dissimilarities sample_data/eurodist.csv -o runs/smacof --quiet
mlcli report runs/smacof --figures png --size 4,3.2 --title "Europe: SMACOF"
mlcli embed --method sammon --dissimilarities sample_data/eurodist.csv -o runs/sammon --quiet
mlcli report runs/sammon --figures png --size 4,3.2 --title "Europe: Sammon's mapping"
mlcli embed --method nmds --dissimilarities sample_data/eurodist.csv -o runs/nmds --quiet
mlcli report runs/nmds --figures png --size 4,3.2 --title "Europe: non-metric scaling"

mlcli sample cells --rows 800 --columns 300 --labels types.csv -o cells.csv
mlcli embed cells.csv --labels types.csv --transform log1p --method pca -o runs/cells-pca --quiet
mlcli report runs/cells-pca --figures png --size 4,2.6 --title "Cells: PCA"

mlcli embed cells.csv --labels types.csv --transform log1p --method tsne -o runs/tsne --quiet
mlcli report runs/tsne --figures png --size 4,2.6 --title "Cells: t-SNE"

mlcli embed cells.csv --labels types.csv --transform log1p --method umap -o runs/umap --quiet
mlcli report runs/umap --figures png --size 4,2.6 --title "Cells: UMAP"

mlcli embed cells.csv --labels types.csv --transform log1p --method phate -o runs/phate --quiet
mlcli report runs/phate --figures png --size 4,2.6 --title "Cells: PHATE"

mlcli embed sample_data/hair_eye.csv --method ca -o runs/ca --quiet
mlcli report runs/ca --figures png --arrows 4 --size 4,3 --title "Hair and eyes: correspondence analysis"
mlcli embed sample_data/students.csv --method mca --no-id -o runs/mca --quiet
mlcli report runs/mca --figures png --size 4,3 --title "Students: multiple correspondence analysis"

mlcli embed sample_data/iris.csv --method nmf -o runs/nmf --quiet
mlcli report runs/nmf --figures png --size 4,3 --title "Irises: non-negative factorization"
mlcli embed sample_data/iris.csv --method random -o runs/random --quiet
mlcli report runs/random --figures png --size 4,3 --title "Irises: random projection"

mlcli embed sample_data/iris.csv --label-column Species --columns Sepal.Length,Sepal.Width --view sample_data/iris.csv --set input.view.columns=[Petal.Length,Petal.Width] --method rda -o runs/rda --quiet
mlcli report runs/rda --figures png --size 4,3 --title "Irises: redundancy analysis"
mlcli embed sample_data/iris.csv --label-column Species --columns Sepal.Length,Sepal.Width --view sample_data/iris.csv --set input.view.columns=[Petal.Length,Petal.Width] --method dbrda --metric cityblock -o runs/dbrda --quiet
mlcli report runs/dbrda --figures png --size 4,3 --title "Irises: distance-based redundancy analysis"
mlcli embed sample_data/iris.csv --label-column Species --columns Sepal.Length,Sepal.Width --view sample_data/iris.csv --set input.view.columns=[Petal.Length,Petal.Width] --method gib -o runs/gib --quiet
mlcli report runs/gib --figures png --size 4,3 --title "Irises: information bottleneck"

mlcli embed sample_data/iris.csv --label-column Species --columns Sepal.Length,Sepal.Width --view sample_data/iris.csv --set input.view.columns=[Petal.Length,Petal.Width] --method mvgplvm --set method.inducing=15 --set method.minimize.tolerance=1e-3 -o runs/mvgplvm --quiet
mlcli report runs/mvgplvm --figures png --size 4,3 --title "Irises: two views by Gaussian processes"

mlcli embed sample_data/postures.csv --label-column person --label-column posture --method bilinear -o runs/bilinear --quiet
mlcli report runs/bilinear --figures png --label-column posture --size 4,3 --title "Postures of persons: bilinear model"
