import { z } from 'zod'
import { settings } from './settings.ts'
import { authoritiesDoc, doctorTable, readinessTable, squidServersDoc } from './operate-sections.ts'

/** Generates the content of `docs/operate.md` from the settings. A repository test compares the two. */
export function operateDoc(): string {
  const rows = Object.entries(settings).map(
    ([name, schema]) => `| \`${name}\` | ${defaultOf(schema)} | ${schema.description ?? ''} |`,
  )
  return `# Operating Shoal

This page is generated from \`server/src/config/operate-doc.ts\` and the settings in the same folder by \`npm run check -- --write\`; do not edit it by hand.

## Three ways to run it

- \`npm start\` is for trying Shoal on one machine: it installs dependencies, builds the console, starts an embedded Postgres, and stops everything on Ctrl-C.
- \`npm run serve\` is for production: it installs and builds nothing, takes all settings from the environment, and keeps squids running when the server stops; the next server adopts them.
- A release (\`docs/install/\`) is for servers: \`shoal install\` runs it as a systemd service with the settings in \`/etc/shoal/shoal.env\`, and \`shoal upgrade\` replaces it. In a release, write \`shoal\` where this page has \`npm run -s shoal --\`.

All three listen on loopback. Put a TLS proxy in front and set \`SHOAL_PUBLIC_URL\`, \`SHOAL_GATEWAY_URL\` and \`SHOAL_TRUST_PROXY\`. The gateway serves
HTML of squids, so give it a separate origin, never a path of the console's origin.

## HTTPS without a proxy

Set \`SHOAL_TLS=acme\`, and set SHOAL_PUBLIC_URL and SHOAL_GATEWAY_URL to \`https:\` URLs with different names that resolve to the host. Then Shoal orders certificates itself (by default from Let's Encrypt, whose terms you accept), and serves
both names on port 443, with HTTP/2. Port 80 redirects browsers, and refuses API calls. The ports SHOAL_PORT and SHOAL_GATEWAY_PORT stay open without encryption for squids and health checks: leave SHOAL_HOST on loopback. The service of \`shoal install\` gets its ports from systemd, even if it does not run as root. Any other server that does not run as root may open ports
from 80 on after \`sysctl -w net.ipv4.ip_unprivileged_port_start=80\`. Do not give it \`AmbientCapabilities\`: bubblewrap, the sandbox of squids, does not start with them.

- Until the first order succeeds, the server uses a self-signed certificate, which clients reject, and logs a warning. It repeats failed orders after two minutes, then at growing intervals of up to twelve hours; \`/readyz\` and \`shoal doctor\` show the cause.
- The active worker orders certificates, and renews them at the time that the authority suggests (ACME renewal information, RFC 9773), or, if it suggests none, when a third of the lifetime remains. The worker reads the suggestion as often as the authority requests. If the authority has revoked a certificate, or will revoke it, the authority suggests a time in the past; the worker replaces such a certificate within seconds after it has read the suggestion. Certificates, their keys and the account's key are sealed in Postgres, so every \`api\` and \`gateway\` process serves the certificates, and any of these processes responds to the authority's challenges. Give all processes the same settings.
- \`shoal certificate revoke --name <name>\` revokes a certificate whose key may be known to others, and replaces it immediately by one with another key. The reason that the authority receives is \`keyCompromise\`, unless you set \`--reason\`. Shoal also revokes the certificate of a removed domain. Revocations are jobs, which a worker retries for two days while the authority does not respond.
- SHOAL_GATEWAY_URL must have \`{org}\` in its path. With \`SHOAL_TLS=files\` and a wildcard certificate, \`{org}\` can be in the host name.
- Do not set SHOAL_TRUST_PROXY: clients connect directly.

### Domains of organizations

With \`SHOAL_TLS=acme\`, administrators of an organization can serve the API of a tag at their own domain: under **Organization settings**, **Domains**, or with the API (\`POST /api/v1/orgs/{code}/domains\` with \`name\`, \`squid\` and \`tag\`). The
page and the response show the records to set: a CNAME to the gateway's name (or the same addresses, for a domain that cannot have a CNAME), and the TXT record \`_shoal.<domain>\`, which proves control. The active worker reads the records through the DNS
servers of the host or \`SHOAL_DNS_SERVERS\`, every ten seconds at first, then at growing intervals for a week. As soon as both records are correct, the domain gets a certificate, and \`https://<domain>/graphql\` serves the same as \`/{org}/<squid>:<tag>/api/graphql\` at the gateway.

- \`GET /api/v1/orgs/{code}/domains\` returns the state and problems of each domain. \`POST …/domains/{name}/check\` checks the records again.
- An organization has at most 20 domains, and may add 40 in a day, because authorities limit orders.
- The active worker checks the records every hour. It deactivates a domain whose records are missing for a day, or whose DNS does not respond for a week.
- Deleting the squid or the organization releases its domains.

## Several processes

By default, one process has all roles. On one host, with one data directory and an external Postgres (\`DATABASE_URL\`), the roles of \`SHOAL_ROLES\` can also run as separate processes, each with its own ports and all as
the same user:

- any number of \`api\` and \`gateway\` processes. An update stops the old containers of a squid only after every gateway with a heartbeat in the last 15 seconds routes to the new ones (after a minute at most). While a squid that
  should be running does not respond, a gateway holds its requests for up to 15 seconds: up to 1,000 per version and 64 MiB in total. A gateway that cannot write its heartbeat is not ready.
- \`worker\` processes, one of which is active while the others are on standby.

\`SHOAL_RPC_RATE\` applies to all gateways together. They synchronize their counts within a second or two. An organization that starts sending to several gateways may exceed the limit for that time, and is throttled afterwards.

Except with \`SHOAL_RUNTIME=kubernetes\`, squids run on the host and in the data directory of the worker that started first, even while no worker runs. A worker on another host refuses to start and reports where the squids run. If that host no longer exists, run
\`npm run -s shoal -- host release\` and start the other worker. When another host takes over the squids, the first worker stops the squids that it still runs, and exits. Without Kubernetes, squids cannot be spread across hosts yet.

\`api\` processes can also run on other hosts, each with its own data directory, if all processes have the same \`DATABASE_URL\`, \`SHOAL_SQUIDS_DATABASE_URL\`, \`SHOAL_SECRETS_KEY\` and bucket:

- With \`SHOAL_S3_BUCKET\`, Shoal stores the archives that users deploy in S3 (AWS, or a server such as Ceph, Garage or SeaweedFS at \`SHOAL_S3_ENDPOINT\`). Otherwise they are in \`uploads\` of the data directory, where only processes of the same host find them.
  The credentials must allow listing, reading, writing and deleting objects, and listing and aborting multipart uploads (on AWS: \`s3:ListBucketMultipartUploads\`, \`s3:AbortMultipartUpload\`). A process with the role \`api\` or \`worker\` exits at startup if the bucket rejects it, and names the setting to correct. If S3 does not respond, the process starts with a warning.
- While S3 is unavailable, uploads are rejected with status 503 and deployments wait until they can read their archive. Squids continue to run.
- Objects are named \`<installation>/archives/<SHA-256>\`, so several installations can share a bucket. Shoal deletes an archive a day after its upload, and uploads that were interrupted within two days; a lifecycle rule of the bucket may delete both after three days.
- Do not use the same bucket for an installation and for another one that was restored from its backup: each would delete archives of the other.

With \`SHOAL_RUNTIME=sim\` a gateway must be in the process of the worker.

## Images in a registry

With \`SHOAL_REGISTRY\`, each image is also pushed to an OCI registry, as \`<registry>/o<id of the organization>@sha256:…\`, for clusters and other machines. With \`SHOAL_RUNTIME=process\`, squids still run from the images in the data directory. A build fails, with the reason in its log, if its image cannot be pushed.

- Shoal reads the credentials from \`SHOAL_REGISTRY_AUTH_FILE\` at each sign-in; \`docker login\` writes such files. They must allow pushing, pulling and deleting in all repositories of the path. Credential helpers (\`credsStore\`) are not supported. Only the server's user should be able to read the file.
- Unchanged dependencies are not uploaded again. The first image uploads 40 to 60 MB of Node and tools once.
- \`SHOAL_BASE_IMAGE\` names the image that provides the C library and shell, for example \`docker.io/library/node:20-bookworm-slim\`, or one with your own certificates. A tag is resolved when the server starts. Without this setting, the C library and shell are those of the server's host.
- Shoal deletes, by digest, the images that no version uses. Permit deletions in the registry's configuration (Shoal logs when the registry refuses them), and run its garbage collection to free the space.
- For a registry with a certificate of a private authority, set [\`SHOAL_CA_FILE\`](#private-certificate-authorities).
- Installations that share a registry need different paths in \`SHOAL_REGISTRY\`.

## Squids in a Kubernetes cluster

With \`SHOAL_RUNTIME=kubernetes\`, squids run as pods. This is a draft: \`docs/kubernetes.md\` lists what is not supported. It needs:

- \`SHOAL_REGISTRY\`, which the nodes can pull from. The worker pushes images to it.
- Connections from pods to the worker, at the address from which it connects to the cluster, or at \`SHOAL_KUBE_BUILDS_LISTEN\`: builds run as Jobs in the namespaces of organizations. A build reserves \`SHOAL_BUILD_MEMORY_MB\` of memory on a node, within the quota of its organization. With \`SHOAL_KUBE_BUILDS=host\`, builds run on the worker's host.
- \`SHOAL_SQUIDS_DATABASE_URL\` (or \`DATABASE_URL\`) and \`SHOAL_GATEWAY_URL\` with addresses that pods can reach. Pods can reach only these addresses, the targets of \`SHOAL_NETWORK_ALLOW\`, DNS and the public internet. The worker resolves names when it starts.
- \`SHOAL_KUBE_GATEWAYS\`: the addresses or the namespace of the gateways, from which pods accept connections. Gateways must be able to reach the addresses of pods.
- Connections from the worker to port 10250 of the nodes: their kubelets report the usage of programs.
- A collector of logs on the nodes (otherwise the last lines of deleted pods are lost): \`SHOAL_KUBE_LOGS_LISTEN\`, \`SHOAL_KUBE_LOGS_TOKEN\` and \`docs/kubernetes-collector.yaml\`.
- A network plugin that enforces NetworkPolicies. Without one, squids can reach each other and everything in the cluster.

Workers and gateways need \`SHOAL_KUBECONFIG\` or a service account. Squids keep running when the server stops. \`shoal move-runtime\` moves an installation from one machine to a cluster or back, or to an external Postgres ([kubernetes.md](kubernetes.md#moving-in-and-out)).

## Hasura

Shoal does not contain Hasura. \`SHOAL_HASURA_PROGRAM\` on one machine or \`SHOAL_HASURA_IMAGE\` in a cluster names the Hasura that runs for the addon \`hasura\`. Without the setting, Shoal rejects manifests with the addon. \`docs/hasura.md\` describes how Hasura runs. The tests use a substitute program, not Hasura.

## Starting and stopping

On a host, an installation is identified by its data directory. Before a process uses the directory, the process takes a lock in \`locks/\`. The kernel releases the lock when the process ends for any reason, so nothing has to be
removed after a crash. A process that cannot take the lock reports which process uses the installation, and since when.

- \`npm start\`, \`npm run dev\` and \`shoal restore\` need exclusive access, and so does every server with all roles and \`SHOAL_ON_EXIT=stop\`: they stop everything when they exit.
- All others share the installation: any number of processes with any roles (\`SHOAL_ROLES\`) on one host, with the same environment and their own ports. The last process stops Postgres if it has \`SHOAL_ON_EXIT=stop\`.
- One worker is active, the others are on standby; one of them becomes active within seconds when the active worker ends. No other worker replaces a frozen worker, since it may resume at any time: the standbys report it in their log and in
  \`/readyz\`, and the operator must resume or kill it.

- A process opens its ports first. Requests that arrive while it starts wait until it is ready.

On SIGTERM a server accepts no new connections, completes the requests in progress, makes its clients reconnect elsewhere with \`connection: close\`, closes log streams, event streams and WebSockets properly (close code 1012),
and exits with code 0. After \`SHOAL_DRAIN_SECONDS\` it closes the remaining connections. Behind a balancer that keeps connections to two gateways open (nginx: \`keepalive\` in
\`upstream\`), restart the gateways one after the other: wait until the balancer uses a restarted gateway again (nginx: \`fail_timeout\` after the gateway is ready) before you restart the next. Then no request fails
(\`ROLLING_REQUESTS=100000 ROLLING_RESTARTS=20 npm test -- e2e/slow/rolling-restart.test.ts\` verifies this). Otherwise, a request on a connection that is opened at the moment a port closes may be reset.

Each server monitors the embedded Postgres and restarts it if it exits. If Shoal's Postgres does not start, the server prints the reason in one sentence and exits with code 1. If Postgres fails three times within a minute, the server prints the end of the Postgres log and exits with code 1, so that its supervisor can restart it. The Postgres of squids stops nothing else, even if it does not start, for example because of its configuration or its disk: the server tries again, after at most a minute. In the meantime, the console and the API work, deployments wait and say so, and \`/readyz\` (fact \`squidsPostgres\`) and \`shoal doctor\` report it.

## Health

\`GET /healthz\` reports that a process is alive, and its version (\`shoal --version\` prints the version of the command). \`GET /readyz\` reports within two seconds whether its dependencies work: 200, or 503 with the problems in \`checks\`.

${readinessTable}

\`facts\` do not affect readiness: whether the worker is \`active\` or a \`standby\`, the age of its last observation, free disk space (with a \`diskWarning\` while deployments are refused because of it), the age of the last \`shoal backup\` (null if none was made here), the age of a gateway's routes, the certificates of \`SHOAL_TLS\`, and whether the database of logs and the Postgres servers of squids respond.

Both pages are on the ports of the API and of the gateway, for GET and HEAD. \`SHOAL_HEALTH_PORT\` adds a port with only these pages and \`/metrics\`, on loopback or \`SHOAL_HEALTH_HOST\`. A process that has only the worker role always has this port and prints it at startup:
4002 by default, or a free port if another program uses 4002.

While the database is unavailable, the API returns 503 within three seconds and the console shows it. Squids continue to be served, and the server recovers automatically when the database is back.

## Checking an installation

\`npm run -s shoal -- doctor\` checks everything that an installation depends on, with or without a running server.
Each line is \`ok\`, \`warning\`, \`failed\` or \`skipped\` (not used), with the value found and, below it, the remedy. The command exits with code 1 if a check failed; \`--json\` prints the same for scripts. While a worker runs, the checks of protections of squids report what that worker detected
at its start (\`host.json\` in the data directory), since the process of the command may have other rights.

${doctorTable}

## Connections of Postgres

Squids have their own Postgres: without \`DATABASE_URL\` a second embedded one, in \`postgres-squids\` of the data directory, with its own connections, memory limit (\`SHOAL_SQUIDS_POSTGRES_MEMORY_MB\`) and share of the CPUs. With \`DATABASE_URL\`, set \`SHOAL_SQUIDS_DATABASE_URL\` too: otherwise a squid can use up the connections of the control plane, and workers log a warning at startup.

Each embedded Postgres may be on its own disk, mounted at \`postgres\` or \`postgres-squids\` of the data directory. If that disk is not mounted, Shoal does not create an empty database there: without the disk of the control plane the server does not start; without the disk of squids it starts and logs the reason. The file \`postgres.created\` or \`postgres-squids.created\` records that the database exists.

A statement of a squid may run as long as its manifest allows, and at most \`SHOAL_SQUIDS_STATEMENT_MINUTES\`; an export of a database by Shoal also counts as a statement. The log of the version shows which limit ended a statement. [security.md](security.md) lists the limits.

Before you upgrade from a release in which squids shared Shoal's own embedded Postgres, stop all processes of the installation. At the first start, Shoal moves the databases of squids to their own Postgres. They keep their address and passwords, and need no additional disk space. If the server is killed in the meantime, the next start completes the move.

A squid keeps about seven connections open: five per replica of its API, two per processor; during an update, twice as many. The embedded Postgres of squids accepts \`SHOAL_POSTGRES_CONNECTIONS\` connections, an external one \`max_connections\`. Shoal deploys nothing that would make the limits of all database roles of squids
together exceed that number: while there are enough connections, a version may open as many as its profile allows; otherwise, as many as its programs need. Shoal rejects a version that would need more than the remaining connections, and explains why. The server's log warns when 80 % are in use;
in Prometheus, use \`shoal_postgres_connections{state="open"} / ignoring(state) shoal_postgres_connections{state="max"}\`.

${squidServersDoc}
${authoritiesDoc}
## Monitoring

A full disk stops all services that use it. While less than \`SHOAL_DISK_RESERVE_PERCENT\` of the disk is free, Shoal refuses deployments and shows users the reason; \`/readyz\` reports it as \`diskWarning\`.
Use the alert rule \`shoal_disk_bytes{state="free"} < ignoring(state) shoal_disk_bytes{state="reserve"}\`.
The limits of disk space ([Host requirements](#host-requirements)) do not reserve space: all squids together may use more than the disk has. Free space by deleting versions, old backups, or \`builds/cache\` in the data directory while the server is stopped.

With \`SHOAL_METRICS_TOKEN\` set, \`GET /metrics\` on the ports of the API, the gateway and the health port (for workers) serves Prometheus metrics of that process. These metrics name no organization. The metrics of squids are available to the members of
each organization, with an API token:

\`\`\`yaml
scrape_configs:
  - job_name: shoal
    authorization: { credentials: <SHOAL_METRICS_TOKEN> }
    # One target per process: the API, each gateway, and the health port of each worker.
    static_configs: [{ targets: ['shoal.example.com', 'localhost:4001', 'localhost:4002'] }]
  - job_name: squids
    metrics_path: /api/v1/orgs/<organization>/monitoring/squids
    scrape_interval: 15s
    authorization: { credentials: <API token> }
    static_configs: [{ targets: ['shoal.example.com'] }]
\`\`\`

\`docs/grafana/server.json\` and \`docs/grafana/organization.json\` are dashboards for these metrics; in Grafana, choose Dashboards, New, Import.

\`shoal_processor_lag_blocks\` and \`shoal_processor_lag_seconds\` show how far each processor is behind the head of its chain, as reported by the nodes of the RPC gateway if the processor uses it, otherwise by
its own data source (\`docs/alerts.md\`, Freshness). A first alert rule is \`shoal_processor_lag_seconds > 300\`. Series without a known value are omitted, so alert on \`absent\` too.

Logs of squids can have their own database, \`SHOAL_LOGS_DATABASE_URL\` ([logs.md](logs.md)). Logs of squids use at most \`SHOAL_LOG_MB_PER_DAY\` × \`SHOAL_LOG_RETENTION_DAYS\` of the database for each version, and \`SHOAL_LOG_ORG_MB_PER_DAY\` × \`SHOAL_LOG_RETENTION_DAYS\` for each organization. \`shoal_log_lines_dropped_total\` counts the lines that were dropped because a version or its organization exceeded a limit, \`shoal_log_lines_stored_total\` counts the stored lines; the server's log names the version whose lines were dropped
(\`squidId\`). \`rate(shoal_log_lines_dropped_total[5m]) > 0\` shows that a version floods its log.

## The operator's command line

\`npm run -s shoal -- --help\` lists the commands; each accepts \`--json\`. They work with or without a running server, on the installation that \`SHOAL_DATA_DIR\` or \`DATABASE_URL\` names. If neither is set,
they use the installation and settings of the server that runs from the same folder, and print its data directory to standard error; without such a server, they use \`.shoal\`. (The commands find the server through \`/proc\`; on systems other than Linux, set \`SHOAL_DATA_DIR\`.)

Operators of an installation can also use the console: [operators.md](operators.md).

## The key that seals secrets

Secrets, tokens and passwords are sealed in the database with AES-256-GCM. The key is not in the database: it is in \`secrets.key\` of the data directory, or in \`SHOAL_SECRETS_KEY\`. Without it, the secrets in a backup of the
database cannot be opened, so keep a copy elsewhere.

- \`npm run -s shoal -- secrets rotate-key\` adds a new key at the start of the file and reseals everything with it. A running server uses the new key immediately; the old key still opens the values that it sealed.
- \`npm run -s shoal -- secrets drop-old-keys\` removes the old keys from the file when nothing in the database needs them. Backups made before the rotation still need the old key: keep it with them.
- With \`SHOAL_SECRETS_KEY\`, put the new key first (\`<new>,<old>\`), restart every server, run \`secrets rotate-key\` with the same setting, and then remove the old key.

## Backups

For the embedded Postgres, as the user that runs Shoal:

- \`npm run -s shoal -- backup --to <file>\` copies the installation to one file, with or without a running server. It contains both database clusters, with the database of each squid, uploads,
  images and their toolchains, and the records of the images in the registry (\`oci/images\`), so that a restored installation with the same registry knows them and deletes unused ones. It does not contain the images in the registry of \`SHOAL_REGISTRY\` (back up the registry; without it, deploy again after a restore), the keys, the password of Postgres (a restore generates a new one), caches, log lines that are not stored yet, or the environment with the files it names
  (\`SHOAL_RPC_CONFIG\`, \`SHOAL_PRICE_BOOK\`). The databases are restored as of the end of their copy; those of a version that was created or deleted at that moment may be missing, and are then created empty at the next start, with a warning that names the version. The file is readable by its owner only, and gets its final name when it is complete.
- **Keep a copy of \`secrets.key\` elsewhere**, and make a new copy after each rotation: a backup lists the keys it needs (\`tar -xOf <file> manifest.json\`) but contains none. With \`--with-keys\` it contains them; then protect it like the
  secrets in it.
- Schedule it with cron, to another disk: \`17 3 * * * cd <shoal> && npm run -s shoal -- backup --to "/backups/shoal-$(date +\\%F).tar"\`. It exits with a code other than 0 if it fails, and never overwrites a file. Delete old backups
  yourself: \`find /backups -name 'shoal-*.tar' -mtime +14 -delete\`.
- \`npm run -s shoal -- restore --from <file>\` checks the file, restores it to an empty \`SHOAL_DATA_DIR\` and lets the database recover; then run \`npm start\` or \`npm run serve\`. Put \`secrets.key\` into the data directory before or
  after the restore. \`--force\` moves the existing content to \`before-restore-<time>\` in the same directory; delete that when you no longer need it. Test your backups by restoring one from time to time.
- To move to another machine of the same platform (\`linux-x64\` to \`linux-x64\`): back up, stop the old server permanently, restore, and copy \`secrets.key\` and the environment. Data written after the backup is not moved, so make the last backup
  when no deployments run. Never run both servers: each would run the same squids, send the same emails and charge the same cards.
- A newer Shoal restores backups of older ones if its Postgres has the same major version, and migrates the schema at its next start; an older Shoal rejects backups of newer ones. Before an update to another major version of Postgres, write down the version of Shoal that made your backups:
  only that version can restore them.

With \`DATABASE_URL\`, \`backup\` and \`restore\` refuse to run: use \`pg_dumpall --globals-only\`, \`pg_dump\` and \`pg_restore\`, and also back up \`uploads\`, \`images\`, \`toolchain\` and \`uids.json\` of the data directory. [logs.md](logs.md#backups) describes backups of the database of \`SHOAL_LOGS_DATABASE_URL\`, which \`backup\` does not contain. With only \`SHOAL_SQUIDS_DATABASE_URL\` set, a backup contains everything except the
databases of squids.

## Host requirements

Shoal runs squids as processes. As root, it gives each version its own uid and, where cgroups are writable, resource limits; with bubblewrap (\`apt-get install bubblewrap\`)
each container gets its own file system, process table and \`/tmp\`. Where Shoal is root and the kernel supports overlay mounts, squids can write anywhere in their folder except \`node_modules\`; elsewhere, each program has a separate copy of the folder.
Files that squids write there are lost at the next deployment. As root with loop devices and \`mkfs.ext4\` (e2fsprogs), or with quotas of btrfs, the files of each program may use \`SHOAL_CONTAINER_DISK_MB\` and each build \`SHOAL_BUILD_DISK_MB\` of the disk; elsewhere only the size of each file is limited. At startup, Shoal logs once which protections the host does not support.

As root with \`ip\` and \`nft\` (\`apt-get install iproute2 nftables\`), each version has its own network, from which it reaches the public internet, its database and the gateway, but not this host or private networks. As an ordinary user, the same needs bubblewrap, \`pasta\` and \`nft\` (\`apt-get install bubblewrap passt nftables\`), access to \`/dev/net/tun\`, and 20 MB of memory for each version. Where both are impossible, a server deploys for one organization only, unless \`SHOAL_ALLOW_SHARED_NETWORK\` is set. [security.md](security.md) has the details.

## Settings

All settings are environment variables.

| variable | default | description |
|---|---|---|
${rows.join('\n')}
`
}

function defaultOf(schema: z.ZodType): string {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return json.default === undefined ? '' : `\`${String(json.default)}\``
}
