# The sandbox as an image, built from this checkout:
#
#   docker build --tag uat-sandbox .
#   docker run --rm --publish 8080:8080 --env SANDBOX_TOKEN=choose-a-long-secret uat-sandbox
#
# It listens on all addresses, so the control API asks for the token. Options of `sandbox serve`
# follow the name of the image. API keys are this server's own, and printed at the start;
# SANDBOX_KNOWN_KEYS=1 gives the documented ones. Worlds live in memory; `--store /data/state.db`
# keeps them in the volume.

# The version of Python that runs all tests, 3.11.16. The digest names this exact image, because a
# tag can move. `docker buildx imagetools inspect python:3.11-slim` prints the digest of a newer one.
ARG PYTHON=python:3.11-slim@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7

FROM ${PYTHON} AS build
WORKDIR /source
# Dependencies first, so that they are built again only when the lock changes.
COPY requirements/run.lock requirements/run.lock
RUN python -m venv --without-pip /opt/sandbox \
    && pip --python /opt/sandbox/bin/python install --no-cache-dir --require-hashes \
        --requirement requirements/run.lock
COPY . .
RUN pip --python /opt/sandbox/bin/python install --no-cache-dir --no-deps . \
    && mkdir /data

FROM ${PYTHON}
COPY --from=build /opt/sandbox /opt/sandbox
# A number, so that a cluster can see that it is not root.
COPY --from=build --chown=10001:10001 /data /data
ENV PATH=/opt/sandbox/bin:$PATH \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
# Like Ctrl-C: it finishes running requests, closes files, and exits with 0.
STOPSIGNAL SIGINT
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/_sandbox/health', timeout=2)"]
ENTRYPOINT ["sandbox", "serve", "--host", "0.0.0.0"]
