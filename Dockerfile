# One image: worker, scheduler and the `koala` command are commands of it.
#
# An author's image is three lines:
#     FROM koala:latest
#     COPY my_workflows /opt/koala/app/my_workflows
#     ENV KOALA_WORKFLOWS=my_workflows
ARG BASE=debian:trixie-slim

FROM ${BASE} AS packages
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY requirements.lock /tmp/
# Hashes are checked for every file; nothing is compiled, so nothing here needs build tools.
RUN --mount=type=cache,target=/root/.cache/pip \
    python3 -m venv /opt/koala/venv \
    && /opt/koala/venv/bin/pip install --disable-pip-version-check --only-binary :all: --require-hashes -r /tmp/requirements.lock

# Its own layer, so that a change of the source costs seconds.
FROM packages AS app
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY koala koala
COPY worker worker
COPY scheduler scheduler
COPY workflows workflows
RUN /opt/koala/venv/bin/pip install --disable-pip-version-check --no-deps --no-build-isolation --no-index --compile --target /opt/koala/app .

FROM ${BASE}
# Full Chromium alone, for profiles and throw-away contexts: the headless shell does not heed policies, and one of them
# keeps an agent that was talked into it from opening file:///run/secrets. The fonts cover every script that pages use.
# The machine id that a package leaves would make every machine of this image the same one.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        python3 tini tzdata ca-certificates chromium \
        fonts-liberation fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji \
    && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /etc/machine-id /var/lib/dbus/machine-id

RUN groupadd --gid 10001 koala-agent \
    && useradd --uid 10001 --gid 10001 --create-home --shell /usr/sbin/nologin koala-agent \
    && install -d -o koala-agent -g koala-agent -m 0700 /var/lib/koala /var/lib/koala/data /var/lib/koala/starts
COPY container/chromium/policies.json /etc/chromium/policies/managed/koala.json
COPY --from=packages /opt/koala/venv /opt/koala/venv
COPY --from=app /opt/koala/app /opt/koala/app

ENV PATH=/opt/koala/app/bin:/opt/koala/venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONPATH=/opt/koala/app \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/home/koala-agent \
    XDG_CONFIG_HOME=/home/koala-agent/.config \
    XDG_CACHE_HOME=/home/koala-agent/.cache \
    XDG_DATA_HOME=/home/koala-agent/.local/share \
    XDG_RUNTIME_DIR=/tmp \
    LANG=C.UTF-8 \
    KOALA_DATA=/var/lib/koala/data \
    KOALA_WORKFLOWS=workflows
USER 10001:10001
WORKDIR /home/koala-agent
# The only init: it reaps, and passes a signal to its child alone, never to the group, for the browser would end first.
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["koala", "--help"]

ARG VERSION=dev
ENV KOALA_IMAGE=${VERSION}
LABEL org.opencontainers.image.title="Koala" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}"
