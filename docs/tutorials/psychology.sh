# Psychology: the factors behind a questionnaire; made of psychology.md by `python docs/generate.py`
set -eu

WORDS="very inaccurate,moderately inaccurate,slightly inaccurate,slightly accurate,moderately accurate,very accurate"
mlcli check sample_data/survey.csv --answers "$WORDS" --label-column gender,age
mlcli embed sample_data/survey.csv --method fa -p 1 --answers "$WORDS" --label-column gender,age --set prepare.missing=drop -o runs/factor

mlcli report runs/factor --table loadings
mlcli run runs/factor/config.yaml --set "input.reverse=[A1, C4, C5, E1, E2]" -o runs/keyed
mlcli report runs/keyed --table loadings

mlcli run runs/keyed/config.yaml --set method.axes.components=3 -o runs/complete
mlcli run runs/keyed/config.yaml --set method.axes.components=3 --set prepare.missing=model -o runs/all-people

mlcli report runs/complete --table dimension

mlcli run runs/complete/config.yaml --set method.correlations=polychoric --set method.estimator=minres -o runs/polychoric

mlcli run runs/polychoric/config.yaml --set method.rotation.name=oblimin -o runs/rotated
mlcli report runs/rotated --table loadings --cutoff 0.3

mlcli run runs/rotated/config.yaml --set report.reliability=true -o runs/survey
mlcli report runs/survey --table items

mlcli report runs/survey --table loadings --cutoff 0.3 --as latex > loadings.tex
mlcli report runs/survey --table items --as latex > items.tex
mlcli report runs/survey --figures pdf,png --size 90mm,60mm --font-size 7 --label-column gender --title "Fifteen items, 225 people"
