#!/usr/bin/env bash
# Put the previous tag of a service back into production and wait until it is healthy.
# Usage: rollback.sh SERVICE [TAG]
#   SERVICE  name as shown by `platform services`
#   TAG      tag to return to; default: the one that ran before the current one
set -euo pipefail

service="${1:?usage: rollback.sh SERVICE [TAG]}"
tag="${2:-}"
environment="production"
deadline_s=300

if [[ -z "$tag" ]]; then
  # Line 1 is the running deploy, line 2 the one before it.
  tag="$(platform deploys "$service" --env "$environment" --format tag | sed -n 2p)"
fi

if [[ -z "$tag" ]]; then
  echo "rollback: no earlier deploy of $service is known; pass the tag" >&2
  exit 2
fi

echo "rollback: $service -> $tag"
platform deploy "$service" --env "$environment" --tag "$tag" --traffic 100 --skip-steps

start="$(date +%s)"
until [[ "$(platform health "$service" --env "$environment")" == "healthy" ]]; do
  if (( $(date +%s) - start > deadline_s )); then
    echo "rollback: $service is not healthy after ${deadline_s}s; call the duty engineer" >&2
    exit 1
  fi
  sleep 5
done

echo "rollback: $service runs $tag and is healthy"
