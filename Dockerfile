# Build:  docker build -t mlcli .
# Run:    docker run --rm --read-only --tmpfs /tmp -u "$(id -u):$(id -g)" -v "$PWD:/data" mlcli embed data.csv
#
# The image runs as any user, without HOME and on a read-only root: mlcli writes to its output and TMPDIR only.

FROM python:3.13-slim AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY licenses licenses
COPY mlcli mlcli
COPY scripts/slim.sh scripts/
RUN MLCLI_REQUIRE_NATIVE=1 MLCLI_LEVELS=all pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
 && python -m venv --without-pip /opt/mlcli \
 && pip --python /opt/mlcli/bin/python install --no-cache-dir --compile --constraint constraints.txt \
    "$(echo /wheels/*.whl)[dask,plot]" \
 && bash scripts/slim.sh /opt/mlcli

FROM python:3.13-slim AS core
LABEL org.opencontainers.image.title="mlcli" \
      org.opencontainers.image.description="Manifold learning at the command line" \
      org.opencontainers.image.licenses="BSD-3-Clause" \
      org.opencontainers.image.authors="The mlcli developers"

# ps, which workflow managers ask for beside bash; the base has bash and sh
RUN apt-get update \
 && apt-get install --yes --no-install-recommends procps \
 && rm -rf /var/lib/apt/lists/*

# already compiled (--compile above), as nothing can be compiled on a read-only root
COPY --from=build /opt/mlcli /opt/mlcli

ENV PATH=/opt/mlcli/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    TMPDIR=/tmp

WORKDIR /data
USER 10001:10001
ENTRYPOINT ["mlcli"]
CMD ["--help"]
