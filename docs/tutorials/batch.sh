# Batch: many runs, one table; made of batch.md by `python docs/generate.py`
set -eu

mlcli sample swiss-roll --rows 400 -o swiss.csv
cat > sweep.yaml <<'YAML'
input: {path: swiss.csv}
method: {name: isomap}
report: {draw_graph: true}
sweep: {method.neighbors.count: [5, 8, 12, 30]}
output: runs/sweep
YAML
mlcli plan swiss.csv --method isomap -k 5
mlcli run sweep.yaml --jobs 2
cut -d, -f1,9 runs/sweep/runs.csv | cut -c 1-14

for run in runs/sweep/count=*; do
  mlcli report "$run" --figures pdf,png --size 4.5,3 --font-size 8 --title "${run##*/}" --quiet
done

mlcli run sweep.yaml --skip-existing

mlcli run sweep.yaml --shard 1/2 --skip-existing
mlcli run sweep.yaml --shard 2/2 --skip-existing
mlcli collect runs/sweep -o runs/all

mlcli embed absent.csv || echo "exit code $?"

mlcli embed swiss.csv --method isomap -k 5 -o runs/five --json --quiet
