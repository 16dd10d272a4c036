# syntax=docker/dockerfile:1
FROM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=dev
# No cgo: the binaries are static and run on any base.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath \
    -ldflags "-s -w -X github.com/holdfast-mcp/holdfast/internal/buildinfo.release=${VERSION}" \
    -o /out/holdfast ./starter && \
    CGO_ENABLED=0 go build -trimpath \
    -ldflags "-s -w -X github.com/holdfast-mcp/holdfast/internal/buildinfo.release=${VERSION}" \
    -o /out/holdfast-worker ./worker && \
    CGO_ENABLED=0 go build -trimpath \
    -ldflags "-s -w -X github.com/holdfast-mcp/holdfast/internal/buildinfo.release=${VERSION}" \
    -o /out/holdfast-gateway ./gateway

FROM alpine:3.23.3
RUN apk add --no-cache ca-certificates tzdata && \
    adduser -D -H -u 10001 holdfast && \
    install -d -m 0700 -o holdfast -g holdfast /var/lib/holdfast
COPY --from=build /out/holdfast /out/holdfast-worker /out/holdfast-gateway /usr/local/bin/
USER holdfast
ENV HOLDFAST_DATA_DIR=/var/lib/holdfast
VOLUME /var/lib/holdfast
# Exec form: the worker is process 1 and gets the signal that asks it to stop.
ENTRYPOINT ["/usr/local/bin/holdfast-worker"]
