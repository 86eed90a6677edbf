import { z } from 'zod'
import { settings } from './settings.ts'

/** `docs/operate.md`, made from the settings; a test of the repository compares the two. */
export function operateDoc(): string {
  const rows = Object.entries(settings).map(
    ([name, schema]) => `| \`${name}\` | ${defaultOf(schema)} | ${schema.description ?? ''} |`,
  )
  return `# Operating Shoal

This page is generated from \`server/src/config/settings.ts\` by \`npm run check -- --write\`; do not edit it by hand.

## Two ways to run it

- \`npm start\` is for one machine and for trying it: it installs, builds the console, starts an embedded Postgres, and stops everything on Ctrl-C.
- \`npm run serve\` is production: no install, no build, everything from the environment, squids outlive the server and are adopted when it returns.

Both listen on loopback. Put a proxy with TLS in front and set \`SHOAL_PUBLIC_URL\`, \`SHOAL_GATEWAY_URL\` and \`SHOAL_TRUST_PROXY\`. The gateway serves
HTML of squids, so give it an origin of its own, never a path of the console's.

## Several processes

One process does everything by default. On one host, with one data directory and an external Postgres (\`DATABASE_URL\`), the roles of \`SHOAL_ROLES\` may also be processes of their own, each on ports of its own, all as the
same user:

- any number of \`api\` and \`gateway\` processes. An update ends the old programs of a squid only when every gateway that was seen in the last 15 seconds leads to the new ones (a minute at most). While a squid that
  should answer does not, a gateway holds its requests for up to 15 seconds: 1,000 of a version and 64 MiB in all. A gateway that cannot write its heartbeat is not ready.
- \`worker\` processes, of which one works and the others stand by.

\`SHOAL_RPC_RATE\` is one bound for all gateways together: each hears within a second or two what the others let through. An organization that begins on several at once may exceed it for that long, and waits for it afterwards.

The squids run on the host and data directory whose worker came first, also while no worker runs. A worker elsewhere refuses to start and says where they are. When that host is gone for good, run
\`npm run -s shoal -- host release\` and start the other worker. A worker that loses the squids this way stops those that it still runs and ends. Squids cannot be spread over hosts yet.

With \`SHOAL_RUNTIME=sim\` a gateway must be in the process of the worker.

## Starting and stopping

A data directory is one installation. Before a process touches anything in it, it takes a lock in \`locks/\` that the kernel gives back when the process ends, however it ends: nothing has to be
removed after a crash. Who is refused is told which process uses the installation, and since when.

- \`npm start\`, \`npm run dev\` and \`shoal restore\` need the installation for themselves, as does every server with all roles and \`SHOAL_ON_EXIT=stop\`: they take everything down at their end.
- All others share it: any number of processes of any roles (\`SHOAL_ROLES\`) on one host, with the same environment and ports of their own. Postgres is stopped by the last of them that has \`SHOAL_ON_EXIT=stop\`.
- One worker works, the others stand by; one of them takes over within seconds when the active one ends. A frozen one is not replaced, since it may go on at any time: the standbys say so in their log and in
  \`/readyz\`, and it is yours to resume or to end.
- A process takes its ports first. Requests that come while it starts wait until it is ready.

On SIGTERM a server takes no new connections, answers the requests that are under way, tells its clients with \`connection: close\` to connect elsewhere, ends streams of logs, event streams and WebSockets in order (close code 1012),
and exits with 0. After \`SHOAL_DRAIN_SECONDS\` the rest is cut off. Behind a balancer with two gateways that keeps its connections to them (nginx: \`keepalive\` in
\`upstream\`), restart one after the other, the next one when the balancer uses the one before again (nginx: \`fail_timeout\` after it is ready): no request fails
(\`ROLLING_REQUESTS=100000 ROLLING_RESTARTS=20 npm test -- e2e/rolling-restart.test.ts\` shows it). Without that, a request on a connection that is opened in the very moment a port closes may be reset.

The embedded Postgres is watched by each server and started again when it ends by itself. When it does not stay up three times within a minute, the server ends with code 1 and the end of Postgres' log, for its supervisor to start it anew.

## Health

\`GET /healthz\` says that a process answers. \`GET /readyz\` says within two seconds whether what it needs answers too: 200, or 503 with what is wrong in \`checks\`.

| check | in processes with | is not \`ok\` when |
|---|---|---|
| \`database\` | any role | no new connection to it can be made and used |
| \`worker\` | \`worker\` | the active worker has not looked at its containers for 30 seconds; in a standby: the active worker is frozen |
| \`gateway\` | \`gateway\` | the routes could not be read for two minutes |
| \`disk\` | any role | the data directory's disk does not answer, or less than 1 % of it is free |
| \`server\` | any role | it is stopping |

\`facts\` are worth knowing and never a reason to be unready: whether the worker is \`active\` or a \`standby\`, the age of its last observation, free disk (with a \`diskWarning\` below 5 %), and the age of the last \`shoal backup\` (null: none was made here).

Both pages are on the port of the api and of the gateway, with GET and HEAD. \`SHOAL_HEALTH_PORT\` adds a port on loopback that answers them and \`/metrics\` alone. A process with nothing but the worker role always has one, and names it at start:
4002, unless it is taken or another is set.

While the database is away, calls to the API answer 503 within three seconds and the console says so; squids are served all the while, and everything goes on by itself when the database is back.

## Connections of Postgres

A squid keeps about seven connections open: five of each replica of its api, two of each processor. The embedded Postgres takes \`SHOAL_POSTGRES_CONNECTIONS\` of them (an external one \`max_connections\`), 50 of which are kept for Shoal. A version
that would need more than are left is refused with a sentence that says what to do; what a version's role may open for a moment is limited by its profile. When 80 % are in use the log warns;
\`shoal_postgres_connections{state="open"} / ignoring(state) shoal_postgres_connections{state="max"}\` tells Prometheus.

## Watching it

A disk that fills up ends everything on it: \`shoal_disk_bytes{state="free"} / ignoring(state) shoal_disk_bytes{state="size"} < 0.05\` is the rule by which \`/readyz\` warns too.

With \`SHOAL_METRICS_TOKEN\` set, \`GET /metrics\` on each port tells Prometheus how that process does: the API's, the gateway's, and the health port (of a worker). It names no organization. What squids do is told to the members of
each organization, by an API token of theirs:

\`\`\`yaml
scrape_configs:
  - job_name: shoal
    authorization: { credentials: <SHOAL_METRICS_TOKEN> }
    # Each process by itself: the API, each gateway, and the health port of each worker.
    static_configs: [{ targets: ['shoal.example.com', 'localhost:4001', 'localhost:4002'] }]
  - job_name: squids
    metrics_path: /api/v1/orgs/<organization>/monitoring/squids
    scrape_interval: 15s
    authorization: { credentials: <API token> }
    static_configs: [{ targets: ['shoal.example.com'] }]
\`\`\`

\`docs/grafana/server.json\` and \`docs/grafana/organization.json\` are dashboards for the two; in Grafana, choose Dashboards, New, Import.

Of each processor, \`shoal_processor_lag_blocks\` and \`shoal_processor_lag_seconds\` tell how far it is behind the head of its chain: as nodes of the RPC gateway show it where the processor uses the gateway, otherwise as
its own source does (\`docs/alerts.md\`, Freshness). \`shoal_processor_lag_seconds > 300\` is a rule to begin with. What is not known now is left out, so watch for \`absent\` too.

## The operator's command line

\`npm run -s shoal -- --help\` lists the commands; each takes \`--json\`. They work beside a running server or without one, on the installation that \`SHOAL_DATA_DIR\` or \`DATABASE_URL\` name. With neither set
they use that of the server which runs from the same folder, with all its settings, and say on standard error which one that is; without a server, \`.shoal\`. (The server is found by \`/proc\`: elsewhere than on Linux set \`SHOAL_DATA_DIR\`.)

## The key that seals secrets

Secrets, tokens and passwords are sealed in the database with AES-256-GCM. The key is not in the database: it is in \`secrets.key\` of the data directory, or in \`SHOAL_SECRETS_KEY\`. Without it a backup of the
database opens nothing, so keep a copy elsewhere.

- \`npm run -s shoal -- secrets rotate-key\` puts a new key first in the file and seals everything with it. A running server takes the new key at once; the old one still opens what it sealed.
- \`npm run -s shoal -- secrets drop-old-keys\` takes the old keys out of the file, once nothing in the database needs them. Backups made before the rotation do: keep the key with them.
- With \`SHOAL_SECRETS_KEY\` put the new key first (\`<new>,<old>\`), restart every server, run \`secrets rotate-key\` with the same setting, and then take the old key out.

## Backups

For the embedded Postgres, as the user that runs Shoal:

- \`npm run -s shoal -- backup --to <file>\` copies the installation into one file, beside a running server or without one. What is in it: the whole database cluster with that of each squid, uploads,
  images and the programs they run with. What is not: the keys, Postgres' password (a restore makes a new one), caches, logs not read yet, and this environment with the files it names
  (\`SHOAL_RPC_CONFIG\`, \`SHOAL_PRICE_BOOK\`). The database is restored as it was when its copying had ended. The file is readable by its owner only, and gets its name when it is complete.
- **Keep a copy of \`secrets.key\` in another place**, and again after each rotation: a backup says which keys it needs (\`tar -xOf <file> manifest.json\`) and holds none. With \`--with-keys\` it does; then guard it like every
  secret in it.
- Schedule it by cron, onto another disk: \`17 3 * * * cd <shoal> && npm run -s shoal -- backup --to "/backups/shoal-$(date +\\%F).tar"\`. It ends with a code other than 0 when it fails, and never writes over a file. Removing old ones is
  yours to do: \`find /backups -name 'shoal-*.tar' -mtime +14 -delete\`.
- \`npm run -s shoal -- restore --from <file>\` checks the file, fills an empty \`SHOAL_DATA_DIR\` from it and lets the database recover; \`npm start\` or \`npm run serve\` goes on from there. Put \`secrets.key\` into the data directory, before or
  after. \`--force\` moves what is in the directory into \`before-restore-<time>\` inside it; remove that when you no longer need it. Try a restore now and then: a backup nobody has restored is a hope.
- To move to another machine of the same kind (\`linux-x64\` to \`linux-x64\`): back up, stop the old server for good, restore, bring \`secrets.key\` and the environment. What was written after the backup stays behind, so make the last one
  when nobody deploys. Never run both: each would run the same squids, send the same mails and charge the same cards.
- A newer Shoal restores backups of older ones as long as its Postgres has the same major version, and migrates at its next start; an older Shoal refuses those of newer ones. Before an update that brings another major version, note which Shoal made your backups:
  only that one restores them.

With \`DATABASE_URL\` both commands refuse: use \`pg_dumpall --globals-only\`, \`pg_dump\` and \`pg_restore\`, and keep \`uploads\`, \`images\`, \`toolchain\` and \`uids.json\` of the data directory with them. With \`SHOAL_SQUIDS_DATABASE_URL\` alone a backup holds all but the
databases of squids.

## What the host should offer

Shoal runs squids as processes. As root it gives each version a uid of its own and, where they are writable, cgroup limits; with bubblewrap (\`apt-get install bubblewrap\`)
each container gets a file system, process table and \`/tmp\` of its own. As root, where the kernel mounts overlays, squids can write anywhere in their folder but \`node_modules\`; elsewhere beside it, in a folder that looks like it.
What squids write there is lost with their next deployment, and counts on the disk of the data directory without a limit. What the host cannot offer is said once at start, in plain words.

## Settings

All from the environment.

| variable | default | what it does |
|---|---|---|
${rows.join('\n')}
`
}

function defaultOf(schema: z.ZodType): string {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return json.default === undefined ? '' : `\`${String(json.default)}\``
}
