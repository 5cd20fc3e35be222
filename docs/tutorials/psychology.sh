# Psychology: the factors behind six tests; made of psychology.md by `python docs/generate.py`
set -eu

mlcli embed --method fa -p 1 --kind covariance --set input.observations=112 sample_data/ability_cov.csv -o runs/one
mlcli report runs/one

mlcli embed --method fa -p 2 --kind covariance --set input.observations=112 --rotation varimax sample_data/ability_cov.csv -o runs/two
mlcli report runs/two --table loadings --cutoff 0.3

mlcli report runs/two --table loadings --cutoff 0.3 --as latex > loadings.tex
mlcli report runs/two --figures pdf,png --size 4.5,2.8 --font-size 8 --title "Six tests, 112 people"
