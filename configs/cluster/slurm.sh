#!/bin/bash
# One run on the nodes of a Slurm job: sbatch configs/cluster/slurm.sh data.npy runs/isomap
# The folder that it is submitted from must be on storage that all nodes share. Other users of the nodes reach the
# scheduler's port: so it speaks TLS alone, under a certificate of this job, and shows no pages. Needs openssl.
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=32G
#SBATCH --time=60
set -euo pipefail
shared=$(mktemp -d "$PWD/.mlcli-XXXXXXXX")
stop() {
    local code=$?
    kill $(jobs -p) 2>> "$shared/log" || true
    for _ in {1..20}; do [ -z "$(jobs -rp)" ] || sleep 0.5; done
    kill -KILL $(jobs -rp) 2>> "$shared/log" || true  # a Dask worker whose scheduler ends at the same time can hang
    wait
    [ $code = 0 ] || cat "$shared/log" >&2
    rm -rf "$shared"
}
trap stop EXIT

openssl req -x509 -newkey rsa:3072 -nodes -days 30 -subj /CN=mlcli-cluster -keyout "$shared/key.pem" \
    -out "$shared/cert.pem" 2>> "$shared/log"
export DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=True DASK_DISTRIBUTED__COMM__TLS__CA_FILE="$shared/cert.pem"
for part in SCHEDULER WORKER CLIENT; do
    export DASK_DISTRIBUTED__COMM__TLS__${part}__{CERT="$shared/cert.pem",KEY="$shared/key.pem"}
done
export DASK_DISTRIBUTED__{SCHEDULER,WORKER}__HTTP__ROUTES=[]

dask scheduler --host "tls://$(hostname)" --port 0 --no-dashboard --scheduler-file "$shared/scheduler.json" \
    2>> "$shared/log" &
srun dask worker --scheduler-file "$shared/scheduler.json" --nthreads "$SLURM_CPUS_PER_TASK" --no-nanny --no-dashboard \
    --memory-limit 0 --local-directory "${TMPDIR:-/tmp}" --death-timeout 120 2>> "$shared/log" &

mlcli embed --method isomap "$1" -o "$2" --cluster "file:$shared/scheduler.json" --set compute.cluster_folder="$shared"
