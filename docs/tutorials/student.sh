# Student: what the methods of the lecture do; made of student.md by `python docs/generate.py`
set -eu

mlcli sample swiss-roll --rows 600 --labels places.csv -o roll.csv
mlcli embed roll.csv --labels places.csv --method pca,kpca,isomap,lle,laplacian,ltsa -k 10 --set "report.figures=[png]" --set "report.look.size=[3.2,2.4]" -o runs/six --quiet
mlcli compare runs/six/name=* -o six.html --quiet

mlcli sample spots --rows 600 --noise 0.02 -o pictures.parquet
mlcli embed pictures.parquet --method isomap -k 8 --set "report.image=[16,16]" -o runs/spots --quiet
mlcli report runs/spots --figures png --size 4.5,3.6 --title "600 images of a spot" --quiet

mlcli check roll.csv --neighbors 5
mlcli embed roll.csv --labels places.csv --method isomap -k 5,10,20,40 -o runs/roll-k --quiet
mlcli compare runs/roll-k/count=10 runs/roll-k/count=20 -o k.html

mlcli embed --method mds --dissimilarities sample_data/eurodist.csv -o runs/europe --quiet
mlcli report runs/europe --table spectrum
mlcli report runs/six/name=isomap --table spectrum --as csv

mlcli sample pipe --rows 400 --labels regimes.csv -o pipe.csv
mlcli embed pipe.csv --labels regimes.csv --method pca,isomap,gplvm --set method.inference.name=sparse --set method.neighbors.pieces=connect --set "report.figures=[png]" --set "report.look.size=[3.2,2.4]" -o runs/pipe --quiet
mlcli compare runs/pipe/name=pca runs/pipe/name=isomap runs/pipe/name=gplvm -o pipe.html

mlcli embed pictures.parquet --method pca -p 2,16 --set "report.image=[16,16]" -o runs/eigen --quiet
mlcli reconstruct runs/eigen/components=16 runs/eigen/components=16/embedding.csv -o back.parquet
mlcli compare runs/eigen/components=2 runs/eigen/components=16 -o eigen.html

mlcli sample ball --columns 6 --rows 2000 -o ball.csv
mlcli check ball.csv
mlcli report runs/six/name=isomap --table dimension

mlcli route runs/spots 1 2 --picture roll-way.svg
mlcli embed pictures.parquet --method isomap -k 8 -p auto -o runs/auto --quiet
