#!/usr/bin/env bash
# A logical cloud over the HTTP API, with nothing but curl: from an empty store to a kubeconfig that works.
#
#   dcm serve --listen 127.0.0.1:9077 &
#   examples/rest.sh KUBECONFIG... >seller.yaml
#
# Each KUBECONFIG is an administrator's of one cluster. API is the address of the server, and CLOUD the name of the logical
# cloud. What is answered on the way goes to standard error, and the user's kubeconfig for all clusters to standard output.
set -euo pipefail

api="${API:-http://127.0.0.1:9077}/v2"
cloud="${CLOUD:-stall}"
if (($# == 0)); then
    echo "usage: [API=http://127.0.0.1:9077] [CLOUD=stall] $0 KUBECONFIG..." >&2
    exit 2
fi

# send METHOD PATH [BODY]: an answer that is a problem ends the script, and is shown.
send() {
    local method="$1" path="$2"
    echo "> $method $path" >&2
    curl --silent --show-error --fail-with-body --request "$method" "$api/$path" \
        ${3+--header 'Content-Type: application/json' --data-binary "$3"} >&2
    echo >&2
}

# text FILE: its content as JSON.
text() {
    printf '"%s"' "$(sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/\t/\\t/g' -e 's/$/\\n/' "$1" | tr -d '\r\n')"
}

# The owners of what follows.
send POST projects '{"metadata": {"name": "shop"}}'
send POST cluster-providers '{"metadata": {"name": "edge"}}'

# Clusters: each is looked at before it is registered.
number=0
for kubeconfig in "$@"; do
    number=$((number + 1))
    send POST cluster-providers/edge/clusters \
        "{\"metadata\": {\"name\": \"cluster-$number\"}, \"spec\": {\"kubeconfig\": $(text "$kubeconfig")}}"
done

# The logical cloud with its first user.
send POST projects/shop/logical-clouds "{
    \"metadata\": {\"name\": \"$cloud\", \"description\": \"a stall\"},
    \"spec\": {\"user\": {\"user-name\": \"seller\", \"type\": \"certificate\", \"user-permissions\": [
        {\"permission-name\": \"sell\", \"apiGroups\": [\"\"], \"resources\": [\"pods\"], \"verbs\": [\"get\", \"list\"]}
    ]}}
}"

# Its clusters, and a quota in each of them.
for ((index = 1; index <= number; index++)); do
    send POST "projects/shop/logical-clouds/$cloud/cluster-references" "{
        \"metadata\": {\"name\": \"reference-$index\"},
        \"spec\": {\"cluster-provider\": \"edge\", \"cluster-name\": \"cluster-$index\", \"loadbalancer-ip\": \"0.0.0.0\"}
    }"
done
send POST "projects/shop/logical-clouds/$cloud/cluster-quotas" \
    '{"metadata": {"name": "compute"}, "spec": {"limits.cpu": "4", "pods": "50"}}'

# Until here no cluster was touched.
send POST "projects/shop/logical-clouds/$cloud/apply"
for ((tries = 0; ; tries++)); do
    status="$(curl --silent --show-error --fail-with-body "$api/projects/shop/logical-clouds/$cloud/status")"
    if [[ $status == *'"state":"instantiated"'* ]]; then
        break
    elif [[ $status == *'"state":"failed"'* ]] || ((tries == 600)); then
        echo "$status" >&2
        exit 1
    fi
    sleep 0.2
done

curl --silent --show-error --fail-with-body --header 'Accept: application/yaml' \
    "$api/projects/shop/logical-clouds/$cloud/kubeconfig?user=seller"
