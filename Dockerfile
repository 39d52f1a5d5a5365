# The service as an image. Build it with: docker build -t shortlist .
# docs/guides/operate.md describes how to run it. `python -m release.try_image` runs these steps without a builder.
FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN python -m pip wheel --no-deps --wheel-dir /wheels .
RUN sed -E '/^( |#)/d; s/ *\\$//' requirements.lock > /wheels/pins.txt
RUN python -m venv /opt/shortlist
RUN /opt/shortlist/bin/pip install --no-cache-dir --constraint /wheels/pins.txt "$(echo /wheels/*.whl)[server,mcp,auth,documents,otel]"

FROM python:3.13-slim
COPY --from=build /opt/shortlist /opt/shortlist
RUN useradd --uid 10001 --no-create-home shortlist && install -d -o 10001 -g 10001 -m 700 /data
ENV PATH=/opt/shortlist/bin:/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1
ENV SHORTLIST_DATA_DIR=/data/data SHORTLIST_CONFIG_DIR=/data/config SHORTLIST_CACHE_DIR=/data/cache
VOLUME /data
WORKDIR /data
USER 10001
EXPOSE 9200
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:9200/ready', timeout=4)"]
ENTRYPOINT ["shortlist"]
CMD ["serve", "--host", "0.0.0.0"]
