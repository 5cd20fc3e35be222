# Psychology: the factors behind six tests; made of psychology.md by `python docs/generate.py`
set -eu

mlcli embed --method fa -p 1 --kind covariance --set input.observations=112 sample_data/ability_cov.csv -o runs/one
mlcli report runs/one

mlcli embed --method fa -p 2 --kind covariance --set input.observations=112 --rotation varimax sample_data/ability_cov.csv -o runs/two
cat runs/two/loadings.csv
