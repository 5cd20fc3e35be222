# The notes, statement by statement; made of notes.md by `python docs/generate.py`
set -eu

mlcli pca sample_data/iris.csv -p 2 -o runs/pca -q
mlcli verify runs/pca | grep -E "orthogonality|residual|directions" | sed 's/ [0-9.e-]* (.*):/:/'
mlcli reconstruct runs/pca runs/pca/embedding.csv -o back.csv -q
awk -F, 'NR == FNR {for (i = 2; i <= 5; i++) x[FNR, i] = $i; next} FNR > 1 {for (i = 2; i <= 5; i++) e += ($i - x[FNR, i])^2} END {printf "mean squared error %.6f\n", e / 150}' sample_data/iris.csv back.csv
awk -F, 'NR > 3 {sum += $2} END {printf "dropped eigenvalues %.6f\n", sum}' runs/pca/spectrum.csv

mlcli pca sample_data/iris.csv -p 4 -o runs/rigid -q
mlcli mds sample_data/iris.csv -p 4 -o runs/scaling -q
mlcli compare --kernels runs/rigid runs/scaling

mlcli check sample_data/eurodist.csv --dissimilarities | grep -E "^  (triangle|Euclidean|eigenvalues)"
mlcli mds sample_data/eurodist.csv --dissimilarities -p all -o runs/roads

printf '%s\n' Sepal.Length,Sepal.Width,Petal.Length,Petal.Width 5.0,3.4,1.5,0.2 5.0,3.4,6.5,0.2 > flowers.csv
mlcli project runs/pca flowers.csv -q | awk -F, 'NR > 1 {printf "%s p %.3f, q %.4f\n", $1, $5, $7}'

mlcli lda sample_data/iris.csv --label-column Species -o runs/lda
mlcli sample punctured-sphere --rows 500 -o sphere.csv -q
mlcli isomap sphere.csv -k 8 -o runs/curved
mlcli lle sphere.csv -k 8 -o runs/local -q
mlcli compare runs/curved runs/local | grep -E "^(trustworthiness|continuity)"

mlcli sample ball --rows 500 --columns 10 -o ball.csv -q
mlcli check ball.csv | grep -E "radius with|center to|of the ball"
mlcli sample ball --rows 500 --columns 2 -o disk.csv -q
mlcli check disk.csv | grep "with 1%"

mlcli check --label-column Species sample_data/iris.csv | grep -E "^  [124] column"

mlcli sample swiss-roll --rows 400 --labels places.csv -o roll.csv -q
mlcli isomap roll.csv -k 6 --set method.paths.algorithm=dijkstra -o runs/dijkstra -q
mlcli isomap roll.csv -k 6 --set method.paths.algorithm=floyd -o runs/floyd -q
mlcli compare runs/dijkstra runs/floyd
mlcli route runs/dijkstra 1 200 | awk -F, 'END {printf "%d points, %.4f in all\n", NR - 1, $2}'
mlcli route runs/dijkstra 1 200 --explain dijkstra.html -q | awk -F, '{on += $3} END {printf "%d points settled, the last at %.4f; %d on the path\n", NR - 1, $2, on}'

mlcli autoencoder sample_data/iris.csv -p 2 -o runs/linear -q
mlcli ppca sample_data/iris.csv -p 2 -o runs/ppca -q
mlcli gplvm sample_data/iris.csv -p 2 --set "method.kernel=[linear]" -o runs/gplvm -q
mlcli compare runs/pca runs/linear runs/ppca runs/gplvm
grep -o '"noise_variance": 0.......' runs/ppca/run.json
awk -F, 'NR > 3 {sum += $2} END {printf "mean of the dropped eigenvalues: %.6f\n", sum / 2}' runs/pca/spectrum.csv

mlcli sfa sample_data/mixture.csv -p 3 -o runs/sfa
mlcli lgssm sample_data/oscillator.csv --set prepare.missing=model -o runs/lgssm
mlcli bilinear sample_data/postures.csv --label-column person --label-column posture -p 3 -o runs/bilinear
mlcli bilinear sample_data/postures.csv --label-column person --label-column posture -p 3 --set method.style_axes=3 -o runs/symmetric

mlcli pca sample_data/iris.csv -p 2 --set method.route=dual -o runs/dual -q
mlcli pca sample_data/iris.csv -p 2 --set method.route=svd -o runs/svd -q
mlcli pca sample_data/iris.csv -p 2 --set method.route=power -o runs/power -q
mlcli compare runs/dual runs/svd runs/power
awk -F, 'NR > 1 && NR < 7 {printf "step %d: %.1e\n", $1, $4}' runs/power/trace.csv

awk -F, 'NR == 1 {print "width," $2 "," $4 "," $5; next} {print (NR == 8 ? 10 : 1) * $3 "," $2 "," $4 "," $5}' sample_data/iris.csv > typed.csv
mlcli check typed.csv | grep "far from"
mlcli pca typed.csv -o runs/typed -q
mlcli pca typed.csv --where "width < 10" -o runs/cleared -q
mlcli pca sample_data/iris.csv -o runs/clean -q
awk -F, 'FNR == 2 {printf "first eigenvalue %.2f\n", $2}' runs/typed/spectrum.csv runs/cleared/spectrum.csv runs/clean/spectrum.csv

awk -F, 'NR == 1 {print; next} {print NR-1 "," 30 - 2 * $3 "," 7 + 2 * $2 "," 2 * $4 - 5}' roll.csv > moved.csv
mlcli lle roll.csv -k 12 -o runs/lle -q
mlcli lle moved.csv -k 12 -o runs/moved -q
mlcli compare runs/lle runs/moved
mlcli verify runs/lle --full | grep -E "orthogonality|centering|residual" | sed 's/ [0-9.e-]* (.*):/:/'

mlcli kpca sample_data/iris.csv --kernel linear -p 4 -o runs/products -q
mlcli kpca sample_data/iris.csv --kernel polynomial --set method.kernel.degree=2 --set method.decoder.name=ridge -o runs/polynomial
mlcli compare --kernels runs/rigid runs/scaling runs/products
mlcli sde roll.csv -k 5 -o runs/sde -q
mlcli verify runs/sde --full | grep -E "pass    (kernel|bound) " | sed 's/ [0-9.e-]* (.*):/:/'
mlcli isomap roll.csv -k 6 -o runs/isomap -q
awk -F, 'NR == 2 || $2 < least {if (NR == 2) first = $2; least = $2} END {printf "eigenvalues %.0f to %.0f\n", first, least}' runs/isomap/spectrum.csv

mlcli pca sample_data/iris.csv --columns Sepal.Length,Sepal.Width -o runs/two -q
awk -F, 'NR > 1 {p = (NR == 2 ? 1 : p) * $2} END {printf "product of the eigenvalues %.8f\n", p}' runs/two/spectrum.csv
awk -F, 'NR > 1 {n++; a += $2; b += $3; aa += $2 * $2; bb += $3 * $3; ab += $2 * $3} END {printf "determinant %.8f\n", (aa / n - a * a / n / n) * (bb / n - b * b / n / n) - (ab / n - a * b / n / n)^2}' sample_data/iris.csv
awk -F, 'NR == 1 {print "a,b,c,d,sum"; next} {print $2 "," $3 "," $4 "," $5 "," $2 + $3 + $4 + $5}' sample_data/iris.csv > five.csv
mlcli pca five.csv -p 0.95 -o runs/five
awk -F, 'NR > 1 && $2 > 1e-12 {rank++} END {print "rank " rank}' runs/five/spectrum.csv
grep -E "variance_95|elbow" runs/five/dimension.csv
mlcli project runs/dual flowers.csv -o placed.csv -q
mlcli reconstruct runs/dual placed.csv -o recovered.csv -q
mlcli project runs/pca flowers.csv -o placed-pca.csv -q
mlcli reconstruct runs/pca placed-pca.csv -o recovered-pca.csv -q
awk -F, 'FNR == 1 {next} NR == FNR {for (i = 2; i <= 5; i++) x[FNR, i] = $i; next} {for (i = 2; i <= 5; i++) e += ($i - x[FNR, i])^2} END {print e < 1e-20 ? "recovered alike" : "recovered otherwise"}' recovered.csv recovered-pca.csv
mlcli mds sample_data/dune.csv --metric hamming -o runs/hamming
