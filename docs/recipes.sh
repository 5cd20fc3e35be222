# Recipes: the figures of the papers; made of recipes.md by `python docs/generate.py`
set -eu

: "${DATA:?is the folder of the five data sets: DATA=folder sh docs/recipes.sh}" "${SIDE:=64}"

mlcli embed "$DATA/swiss_roll_data.mat" --key X_data --transpose --labels "$DATA/swiss_roll_data.mat" --set input.labels.key=Y_data --rows 1000 --method isomap -k 6 --draw-graph -o runs/roll
mlcli report runs/roll --figures png --label-column label1 --marker-size 3 --size 5,2.8 --title "Isomap of the Swiss roll" --quiet

mlcli embed "$DATA/face_data.mat" --key images --transpose --method isomap -k 6 -p 3 --set "report.image=[$SIDE,$SIDE]" --set report.image_order=column -o runs/faces
mlcli report runs/faces --figures png --size 5.5,4.2 --title "Isomap of faces" --quiet

mlcli embed "$DATA/train-images-idx3-ubyte.gz" --labels "$DATA/train-labels-idx1-ubyte.gz" --where "label == 2" --rows 1000 --method isomap -k 6 -o runs/twos --quiet
mlcli report runs/twos --figures png --size 5.5,4.8 --title "Isomap of twos" --quiet

mlcli embed "$DATA/swiss_roll_data.mat" --key X_data --transpose --labels "$DATA/swiss_roll_data.mat" --set input.labels.key=Y_data --rows 2000 --method lle -k 12 -o runs/roll-lle --quiet
mlcli report runs/roll-lle --figures png --label-column label1 --marker-size 3 --size 4.5,3 --title "LLE of the Swiss roll" --quiet

mlcli embed "$DATA/frey_rawface.mat" --key ff --transpose --method lle -k 12 --set "report.image=[28,20]" -o runs/frey --quiet
mlcli report runs/frey --figures png --size 5,4.6 --title "LLE of Frey's faces" --quiet

mlcli embed "$DATA/swiss_roll_data.mat" --key X_data --transpose --labels "$DATA/swiss_roll_data.mat" --set input.labels.key=Y_data --rows 2000 --method laplacian -k 5,10,15 -o runs/laplacian --quiet
mlcli report runs/laplacian/count=10 --figures png --label-column label1 --marker-size 3 --size 4.5,3 --title "Laplacian eigenmap, 10 neighbors" --quiet

mlcli embed "$DATA/swiss_roll_data.mat" --key X_data --transpose --labels "$DATA/swiss_roll_data.mat" --set input.labels.key=Y_data --rows 800 --method sde -k 5 -o runs/roll-sde --quiet
mlcli report runs/roll-sde --figures png --label-column label1 --marker-size 3 --size 4.5,2.5 --title "Semidefinite embedding of the Swiss roll" --quiet

mlcli embed "$DATA/3Class.mat" --key DataTrn --labels "$DATA/3Class.mat" --set input.labels.key=DataTrnLbls --method pca,ppca,gplvm --set method.inference.name=sparse --set "report.figures=[png]" --set "report.look.size=[4,3]" -o runs/oil --quiet
mlcli compare runs/oil/name=* -o oil.html --quiet

mlcli embed "$DATA/frey_rawface.mat" --key ff --transpose --method gplvm --set method.inference.name=sparse --set "report.image=[28,20]" -o runs/frey-gplvm --quiet
mlcli report runs/frey-gplvm --figures png --size 5,4.6 --title "Frey's faces: GPLVM" --quiet

mlcli embed "$DATA/train-images-idx3-ubyte.gz" --labels "$DATA/train-labels-idx1-ubyte.gz" --rows 6000 --reduce 30 --method tsne -o runs/digits --quiet
mlcli report runs/digits --figures png --marker-size 1.5 --size 5,4 --title "t-SNE of 6,000 digits" --quiet
