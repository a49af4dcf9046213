# The live service: docs/live.md, "In a container".
#
# The tag moves as Python and Debian 13 are patched. To build on exactly one image, add its digest, as in
# python:3.13-slim-trixie@sha256:...; `docker buildx imagetools inspect python:3.13-slim-trixie` prints it.
FROM python:3.13-slim-trixie AS base

FROM base AS build
WORKDIR /checkout
COPY constraints.txt LICENSE README.md pyproject.toml ./
COPY src src
# The second variable is for what builds lingape; older versions of pip read the first for it too.
ENV PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt
RUN python -m venv --without-pip /opt/lingape \
    && pip --python /opt/lingape install --no-cache-dir --root-user-action ignore \
        '.[server,postgres]'

FROM base
LABEL org.opencontainers.image.title="lingape" \
    org.opencontainers.image.description="Live experiments that find the best of many options, over HTTP" \
    org.opencontainers.image.licenses="BSD-3-Clause AND Apache-2.0 AND ISC AND MIT" \
    org.opencontainers.image.source="https://github.com/lingape/lingape" \
    org.opencontainers.image.documentation="https://lingape.github.io/lingape/"
RUN groupadd --gid 10001 lingape \
    && useradd --uid 10001 --gid lingape --no-log-init --no-create-home --home-dir /data \
        --shell /usr/sbin/nologin lingape \
    && install --directory --owner lingape --group lingape --mode 700 /data
COPY --from=build /opt/lingape /opt/lingape
# The root file system may be read-only: nothing is written outside of /data.
ENV PATH=/opt/lingape/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
# For databases of SQLite; with PostgreSQL it stays empty.
VOLUME /data
EXPOSE 8000

# This needs no token, and says that the server answers. It says nothing about the database, to which
# the server connects again by itself.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "from http.client import HTTPConnection; server = HTTPConnection('127.0.0.1', 8000, timeout=4); server.request('GET', '/api/health'); exit(server.getresponse().status != 200)"]

# It refuses to start without a token: LINGAPE_WRITE_TOKEN, or --write-token-file.
ENTRYPOINT ["lingape"]
CMD ["serve", "--host=0.0.0.0", "--db=sqlite:////data/lingape.db"]
