# One idea, many kernels; made of framework.md by `python docs/generate.py`
set -eu

mlcli sample swiss-roll --rows 400 --labels places.csv -o roll.csv
mlcli embed -m pca roll.csv --labels places.csv -o runs/linear -q
mlcli embed -m kpca --kernel polynomial roll.csv --labels places.csv -o runs/polynomial -q
mlcli embed -m kpca --kernel gaussian roll.csv --labels places.csv -o runs/gaussian -q
mlcli embed -m isomap -k 6 roll.csv --labels places.csv -o runs/geodesic -q
mlcli embed -m lle -k 12 roll.csv --labels places.csv -o runs/lle -q
mlcli embed -m sde -k 5 roll.csv --labels places.csv -o runs/sde -q
mlcli compare --kernels runs/linear runs/polynomial runs/gaussian runs/geodesic runs/lle runs/sde -o runs/kernels.svg -q

mlcli embed -m mds roll.csv -o runs/scaling -q
mlcli embed -m kpca --kernel linear roll.csv -o runs/products -q
mlcli compare --kernels runs/linear runs/scaling runs/products

mlcli embed -m isomap -k 399 roll.csv -o runs/complete -q
mlcli compare --kernels runs/complete runs/scaling
