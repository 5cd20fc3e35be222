#!/bin/bash
# One run on the nodes of a Slurm job: sbatch configs/cluster/slurm.sh data.npy runs/isomap
# The folder that it is submitted from must be on storage that all nodes share.
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=32G
#SBATCH --time=60
set -euo pipefail
shared=$(mktemp -d "$PWD/.mlcli-XXXXXXXX")
stop() { kill $(jobs -p) 2> "$shared/log" || true; wait; rm -rf "$shared"; }
trap stop EXIT

dask scheduler --host "$(hostname)" --port 0 --no-dashboard --scheduler-file "$shared/scheduler.json" &
srun dask worker --scheduler-file "$shared/scheduler.json" --nthreads "$SLURM_CPUS_PER_TASK" --no-nanny --no-dashboard \
    --memory-limit 0 --local-directory "${TMPDIR:-/tmp}" --death-timeout 120 &

mlcli embed --method isomap "$1" -o "$2" --cluster "file:$shared/scheduler.json" --set compute.cluster_folder="$shared"
