# Machine learning: from a folder of images to a pipeline; made of machine-learning.md by `python docs/generate.py`
set -eu

python - <<'PY'
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

data, folder = load_digits(), Path("digits")
folder.mkdir()
for number, pixels in enumerate(data.images):
    Image.fromarray((15 * pixels).astype(np.uint8)).save(folder / f"{number:04d}.png")
rows = [f"{number:04d},{digit}" for number, digit in enumerate(data.target)]
Path("digits.csv").write_text("\n".join(["image,digit", *rows, ""]))
PY
mlcli check digits/
mlcli embed digits/ -p 16 -o runs/eigen-digits --quiet

mlcli embed digits/ --labels digits.csv --method lda -o runs/lda --quiet
mlcli report runs/lda --figures png --marker-size 2.5 --size 4.5,3.4 --title "Digits: linear discriminants" --quiet
mlcli report runs/lda --table quality

mlcli embed digits/ --labels digits.csv --method pca,isomap,umap --set "report.figures=[png]" --set "report.look.size=[4,3]" -o runs/three --quiet
mlcli compare runs/three/name=pca runs/three/name=isomap runs/three/name=umap -o three.html

mlcli embed digits/ --labels digits.csv --method isomap -k 8,16,32,64 -o runs/digits-k

python -c "import numpy as np; draw = np.random.default_rng(0).standard_normal; np.save('table.npy', (draw((50000, 10)) @ draw((10, 300)) + draw((50000, 300))).astype('float32'))"
mlcli plan table.npy -p auto
mlcli embed table.npy -p auto -o runs/table

python - <<'PY'
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from mlcli.sklearn import PCA

pixels, digits = load_digits(return_X_y=True)
steps = make_pipeline(PCA(), KNeighborsClassifier())
grid = GridSearchCV(steps, {"pca__components": [2, 10, 30]}, cv=3).fit(pixels, digits)
print(grid.best_params_, grid.cv_results_["mean_test_score"].round(2))
PY

mkdir new && cp digits/000[0-9].png new/
mlcli project runs/three/name=umap new/ -o new.csv
mlcli project runs/lda new/ -o discriminants.csv

python - <<'PY'
import mlcli

run = mlcli.open_run("runs/three/name=isomap")
page = run._repr_html_()  # what a notebook shows of `run`: its scatter plot and these lines
print(page.startswith("<img"), run)

again = mlcli.embed("digits/", "isomap", components=2)
print("same bits:", (again.embedding == run.embedding).all())
PY

mlcli report runs/three/name=umap --figures pdf,png --marker-size 2 --size 90mm,70mm --font-size 8 --title "Digits: UMAP" --quiet
mlcli verify runs/three/name=umap
